"""The archiver as a stage: pages in, WARC files beside the log, and what of them is committed in the topic ``archive``.

    process    pages become records of files, in memory
    prepare    the records are appended to the files, and the disk has them
    commit     positions, with a note of file and length beside each, and the same in ``archive``, in ONE transaction
    committed  the folder's own list of files says so too

A crash anywhere leaves bytes behind the committed length, or none. The note is what tells: it comes back with the assignment, and it
cannot be older than the position that it stands beside. A file whose member is this one is cut to the note's length and goes on; a file
of another stays as it is, and the next page begins a new one.
"""

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from gregor.config import Config
from gregor.errors import CorruptState, ForeignState
from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, StageSpec, TopicPartition
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import encode
from schemas.control import decode_control
from schemas.pages import decode_facts
from workers.archiver.disk import Disk, short
from workers.archiver.manifest import Manifest
from workers.archiver.metrics import ARCHIVED_BYTES, ARCHIVED_PAGES
from workers.archiver.names import parse
from workers.archiver.tail_cleaner import TailCleaner
from workers.archiver.warc_writer import Note, WarcInfo, WarcWriter, decode_note

_log: Final = logging.getLogger("gregor.archiver")

SPEC: Final = StageSpec(
    name="archiver", inputs=("pages",), broadcast=("archive", "control"), outputs=("archive", "dead-letters")
)


