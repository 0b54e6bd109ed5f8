"""One partition's archive: the file that is being filled, what of it is committed, and what is pending.

                 first page                a page, and room               too large, too old
    nothing ───────────────────► filling ◄──────────────────┐ filling ─────────────────────────► closed ──► the next file
                                    └────────────────────────┘

Which page goes to which file, and with which bytes, follows from the note that was committed with the partition's position and from the
pages, so that whoever does it again after a crash does the same.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gregor.config.sections import ArchiveSection
from gregor.runtime.transport.port import Record
from schemas.archive import ArchiveFile
from schemas.pages import PageFacts
from workers.archiver.gzip_member import compress
from workers.archiver.names import Named
from workers.archiver.records import PagePlace, Profile, file_identifier, page_records, warcinfo

HOUR_MS = 3_600_000


class Note(Struct, frozen=True, omit_defaults=True):
    """What is committed beside the partition's position, by whoever has it."""

    since: int
    """Offset from which on the archive has every page of the partition; 0: from the first."""
    file: ArchiveFile | None = None
    """The file of the last page; None: there was no page yet."""


decode_note = msgspec.json.Decoder(Note).decode


class WarcInfo(Struct, frozen=True):
    """What goes into every file of a member."""

    crawl: str
    topic: str
    """``pages`` with the crawl's prefix."""
    member: str
    settings: ArchiveSection
    about: dict[str, str]
    """The fields of warcinfo."""


class Write(Struct):
    """Bytes that have to stand at a place of a file."""

    file: ArchiveFile
    """As it will be."""
    at: int
    parts: list[bytes]


class WarcWriter:
    """Everything since ``committed`` or ``dropped`` is pending."""

    def __init__(self, partition: int, note: Note, warc_info: WarcInfo) -> None:
        self._partition = partition
        self._warc_info = warc_info
        self._committed = note
        self._note = note
        self._writes: list[Write] = []
        self._warcinfo_id = b""
        if note.file is not None:
            self._warcinfo_id = file_identifier(warc_info.topic, note.file.file)

    @property
    def note(self) -> Note:
        """With what is pending."""
        return self._note

    @property
    def writes(self) -> list[Write]:
        return self._writes

    @property
    def current(self) -> ArchiveFile | None:
        """The file that the next page may go to; None: it begins a new one."""
        file = self._note.file
        return file if file is not None and not file.closed and self._is_ours(file) else None

    def add(self, record: Record, facts: PageFacts) -> int:
        """Put a page behind the others; how many bytes that are."""
        warc_info = self._warc_info
        source = PagePlace(warc_info.topic, record.partition, record.offset, record.time_ms)
        body = record.value or b""
        file = self.current
        if file is not None and self._is_full(file, record.time_ms):
            self._put(replace(file, closed=True))
            file = None
        size = 0
        if file is None:
            file, size = self._begin(record)
        records = page_records(facts, body, source, self._warcinfo_id, self._profile(facts, body))
        members = [compress(parts, warc_info.settings.level) for parts in records]
        added = sum(map(len, members))
        file = replace(file, length=file.length + added, last=record.offset, records=file.records + len(members))
        self._put(file).parts += members
        return size + added

    def close_old(self, now_ms: int) -> ArchiveFile | None:
        """Close the file if it is too old, although nothing comes: the file as it is then."""
        file = self.current
        if file is None or now_ms < self._old_ms(file):
            return None
        closed = replace(file, closed=True)
        self._put(closed)
        return closed

    def next_due_ms(self) -> int | None:
        file = self.current
        return None if file is None else self._old_ms(file)

    def committed(self) -> list[ArchiveFile]:
        """The files that have changed."""
        files = [write.file for write in self._writes]
        self._committed, self._writes = self._note, []
        return files

    def dropped(self) -> None:
        self._note, self._writes = self._committed, []
        if self._note.file is not None:
            self._warcinfo_id = file_identifier(self._warc_info.topic, self._note.file.file)

    def _is_ours(self, file: ArchiveFile) -> bool:
        return file.file == str(Named(self._warc_info.crawl, self._partition, file.first, self._warc_info.member))

    def _is_full(self, file: ArchiveFile, time_ms: int) -> bool:
        return file.length >= self._warc_info.settings.max_file_bytes or time_ms >= self._old_ms(file)

    def _old_ms(self, file: ArchiveFile) -> int:
        return file.opened_ms + int(self._warc_info.settings.max_file_hours * HOUR_MS)

    def _begin(self, record: Record) -> tuple[ArchiveFile, int]:
        warc_info = self._warc_info
        name = str(Named(warc_info.crawl, self._partition, record.offset, warc_info.member))
        info = compress(warcinfo(warc_info.topic, name, record.time_ms, warc_info.about), warc_info.settings.level)
        file = ArchiveFile(
            file=name,
            length=len(info),
            partition=self._partition,
            first=record.offset,
            last=record.offset,
            records=1,
            opened_ms=record.time_ms,
        )
        self._warcinfo_id = file_identifier(warc_info.topic, name)
        self._writes.append(Write(file, 0, [info]))
        self._note = Note(self._note.since, file)
        return file, len(info)

    def _put(self, file: ArchiveFile) -> Write:
        """The current file is now this; what has to be written for it."""
        if not self._writes or self._writes[-1].file.file != file.file:
            before = self._note.file
            self._writes.append(Write(file, before.length if before is not None else 0, []))
        self._writes[-1].file = file
        self._note = Note(self._note.since, file)
        return self._writes[-1]

    def _profile(self, facts: PageFacts, body: bytes) -> Profile | None:
        """A body is left out only where the archive is known to have it: it holds all earlier pages of this server."""
        if facts.status == 304 and not body:
            return "server-not-modified"
        same = facts.digest and facts.digest == facts.previous_digest
        if same and facts.visit and not facts.truncated and self._note.since == 0:
            return "identical-payload-digest"
        return None
