"""An archive made again from the topic ``pages``, from any offset, into a new folder: for a lost folder, other limits, or a part.

The records are those of the archiver; files begin where this run begins. It is one run by one process, which takes nothing from the
group and commits nothing: the list of files is written as it goes, and a run that was stopped is begun again in another folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.errors import UsageError
from gregor.outputs.archive.places import require_empty
from gregor.runtime.loops.contract import SinkUnavailable
from gregor.runtime.transport.port import LogReader
from schemas.codec import Undecodable
from schemas.pages import decode_facts
from workers.archiver.disk import Disk
from workers.archiver.manifest import Manifest
from workers.archiver.stage import warc_info_of
from workers.archiver.warc_writer import Note, WarcWriter

MEMBER: Final = "again"
_FLUSH: Final = 16 * 1024 * 1024


class Rearchived(Struct, frozen=True):
    pages: int
    unreadable: int
    """Records that are no pages; the archiver made dead letters of them."""
    files: int


def rearchive(log: LogReader, config: Config, starts: Mapping[int, int], folder: Path) -> Rearchived:
    """``starts`` gives the first offset of each partition that is wanted; an offset that is gone begins with the first that is not."""
    require_empty(folder)
    disk, manifest = Disk(folder), Manifest(folder, MEMBER)
    warc_info = warc_info_of(config, MEMBER)
    pages = unreadable = 0
    for partition, start in starts.items():
        writer = WarcWriter(partition, Note(start), warc_info)
        pending = 0
        for record in log.read("pages", partition, start):
            try:
                facts = decode_facts(record.header)
            except Undecodable:
                unreadable += 1
                continue
            if writer.note.file is None:
                writer = WarcWriter(partition, Note(record.offset), warc_info)
            pending += writer.add(record, facts)
            pages += 1
            if pending > _FLUSH:
                _flush(writer, disk, manifest)
                pending = 0
        _flush(writer, disk, manifest)
    manifest.close()
    return Rearchived(pages, unreadable, len(manifest.files))


def _flush(writer: WarcWriter, disk: Disk, manifest: Manifest) -> None:
    try:
        for write in writer.writes:
            disk.write(write.file.file, write.at, write.parts)
        disk.sync([write.file.file for write in writer.writes])
    except SinkUnavailable as error:
        raise UsageError(str(error).replace("it goes on by itself", "and begin again in another folder")) from error
    manifest.put(writer.committed())
