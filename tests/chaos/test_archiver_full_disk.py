"""An archiver on a real broker whose disk is full: it keeps its partitions, takes nothing, and goes on when there is room."""

import secrets
import shlex
import sys
import time
from pathlib import Path

import pytest

from gregor.config import load
from gregor.outputs.archive.reader import open_archive
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import Running, gregor, until
from tests.workers.archiver.pages import PARTITIONS, facts, output
from tests.workers.archiver.test_full_disk import SIZE_KB, incompressible, needs_mounts
from workers.archiver.stage import SPEC

SESSION_S = 6.0


def passed(transport: KafkaTransport) -> int:
    return sum(one.offset for one in transport.committed(SPEC.name, SPEC.inputs).values())


def caught_up(transport: KafkaTransport) -> bool:
    positions = transport.committed(SPEC.name, SPEC.inputs)
    ends = transport.ends("pages")
    return len(positions) == PARTITIONS and all(ends[at.partition][1] == one.offset for at, one in positions.items())


@needs_mounts
@pytest.mark.timeout(600)
def test_it_waits_for_room_longer_than_a_session_and_loses_nothing(tmp_path: Path, kafka: KafkaCluster) -> None:
    archive, room, file = tmp_path / "archive", tmp_path / "room", tmp_path / "gregor.toml"
    archive.mkdir()
    file.write_text(
        f'crawl.name = "full-{secrets.token_hex(4)}"\npartitions.partitions = {PARTITIONS}\n'
        f'kafka.bootstrap = "{kafka.bootstrap}"\nkafka.session_timeout_s = {SESSION_S}\narchive.folder = "{archive}"\n'
    )
    with gregor(file, "topics", "--create") as topics:
        code, printed = topics.wait()
        assert code == 0, printed
    transport = kafka_transport(load(file, {}).config, tmp_path / "look")
    transport.append([output(number) for number in range(4)])
    # A mount namespace of its own, whose small disk has a ballast that goes away when ``room`` appears.
    worker = [sys.executable, "-m", "gregor", "--config", file, "worker", "archiver", "--folder", tmp_path / "worker"]
    script = f"""
        mount -t tmpfs -o size={SIZE_KB}k none {archive}
        head -c {(SIZE_KB - 64) * 1024} /dev/zero > {archive}/ballast
        (until [ -e {room} ]; do sleep 0.1; done; rm {archive}/ballast) &
        exec {shlex.join(map(str, worker))}
    """
    running = Running(["unshare", "-rm", "sh", "-ec", script])
    try:
        until(lambda: caught_up(transport), "the first pages are archived", workers=[running])
        transport.append([output(number, content=incompressible(number)) for number in range(4, 24)])
        before = passed(transport)
        time.sleep(1.5 * SESSION_S)
        assert not caught_up(transport)
        assert passed(transport) == before, "nothing is committed while the disk is full"
        transport.append([output(number) for number in range(24, 40)])
        room.touch()
        until(lambda: caught_up(transport), "every page is archived", workers=[running])
        inside = Path(f"/proc/{running.pid}/root") / archive.relative_to("/")
        found = sorted(page.facts.lease for page in open_archive(inside))
        assert found == sorted(facts(number).lease for number in range(40)), "each page once"
        code, printed = running.terminate()
    finally:
        room.touch()
        running.kill()
    assert code == 0, printed
    assert printed.count("takes no more input") == printed.count("takes input again") == 1, printed
    transport.close()
