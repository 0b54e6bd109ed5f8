"""`gregor rebuild` throws a worker's state away, and nothing else."""

from pathlib import Path

from gregor.transport.kafka.member import MemberFolder
from tests.chaos.processes import gregor


def test_the_partitions_go_and_the_member_stays(tmp_path: Path) -> None:
    config = tmp_path / "gregor.toml"
    config.write_text("")
    member = MemberFolder(tmp_path / "state" / "frontier")
    known = member.id
    member.close()
    for number in range(3):
        (tmp_path / "state" / "frontier" / f"partition-{number:04d}").mkdir()
    with gregor(config, "rebuild", "--folder", tmp_path / "state") as running:
        code, printed = running.wait()
    assert code == 0, printed
    assert "3 partitions thrown away" in printed
    assert list((tmp_path / "state" / "frontier").glob("partition-*")) == []
    again = MemberFolder(tmp_path / "state" / "frontier")
    assert again.id == known
    again.close()


def test_a_worker_that_runs_keeps_its_state(tmp_path: Path) -> None:
    config = tmp_path / "gregor.toml"
    config.write_text("")
    member = MemberFolder(tmp_path / "state" / "frontier")
    (tmp_path / "state" / "frontier" / "partition-0000").mkdir()
    with gregor(config, "rebuild", "--folder", tmp_path / "state") as running:
        code, printed = running.wait()
    member.close()
    assert code == 4
    assert "held by another process" in printed
    assert (tmp_path / "state" / "frontier" / "partition-0000").exists()


def test_a_folder_without_a_worker_is_refused_in_one_line(tmp_path: Path) -> None:
    config = tmp_path / "gregor.toml"
    config.write_text("")
    with gregor(config, "rebuild", "--folder", tmp_path) as running:
        code, printed = running.wait()
    assert code == 3
    assert printed.count("\n") == 1
