"""Items into a file, so that a run that was stopped or killed goes on where it was: nothing twice, nothing lost.

What is written goes to OUTPUT.part; OUTPUT.progress says, always by a rename, how many bytes of it count and which pages they come from.
A new run cuts off what does not count. OUTPUT itself appears when everything is there.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Final, Literal

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.errors import UsageError
from gregor.outputs.archive.items import write_parquet
from gregor.outputs.reextract.sources import PageSource, Range
from gregor.run.placement import placement_of
from gregor.runtime.loops.decode import decode_all, decode_broadcast
from gregor.runtime.transport.port import LogReader, Record
from schemas.items import Item, decode_item
from workers.extractor.reextract import Reextraction

BATCH: Final = 200
"""Pages that are read together; also what an interruption waits for."""
BATCH_BYTES: Final = 16 * 1024 * 1024
NOTE_EVERY_S: Final = 1.0
TELL_EVERY_S: Final = 5.0

Form = Literal["jsonl", "parquet"]
Tell = Callable[[str], None]


class ReextractProgress(Struct, frozen=True, kw_only=True):
    """How far a file is."""

    version: str
    """Of the configuration."""
    source: str
    ranges: dict[int, Range]
    """What of each partition is wanted."""
    positions: dict[int, int] = {}
    bytes: int = 0
    """Of the file that count."""
    counts: dict[str, int] = {}
    failures: dict[str, int] = {}

    @property
    def items(self) -> int:
        return sum(count for name, count in self.counts.items() if name.startswith("item:"))

    @property
    def pages(self) -> int:
        return self.counts.get("pages", 0)


class Reextracted(Struct, frozen=True, kw_only=True):
    """What came of it."""

    source: str
    pages: int
    items: int
    rules: dict[str, int]
    """Items by rule."""
    unreadable: int
    failures: dict[str, int]
    finished: bool
    """False: it was interrupted, and the same command goes on."""


def to_file(
    log: LogReader,
    config: Config,
    source: PageSource,
    output: Path,
    form: Form,
    stop: threading.Event,
    tell: Tell = lambda _: None,
) -> Reextracted:
    if output.exists():
        raise UsageError(f"expected a file that is not there yet, found {output}", remedy="name another, or remove it")
    part, noted = _beside(output, ".part"), _beside(output, ".progress")
    progress = _resume(part, noted, config, source)
    stage = Reextraction(config, placement_of(config))
    try:
        heard, _ = decode_broadcast(list(log.read("control", 0, 0)), stage.decoders)
        stage.on_broadcast(heard)
        with part.open("r+b") as file:
            file.truncate(progress.bytes)
            file.seek(progress.bytes)
            progress = _extract(stage, source, file, noted, progress, stop, tell)
    finally:
        stage.close()
    if not stop.is_set():
        _finish(part, output, form)
        noted.unlink(missing_ok=True)
    return outcome(source.name, progress.counts, progress.failures, finished=not stop.is_set())


def outcome(source: str, counts: Mapping[str, int], failures: Mapping[str, int], finished: bool) -> Reextracted:
    rules = {name.removeprefix("item:"): count for name, count in counts.items() if name.startswith("item:")}
    return Reextracted(
        source=source,
        pages=counts.get("pages", 0),
        items=sum(rules.values()),
        rules=dict(sorted(rules.items())),
        unreadable=counts.get("unreadable", 0),
        failures=dict(failures),
        finished=finished,
    )


def _beside(output: Path, ending: str) -> Path:
    return output.with_name(output.name + ending)


def _resume(part: Path, noted: Path, config: Config, source: PageSource) -> ReextractProgress:
    """What an earlier run left, or a new beginning."""
    begin = ReextractProgress(version=config.config_version, source=source.name, ranges=dict(source.ranges))
    if not noted.exists():
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(b"")
        return begin
    try:
        left = msgspec.json.decode(noted.read_bytes(), type=ReextractProgress)
        size = part.stat().st_size
    except (msgspec.MsgspecError, OSError) as error:
        raise UsageError(f"expected what an earlier run left, found: {error}", remedy=f"remove {noted}") from error
    same = (left.version, left.source) == (begin.version, begin.source)
    starts = {one: first for one, (first, _) in left.ranges.items()} == {
        one: at for one, (at, _) in begin.ranges.items()
    }
    if not same or not starts or size < left.bytes:
        raise UsageError(
            f"expected {part} of the same rules, source and beginning, found one of version {left.version} from {left.source}",
            remedy=f"give the same command again, or remove {noted}, or name another file",
        )
    return left


def _extract(
    stage: Reextraction,
    source: PageSource,
    file: BinaryIO,
    noted: Path,
    progress: ReextractProgress,
    stop: threading.Event,
    tell: Tell,
) -> ReextractProgress:
    positions = dict(progress.positions)
    before = Counter(progress.counts)
    failed = Counter(progress.failures)
    last_note = last_told = time.monotonic()

    def now() -> ReextractProgress:
        return msgspec.structs.replace(
            progress,
            positions=dict(positions),
            bytes=file.tell(),
            counts=dict(before + stage.counts),
            failures=dict(failed + Counter(stage.failures())),
        )

    for batch in _batches(_wanted(source, positions, progress.ranges)):
        received, _ = decode_all(batch, stage.decoders, stage.spec.name, 0)
        for output in stage.process(received, 0).outputs:
            file.write(output.value + b"\n")
        stage.committed()
        positions.update({record.partition: record.offset + 1 for record in batch})
        if time.monotonic() - last_note >= NOTE_EVERY_S or stop.is_set():
            last_note = time.monotonic()
            _note(file, noted, now())
        if time.monotonic() - last_told >= TELL_EVERY_S:
            last_told = time.monotonic()
            tell(f"{now().pages:,} pages, {now().items:,} items")
        if stop.is_set():
            break
    _note(file, noted, now())
    return now()


def _wanted(source: PageSource, positions: Mapping[int, int], ranges: Mapping[int, Range]) -> Iterator[Record]:
    """What the first run wanted: pages that have come since are for another one."""
    return (record for record in source.read(positions) if record.offset < ranges[record.partition][1])


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """A batch ends when it has many pages, or a few large ones."""
    for first in records:
        batch, size = [first], len(first.value or b"")
        for record in islice(records, BATCH - 1):
            batch.append(record)
            size += len(record.value or b"")
            if size >= BATCH_BYTES:
                break
        yield batch


def _note(file: BinaryIO, noted: Path, progress: ReextractProgress) -> None:
    file.flush()
    os.fsync(file.fileno())
    new = noted.with_name(noted.name + ".new")
    new.write_bytes(msgspec.json.encode(progress))
    new.replace(noted)


def _finish(part: Path, output: Path, form: Form) -> None:
    if form == "jsonl":
        part.replace(output)
        return
    new = _beside(output, ".new")
    write_parquet(lambda: _items_in(part), new)
    new.replace(output)
    part.unlink()


def _items_in(part: Path) -> Iterator[Item]:
    with part.open("rb") as file:
        yield from (decode_item(line) for line in chain(file))
