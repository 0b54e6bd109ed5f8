"""Two archivers on a real broker, killed and stopped at random: each response is archived once, whole, and nothing else is left."""

import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import pytest
from fastwarc.warc import ArchiveIterator
from warcio.checker import Checker

from gregor.config import Config, load
from gregor.outputs.archive.index import build_index
from gregor.outputs.archive.reader import open_archive
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import encode
from schemas.pages import PageFacts
from tests.chaos.processes import Running, gregor, seeded, until
from workers.archiver.manifest import read_manifests
from workers.archiver.stage import SPEC

PARTITIONS = 4
ROUNDS = 8
PAGES_A_ROUND = 300


def pages(numbers: range, random: Random) -> Iterator[Output]:
    for number in numbers:
        server = f"s{number % 16}.test"
        facts = PageFacts(
            server=server,
            path=f"/p{number // 3}",
            lease=f"l{number}",
            status=200,
            scheme="http",
            fetched_ms=1_800_000_000_000 + number,
            request_headers=(("Host", server),),
            response_headers=(("Content-Type", "text/html"),),
        )
        body = b"<title>%d</title>" % number + random.randbytes(random.randrange(3000))
        yield Output("pages", number % PARTITIONS, server.encode(), body, encode(facts))


class Storm:
    """The crawl, its two archivers with one folder, and what the log says of them."""

    def __init__(self, file: Path, transport: KafkaTransport, workers: list[Running], folder: Path) -> None:
        self.file = file
        self.transport = transport
        self.workers = workers
        self.folder = folder
        self.seen: list[tuple[str, bytes]] = []
        """Files as they lay there after a kill, whether committed or not."""

    def snapshot(self) -> None:
        for path in self.folder.glob("*.warc.gz"):
            with suppress(FileNotFoundError):
                self.seen.append((path.name, path.read_bytes()))
        places = Counter((page.partition, page.offset) for page in open_archive(self.folder))
        assert set(places.values()) == {1}, "readers in the middle of the storm see whole records, and none twice"

    def caught_up(self) -> bool:
        positions = self.transport.committed(SPEC.name, SPEC.inputs)
        ends = self.transport.ends("pages")
        return len(positions) == PARTITIONS and all(
            ends[at.partition][1] == one.offset for at, one in positions.items()
        )

    def passed(self) -> int:
        return sum(one.offset for one in self.transport.committed(SPEC.name, SPEC.inputs).values())

    def committed(self) -> dict[str, ArchiveFile]:
        records = (decode_archive_file(record.value) for record in self.transport.read("archive", 0, 0))
        return {one.file: one for one in records}

    def is_tidy(self) -> bool:
        """Whether what lies in the folder is what is committed, byte for byte."""
        sizes = {path.name: path.stat().st_size for path in self.folder.glob("*.warc.gz")}
        return sizes == {one.file: one.length for one in self.committed().values()}


def configured(folder: Path, kafka: KafkaCluster) -> tuple[Path, Config]:
    file = folder / "gregor.toml"
    file.write_text(
        f'crawl.name = "storm-{secrets.token_hex(4)}"\npartitions.partitions = {PARTITIONS}\n'
        f'kafka.bootstrap = "{kafka.bootstrap}"\nkafka.session_timeout_s = 6.0\ncheckpoint.max_interval_s = 0.1\n'
        f'archive.folder = "{folder / "archive"}"\narchive.max_file_bytes = 60_000\n'
    )
    return file, load(file, {}).config


def rage(storm: Storm, random: Random) -> None:
    """Kills at once, kills with a pause, stops past the session time-out; a few at a time, while pages arrive."""
    for number in range(ROUNDS):
        numbers = range(number * PAGES_A_ROUND, (number + 1) * PAGES_A_ROUND)
        before = storm.passed()
        storm.transport.append(list(pages(numbers, random)))
        until(lambda least=before: storm.passed() > least, "somebody archives", workers=[])  # type: ignore[misc]
        victim = random.choice(storm.workers)
        time.sleep(random.uniform(0.0, 0.4))
        if number == ROUNDS // 2:
            # Past its time-out: another takes over its partitions, and its own commits are refused when it wakes.
            victim.stop()
            time.sleep(8)
            victim.go_on()
        else:
            victim.kill()
            storm.snapshot()
            victim.restart()


def checked(path: Path) -> bool:
    class Quiet:
        verbose = False
        inputs = (str(path),)

    checker = Checker(Quiet())
    checker.process_all()
    return not checker.exit_value


@pytest.mark.timeout(600)
def test_in_a_storm_of_kills_each_response_is_archived_once_and_whole(tmp_path: Path, kafka: KafkaCluster) -> None:
    random = seeded("archivers")
    file, config = configured(tmp_path, kafka)
    with gregor(file, "topics", "--create") as topics:
        code, printed = topics.wait()
        assert code == 0, printed
    transport = kafka_transport(config, tmp_path / "look")
    with ExitStack() as stack:
        workers = [
            stack.enter_context(gregor(file, "worker", "archiver", "--folder", tmp_path / name)) for name in ("a", "b")
        ]
        storm = Storm(file, transport, workers, tmp_path / "archive")
        rage(storm, random)
        until(storm.caught_up, "every page is passed", workers=workers)
        until(lambda: read_manifests(storm.folder).keys() == storm.committed().keys(), "the lists tell of all files")
        # A page more in each partition lets everybody know that no older file will grow.
        last = range(ROUNDS * PAGES_A_ROUND, ROUNDS * PAGES_A_ROUND + PARTITIONS)
        transport.append(list(pages(last, random)))
        until(
            lambda: storm.caught_up() and storm.is_tidy(), "nothing is left behind what is committed", workers=workers
        )
        ended = [worker.terminate() for worker in workers]
    assert all(code == 0 for code, _ in ended), ended
    judge(storm, last.stop)
    with gregor(file, "rearchive", tmp_path / "again") as again:
        code, printed = again.wait()
    assert code == 0, printed
    assert contents(tmp_path / "again") == contents(storm.folder), "the log gives the same archive once more"
    transport.close()


def contents(folder: Path) -> list[tuple[int, int, PageFacts, bytes]]:
    return [(page.partition, page.offset, page.facts, page.body) for page in open_archive(folder)]


def judge(storm: Storm, count: int) -> None:
    archive = open_archive(storm.folder)
    found = Counter((page.url, page.facts.lease) for page in archive)
    assert set(found.values()) == {1}, "nothing twice"
    assert len(found) == count, "nothing lost"
    places = [(page.partition, page.offset) for page in archive]
    assert len(set(places)) == count
    committed = storm.committed()
    assert {name: one.length for name, one in archive.files.items()} == {
        name: one.length for name, one in committed.items()
    }
    for name, before in storm.seen:
        if name in committed:
            after = (storm.folder / name).read_bytes()
            assert after[: len(before)] == before[: len(after)], "what was written again is the same"
    for one in committed.values():
        path = storm.folder / one.file
        assert checked(path), path
        with path.open("rb") as file:
            assert sum(1 for _ in ArchiveIterator(file)) == one.records, "another reader finds as many records"
    assert build_index(archive).pages == count