class ArchiverStage:
    """One member, writing to one folder; the folder may be shared with others."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {
        "pages": lambda record: decode_facts(record.header),
        "archive": lambda record: decode_archive_file(record.value),
        "control": lambda record: decode_control(record.value),
    }

    def __init__(self, config: Config, folder: Path, member: str) -> None:
        self._warc_info = warc_info_of(config, member)
        self._disk = Disk(folder)
        self._manifest = Manifest(folder, member)
        self._cleaner = TailCleaner(self._disk, self._manifest, config.crawl.name, member)
        self._writers: dict[int, WarcWriter] = {}
        self._pending = (0, 0)
        self._archived = (0, 0)
        """Pages and bytes, committed ones only, since the process began."""

    def note(self, where: TopicPartition) -> str:
        """What is committed beside a position."""
        return encode(self._writers[where.partition].note).decode()

    def assigned(self, partition: int, assignment: Assignment) -> None:
        position = assignment.positions["pages"]
        note = _read_note(partition, position.metadata)
        if note is None:
            note = Note(position.offset)
        else:
            self._void(partition, position.offset)
        writer = WarcWriter(partition, note, self._warc_info)
        if writer.current is not None:
            note = self._take_up(note, writer.current)
            writer = WarcWriter(partition, note, self._warc_info)
        self._writers[partition] = writer

    def _void(self, partition: int, position: int) -> None:
        """Files whose first page the log has not passed, although their commits were listed: a machine died, and the log's last
        second with it. Their pages come again."""
        listed = (one for one in self._manifest.files.values() if one.partition == partition and one.length)
        ahead = [one for one in listed if one.first >= position and self._is_of_this_crawl(one.file)]
        if ahead:
            _log.warning(
                "the log has lost the commits of %s, which are made again", ", ".join(one.file for one in ahead)
            )
            self._manifest.put(replace(one, length=0, records=0, closed=False) for one in ahead)

    def _is_of_this_crawl(self, name: str) -> bool:
        named = parse(name)
        return named is not None and named.crawl == self._warc_info.crawl

    def _take_up(self, note: Note, file: ArchiveFile) -> Note:
        """An own file goes on behind what is committed of it."""
        found = self._disk.size(file.file)
        if found is None:
            _log.warning(
                "%s is not in %s any more, with its %d committed bytes: another file is begun",
                file.file,
                self._disk.folder,
                file.length,
            )
            return Note(note.since, replace(file, closed=True))
        if found < file.length:
            raise short(self._disk.folder / file.file, file.length, found)
        if found > file.length:
            _log.info("cutting %s from %d bytes to the %d that are committed", file.file, found, file.length)
            self._disk.cut(file.file, file.length)
        self._manifest.put([file])
        return note

    def revoked(self, partitions: frozenset[int]) -> None:
        """What of a file is committed may not be known just now: nothing is cut before ``archive`` tells."""
        for partition in partitions:
            writer = self._writers.pop(partition, None)
            if writer is None:
                continue
            for name in {write.file.file for write in writer.writes} | {one.file for one in (writer.current,) if one}:
                self._cleaner.loosen(name)

    def on_broadcast(self, received: Sequence[Received]) -> None:
        for one in received:
            if isinstance(one.value, ArchiveFile):
                writer = self._writers.get(one.value.partition)
                current = writer.current if writer is not None else None
                self._cleaner.heard(one.value, current.file if current is not None else None)

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        size = 0
        for one in received:
            size += self._writers[one.record.partition].add(one.record, one.value)
        self._pending = (self._pending[0] + len(received), self._pending[1] + size)
        return Work(bytes=size)

    def tick(self, now_ms: int) -> Work:
        closed = [writer.close_old(now_ms) for writer in self._writers.values()]
        # Closing writes nothing into the file, and yet has to be committed.
        return Work(bytes=1) if any(closed) else NOTHING

    def next_due_ms(self) -> int | None:
        dues = [due for writer in self._writers.values() if (due := writer.next_due_ms()) is not None]
        return min(dues, default=None)

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def figures(self) -> Figures:
        pages, size = self._archived
        return {ARCHIVED_PAGES: {NO_LABELS: pages}, ARCHIVED_BYTES: {NO_LABELS: size}}

    def prepare(self) -> Sequence[Output]:
        writes = [write for writer in self._writers.values() for write in writer.writes]
        for write in writes:
            if write.at == 0:
                self._refuse_foreign(write.file.file)
            self._disk.write(write.file.file, write.at, write.parts)
        if writes:
            self._disk.sync([write.file.file for write in writes])
        return [Output("archive", 0, write.file.file.encode(), encode(write.file)) for write in writes]

    def _refuse_foreign(self, name: str) -> None:
        """A new file by the name of one that has committed pages: the log began anew, and its archive would be overwritten."""
        known = self._manifest.files.get(name)
        if known is not None and known.length:
            raise ForeignState(
                f"{self._disk.folder / name} has {known.length} committed bytes of an earlier life of this crawl",
                remedy="set archive.folder to another folder",
            )

    def committed(self) -> None:
        self._archived = (self._archived[0] + self._pending[0], self._archived[1] + self._pending[1])
        self._pending = (0, 0)
        files = [file for writer in self._writers.values() for file in writer.committed()]
        if not self._manifest.put(files):
            _log.warning("the list of files in %s cannot be written now and will be later", self._disk.folder)

    def dropped(self) -> None:
        self._pending = (0, 0)
        for writer in self._writers.values():
            # They may be written already, and whoever has the partition next may not be this member.
            for write in writer.writes:
                self._cleaner.loosen(write.file.file)
            writer.dropped()

    def close(self) -> None:
        """Of the files nothing is held between checkpoints."""
        self._manifest.close()


def warc_info_of(config: Config, member: str) -> WarcInfo:
    """What every file of this crawl says of it."""
    try:
        software = f"gregor/{version('gregor-crawl')}"
    except PackageNotFoundError:
        software = "gregor"
    about = {
        "software": software,
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "isPartOf": config.crawl.name,
        "robots": "obey" if config.robots.obey else "ignore",
        "http-header-user-agent": config.user_agent_header,
        "config-version": config.config_version,
    }
    return WarcInfo(config.crawl.name, config.names.topic("pages"), member, config.archive, about)


def _read_note(partition: int, metadata: str) -> Note | None:
    if not metadata:
        return None
    try:
        return decode_note(metadata)
    except msgspec.MsgspecError as error:
        raise CorruptState(
            f"what stands beside the archiver's position in partition {partition} is not a note: {error}",
            remedy="see whether another program commits offsets of this group",
        ) from error
