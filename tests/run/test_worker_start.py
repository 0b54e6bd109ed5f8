"""A worker that cannot begin says why in one line, and what to do."""

import secrets
import signal
from pathlib import Path

from infra.kafka.cluster import KafkaCluster
from infra.kafka.ports import held_ports
from tests.chaos.processes import gregor, until


def write(path: Path, **kafka: object) -> Path:
    lines = ["[crawl]", f'name = "start-{secrets.token_hex(4)}"', "[kafka]"]
    path.write_text("\n".join([*lines, *(f"{key} = {value!r}".replace("'", '"') for key, value in kafka.items())]))
    return path


def test_an_unreachable_broker_is_named_and_given_up_after_the_configured_time(tmp_path: Path) -> None:
    with held_ports(1) as (port,):
        config = write(tmp_path / "gregor.toml", bootstrap=f"127.0.0.1:{port}", give_up_after_s=1.0)
        with gregor(config, "worker", "frontier", "--folder", tmp_path / "state") as running:
            code, printed = running.wait()
    assert code == 2
    assert "Traceback" not in printed
    assert f"no Kafka broker answered at 127.0.0.1:{port} within 1 s" in printed.splitlines()[-1]


def test_a_worker_that_is_asked_tells_where_its_threads_stand_and_goes_on(tmp_path: Path) -> None:
    with held_ports(1) as (port,):
        config = write(tmp_path / "gregor.toml", bootstrap=f"127.0.0.1:{port}", give_up_after_s=60.0)
        with gregor(config, "worker", "frontier", "--folder", tmp_path / "state") as running:
            until(lambda: "trying again" in running.printed, "it waits for a broker", workers=[running])
            running.signal(signal.SIGUSR1)
            until(lambda: "in wait_for_broker" in running.printed, "it says where it stands", workers=[running])


def test_missing_topics_name_the_command_that_makes_them(tmp_path: Path, kafka: KafkaCluster) -> None:
    config = write(tmp_path / "gregor.toml", bootstrap=kafka.bootstrap)
    with gregor(config, "worker", "frontier", "--folder", tmp_path / "state") as running:
        code, printed = running.wait()
    assert code == 2
    assert "Traceback" not in printed
    assert "is missing" in printed.splitlines()[-1]
    assert "gregor topics --create" in printed.splitlines()[-1]


def test_another_partition_count_is_refused(tmp_path: Path, kafka: KafkaCluster) -> None:
    config = write(tmp_path / "gregor.toml", bootstrap=kafka.bootstrap)
    with gregor(config, "topics", "--create") as topics:
        assert topics.wait()[0] == 0
    other = tmp_path / "other.toml"
    other.write_text(config.read_text() + "\n[partitions]\npartitions = 16\n")
    with gregor(other, "worker", "frontier", "--folder", tmp_path / "state") as running:
        code, printed = running.wait()
    assert code == 2
    assert "expected partitions 16, found 8" in printed


def test_a_second_worker_in_the_same_folder_is_refused(tmp_path: Path, kafka: KafkaCluster) -> None:
    config = write(tmp_path / "gregor.toml", bootstrap=kafka.bootstrap)
    with gregor(config, "topics", "--create") as topics:
        assert topics.wait()[0] == 0
    with gregor(config, "worker", "frontier", "--folder", tmp_path / "state") as first:
        while not (tmp_path / "state" / "frontier" / "partition-0000").exists() and first.ended is None:
            first.wait_briefly(0.1)
        with gregor(config, "worker", "frontier", "--folder", tmp_path / "state") as second:
            code, printed = second.wait()
        assert first.ended is None
    assert code == 4
    assert "held by another process" in printed.splitlines()[-1]
