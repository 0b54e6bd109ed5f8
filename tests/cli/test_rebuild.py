"""`gregor rebuild` throws a worker's state away, and nothing else."""

import secrets
from pathlib import Path

import pytest

from gregor.config import load
from gregor.run.worker import kafka_transport
from gregor.runtime.state.packed import pack_delta
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.member import MemberFolder
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.changelog import CHECKPOINT_KEY, Checkpoint, encode_checkpoint
from tests.chaos.processes import gregor

FIRST = encode_checkpoint(Checkpoint(sequence=1, positions={"discovered": 0, "fetched": 0}))


def crawl_of(folder: Path, kafka: KafkaCluster, changelog: list[bytes]) -> Path:
    """The configuration of a crawl with these records in a partition of the frontier's changelog."""
    file = folder / "gregor.toml"
    name = f"rebuild-{secrets.token_hex(4)}"
    file.write_text(f'crawl.name = "{name}"\nkafka.bootstrap = "{kafka.bootstrap}"\npartitions.partitions = 4\n')
    config = load(file, {}).config
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    transport = kafka_transport(config, folder / "look")
    transport.append([Output("frontier-changelog", 1, CHECKPOINT_KEY, value) for value in changelog])
    transport.close()
    return file


@pytest.mark.parametrize(
    ("changelog", "said"),
    [
        ([b"D\0", FIRST], "the changelog's record at offset 1 cannot be replayed: a delta ends within an operation"),
        ([FIRST, FIRST], "expected checkpoint 2 before offset 2 of the changelog, found checkpoint 1"),
        (
            [FIRST, b"C{not JSON"],
            "the changelog's record at offset 1 cannot be replayed: not a record of type Checkpoint",
        ),
    ],
    ids=["delta", "gap", "checkpoint"],
)
def test_nothing_goes_when_a_restore_would_stop(
    tmp_path: Path, kafka: KafkaCluster, changelog: list[bytes], said: str
) -> None:
    config = crawl_of(tmp_path, kafka, changelog)
    MemberFolder(tmp_path / "state" / "frontier").close()
    (tmp_path / "state" / "frontier" / "partition-0001").mkdir()
    with gregor(config, "rebuild", "--folder", tmp_path / "state") as running:
        code, printed = running.wait()
    assert (code, printed.count("\n")) == (4, 1), printed
    assert "gregor: nothing was thrown away: " in printed
    assert said in printed
    assert (tmp_path / "state" / "frontier" / "partition-0001").exists()


def test_the_partitions_go_and_the_member_stays(tmp_path: Path, kafka: KafkaCluster) -> None:
    config = crawl_of(tmp_path, kafka, [b"hello", pack_delta([(0, b"key", b"value")]), FIRST, b"Dear Sir"])
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
