"""Where pages are read from: the topic, as far as it was not trimmed, or the archive, which has them all."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from gregor.errors import UsageError
from gregor.outputs.archive import ArchiveReader, open_archive
from gregor.runtime.transport.port import LogReader, Record
from schemas.codec import encode

Range = tuple[int, int]
"""First offset, and the one behind the last."""


class PageSource(Protocol):
    """Pages, partition by partition, each as the record that it was."""

    @property
    def name(self) -> str:
        """For people, and to know it again."""
        ...

    @property
    def ranges(self) -> Mapping[int, Range]: ...

    def read(self, starts: Mapping[int, int]) -> Iterator[Record]:
        """From these offsets on, each partition's in order; a partition that is not named from its first."""
        ...


class TopicSource(Struct, frozen=True):
    """What ``pages`` holds of the ranges."""

    log: LogReader
    ranges: Mapping[int, Range]
    name: str = "the topic pages"

    def read(self, starts: Mapping[int, int]) -> Iterator[Record]:
        for partition, (first, end) in sorted(self.ranges.items()):
            start = max(first, starts.get(partition, 0))
            if start < end:
                yield from self.log.read("pages", partition, start, end)


class ArchiveSource(Struct, frozen=True):
    """What was archived of the ranges."""

    archive: ArchiveReader
    ranges: Mapping[int, Range]

    @property
    def name(self) -> str:
        return f"the archive in {self.archive.folder}"

    def read(self, starts: Mapping[int, int]) -> Iterator[Record]:
        for page in self.archive.whole_pages():
            first, end = self.ranges.get(page.partition, (0, 0))
            if max(first, starts.get(page.partition, 0)) <= page.offset < end:
                yield Record(
                    "pages",
                    page.partition,
                    page.offset,
                    page.facts.server.encode(),
                    page.body,
                    encode(page.facts),
                    page.fetched_ms,
                )


def missing(log: LogReader, starts: Mapping[int, int]) -> dict[int, int]:
    """Partitions of ``pages`` that begin later than wanted, and where they begin."""
    return {
        partition: first
        for partition, (first, _) in log.ends("pages").items()
        if partition in starts and first > starts[partition]
    }


def source_of(log: LogReader, starts: Mapping[int, int], archive: Path | None, by_archive: bool) -> PageSource:
    """The topic where it is whole, otherwise the archive if there is one. ``by_archive``: it was asked for."""
    ends = log.ends("pages")
    ranges = {partition: (start, ends[partition][1]) for partition, start in starts.items()}
    if by_archive or (missing(log, starts) and archive is not None):
        if archive is None:
            raise UsageError("expected an archive, found none", remedy="name its folder with --archive")
        return ArchiveSource(open_archive(archive), ranges)
    return TopicSource(log, ranges)
