"""Pages for archives: records of the topic, and a folder archived from them by the stage itself."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from gregor.config import Config
from gregor.config.sections import ArchiveSection, CheckpointSection, CrawlSection, PartitionsSection
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output, Record
from schemas.codec import encode
from schemas.pages import PageFacts
from workers.archiver.stage import SPEC, ArchiverStage

PARTITIONS = 2
NOON_MS = 1_800_000_000_000


def config(**archive: object) -> Config:
    return Config(
        crawl=CrawlSection(name="museum"),
        partitions=PartitionsSection(partitions=PARTITIONS),
        checkpoint=CheckpointSection(idle_ms=1),
        archive=ArchiveSection(**archive),  # type: ignore[arg-type]
    )


def facts(number: int, **more: object) -> PageFacts:
    made = PageFacts(
        server="example.com",
        path=f"/page/{number}",
        lease=f"0-{number}",
        status=200,
        scheme="http",
        fetched_ms=NOON_MS + number,
        address="192.0.2.7",
        reason="OK",
        request_headers=(("Host", "example.com"), ("User-Agent", "gregor")),
        response_headers=(("Content-Type", "text/html; charset=utf-8"), ("Content-Encoding", "gzip")),
        depth=1 + number % 3,
        digest=f"{number:032x}",
    )
    return replace(made, **more)


def body(number: int) -> bytes:
    words = " ".join(f"leg{(number * k) % 97}" for k in range(1, 200))
    return f'<html lang="en"><head><title>Page {number}</title></head><body><p>{words}</p></body></html>'.encode()


def output(number: int, partition: int | None = None, content: bytes | None = None, **more: object) -> Output:
    made = facts(number, **more)
    where = number % PARTITIONS if partition is None else partition
    return Output("pages", where, made.server.encode(), body(number) if content is None else content, encode(made))


def record(number: int, made: PageFacts, content: bytes, partition: int = 0, time_ms: int = NOON_MS) -> Record:
    return Record("pages", partition, number, made.server.encode(), content, encode(made), time_ms)


class Museum:
    """A log with pages, and an archiver that can be stopped, killed and begun again at its folder."""

    def __init__(self, folder: Path, settings: Config) -> None:
        self.folder = folder / "archive"
        self.settings = settings
        memory = SharedMemory(StoreOptions())
        log = EmbeddedSettings(crawl="museum", partitions=PARTITIONS, keep=frozenset(("pages",)))
        self.transport = EmbeddedTransport.at(folder / "log", log, memory, (SPEC,))
        self.loop = self._begin()

    def _begin(self) -> StageLoop:
        session = self.transport.open(SPEC)
        self.session = session
        self.stage = ArchiverStage(self.settings, self.folder, session.member)
        return StageLoop(self.stage, session, self.settings.checkpoint, notes=self.stage.note)

    def append(self, outputs: Sequence[Output]) -> None:
        self.transport.append(outputs)

    def lag(self) -> int:
        positions = self.transport.committed(SPEC.name, SPEC.inputs)
        ends = self.transport.ends("pages")
        return sum(end for _, end in ends.values()) - sum(position.offset for position in positions.values())

    def archive_all(self) -> None:
        while self.lag():
            self.loop.step(0.01)

    def restart(self) -> None:
        """What is pending is forgotten, as by a kill."""
        self.session.close()
        self.stage.close()
        self.loop = self._begin()

    def close(self) -> None:
        self.stage.close()
        self.transport.close()
