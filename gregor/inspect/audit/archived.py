"""Responses: each result that has one has one page, each page that archivers have passed is in the archive once, each file is whole."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gregor.errors import CorruptState
from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.entries import (
    HASH,
    LEASE,
    PLACE,
    RESPONSES,
    ResponseEntry,
    hashed,
    lease_bytes,
    lease_text,
    pack,
    response,
)
from gregor.inspect.audit.finding import Check, Finding
from gregor.outputs.archive.members import members
from gregor.outputs.archive.page import has_facts, page_of, split_record
from gregor.runtime.state.external_sort import Entry, ExternalSort
from gregor.runtime.transport.port import LogReader
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import Undecodable


class Archived:
    """``read`` comes before the pages are read, ``check`` after everything is."""

    def __init__(self, log: LogReader, cut: Cut, folder: Path | None, sorter: ExternalSort) -> None:
        self._log = log
        self._cut = cut
        self._folder = folder
        self._sorter = sorter
        self._files = Check(
            "archive-files", "every archive file has its committed length and records, and no page is in two"
        )
        self._pages = Check("responses-once", "every response is one page, and every page a response")
        self._archived = Check("archived-once", "every page that archivers have passed is in the archive once")
        self._from_the_first = (
            folder is not None and bool(cut.archiver) and not any(map(cut.archived_since, cut.archiver))
        )
        """Whether the archive has every page that was ever trimmed."""
        if not cut.archiver:
            self._files.note = self._archived.note = "nobody archives"
        elif folder is None:
            self._files.note = self._archived.note = "the archive is not on this machine: the topic alone was looked at"

    def read(self) -> None:
        """The files, up to what is committed of each."""
        if not self._cut.archiver:
            return
        before: ArchiveFile | None = None
        for file in self._last_words():
            if before is not None and before.partition == file.partition:
                apart = before.last < file.first
                self._files.require(
                    apart, f"{before.file} and {file.file} both have page {file.first} of {file.partition}"
                )
            before = file
            if self._folder is not None:
                self._read_file(self._folder / file.file, file)

    def _last_words(self) -> list[ArchiveFile]:
        """What ``archive`` says of each file, one after the other: one entry a file of a gigabyte, all of them in memory."""
        files: dict[bytes | None, ArchiveFile] = {}
        for partition, (first, end) in self._log.ends("archive").items():
            for record in self._log.read("archive", partition, first, end):
                try:
                    files[record.key] = decode_archive_file(record.value)
                except Undecodable:
                    files.pop(record.key, None)
        return sorted(
            (one for one in files.values() if one.length), key=lambda one: (one.partition, one.first, one.file)
        )

    def _read_file(self, path: Path, file: ArchiveFile) -> None:
        try:
            size = path.stat().st_size
        except OSError:
            self._files.require(False, f"{path} is not there")
            return
        self._files.require(size >= file.length, f"{path} has {size:,} bytes of the {file.length:,} that are committed")
        if size < file.length:
            return
        try:
            records = self._read_pages(path, file)
            self._files.equal(records, file.records, f"{path}, records")
        except (CorruptState, OSError) as error:
            self._files.fail(f"{path} is torn: {error}")

    def _read_pages(self, path: Path, file: ArchiveFile) -> int:
        records = 0
        found = members(path, file.length)
        for member in found:
            records += 1
            record = split_record(member.data, f"{path} at {member.offset}")
            if record.kind not in ("response", "revisit"):
                continue
            aside = None
            if not has_facts(record) and (behind := next(found, None)) is not None:
                records += 1
                aside = split_record(behind.data, f"{path} at {behind.offset}")
            page = page_of(record, aside, path, member)
            lease = lease_bytes(page.facts.lease)
            if lease is not None:
                place = PLACE.pack(page.partition, page.offset)
                key = RESPONSES + lease + hashed(page.url) + b"a" + place + path.name.encode()
                self._sorter.put(
                    key + member.offset.to_bytes(8, "big"), pack(ResponseEntry(page.url, page.facts.kind == "robots"))
                )
        return records

    def check(self) -> Iterator[Finding]:
        fetched_whole, pages_whole = self._cut.whole("fetched"), self._cut.whole("pages")
        if not pages_whole:
            self._pages.note = "pages were trimmed: the archive stands for those"
        for shared, entries in self._sorter.groups(RESPONSES, LEASE + HASH):
            self._judge(lease_text(shared[:LEASE]), entries, fetched_whole, pages_whole)
        yield self._pages.finding()
        yield self._archived.finding()
        yield self._files.finding()

    def _judge(self, lease: str, entries: Iterable[Entry], fetched_whole: bool, pages_whole: bool) -> None:
        places: dict[bytes, list[tuple[int, int]]] = {b"a": [], b"p": [], b"r": [], b"s": []}
        one = ResponseEntry("", False)
        for rest, value in entries:
            places[rest[:1]].append(PLACE.unpack(rest[1 : 1 + PLACE.size]))
            one = response(value)
        archived, pages, results = places[b"a"], places[b"p"], places[b"r"]
        name = f"{one.url} by order {lease}"
        # A robots.txt that is redirected to itself is asked for again under the same lease.
        once = 1 if not one.robots else max(1, len(set(pages or archived)))
        self._pages.require(len(pages) <= once, f"{name} is in pages {len(pages)} times: {pages[:3]}")
        if not one.robots:
            if fetched_whole and not results and not places[b"s"]:
                self._pages.fail(f"{name} has a page and no result")
            if results and not pages and (pages_whole or (self._from_the_first and not archived)):
                self._pages.fail(f"{name} has a result with a response, and no page")
        if self._cut.archiver and self._folder is not None:
            self._judge_archived(name, pages, archived, once)

    def _judge_archived(
        self, name: str, pages: list[tuple[int, int]], archived: list[tuple[int, int]], once: int
    ) -> None:
        self._archived.require(len(archived) <= once, f"{name} is in the archive {len(archived)} times: {archived[:3]}")
        for partition, offset in pages:
            position = self._cut.archiver.get(partition)
            due = position is not None and self._cut.archived_since(partition) <= offset < position.offset
            if due and (partition, offset) not in archived:
                self._archived.fail(f"{name}, page {offset} of partition {partition}, is not in the archive")
