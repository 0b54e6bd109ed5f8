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
from gregor.stage.catalogue import ARCHIVED_BYTES, ARCHIVED_PAGES
from gregor.stage.contract import NOTHING, Decode, Received, Work
from gregor.stage.figures import NO_LABELS, Figures
from gregor.state.packed import Mutation
from gregor.transport.port import Assignment, Output, StageSpec, TopicPartition
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import encode
from schemas.control import decode_control
from schemas.pages import decode_facts
from workers.archiver.disk import Disk, short
from workers.archiver.manifest import Manifest
from workers.archiver.names import parse
from workers.archiver.shelf import Maker, Note, Shelf, decode_note
from workers.archiver.tidy import Tidy

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
        self._maker = maker_of(config, member)
        self._disk = Disk(folder)
        self._manifest = Manifest(folder, member)
        self._tidy = Tidy(self._disk, self._manifest, config.crawl.name, member)
        self._shelves: dict[int, Shelf] = {}
        self._pending = (0, 0)
        self._archived = (0, 0)
        """Pages and bytes, committed ones only, since the process began."""

    def note(self, where: TopicPartition) -> str:
        """What is committed beside a position."""
        return encode(self._shelves[where.partition].note).decode()

    def assigned(self, partition: int, assignment: Assignment) -> None:
        position = assignment.positions["pages"]
        note = _read_note(partition, position.metadata)
        if note is None:
            note = Note(position.offset)
        else:
            self._void(partition, position.offset)
        shelf = Shelf(partition, note, self._maker)
        if shelf.current is not None:
            note = self._take_up(note, shelf.current)
            shelf = Shelf(partition, note, self._maker)
        self._shelves[partition] = shelf

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
        return named is not None and named.crawl == self._maker.crawl

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
            shelf = self._shelves.pop(partition, None)
            if shelf is None:
                continue
            for name in {write.file.file for write in shelf.writes} | {one.file for one in (shelf.current,) if one}:
                self._tidy.loosen(name)

    def instruct(self, received: Sequence[Received]) -> None:
        for one in received:
            if isinstance(one.value, ArchiveFile):
                shelf = self._shelves.get(one.value.partition)
                current = shelf.current if shelf is not None else None
                self._tidy.heard(one.value, current.file if current is not None else None)

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        size = 0
        for one in received:
            size += self._shelves[one.record.partition].add(one.record, one.value)
        self._pending = (self._pending[0] + len(received), self._pending[1] + size)
        return Work(bytes=size)

    def tick(self, now_ms: int) -> Work:
        closed = [shelf.close_old(now_ms) for shelf in self._shelves.values()]
        # Closing writes nothing into the file, and yet has to be committed.
        return Work(bytes=1) if any(closed) else NOTHING

    def next_due_ms(self) -> int | None:
        dues = [due for shelf in self._shelves.values() if (due := shelf.next_due_ms()) is not None]
        return min(dues, default=None)

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def figures(self) -> Figures:
        pages, size = self._archived
        return {ARCHIVED_PAGES: {NO_LABELS: pages}, ARCHIVED_BYTES: {NO_LABELS: size}}

    def prepare(self) -> Sequence[Output]:
        writes = [write for shelf in self._shelves.values() for write in shelf.writes]
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
        files = [file for shelf in self._shelves.values() for file in shelf.committed()]
        if not self._manifest.put(files):
            _log.warning("the list of files in %s cannot be written now and will be later", self._disk.folder)

    def dropped(self) -> None:
        self._pending = (0, 0)
        for shelf in self._shelves.values():
            # They may be written already, and whoever has the partition next may not be this member.
            for write in shelf.writes:
                self._tidy.loosen(write.file.file)
            shelf.dropped()

    def close(self) -> None:
        """Of the files nothing is held between checkpoints."""
        self._manifest.close()


def maker_of(config: Config, member: str) -> Maker:
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
    return Maker(config.crawl.name, config.names.topic("pages"), member, config.archive, about)


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
