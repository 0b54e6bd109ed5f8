"""Where the responses of a URL are: in ``pages`` while they are there, and in the archive's files.

The archive is found by three ways, the first that knows: its index; the topic ``archive``, which says which file holds an offset of
``pages``; and, where the folder is at hand and no index yet, the files of the URL's partition themselves, as far as a bound allows.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gregor.errors import GregorError
from gregor.inspect.explain.indexed import rows_of
from gregor.inspect.explain.story import ResponseSeen, Result
from gregor.outputs.archive import open_archive
from gregor.outputs.archive.index import MERGED
from gregor.runtime.transport.port import LogReader
from gregor.url.canonical import Url
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import Undecodable
from schemas.pages import decode_facts

AROUND_MS: Final = 5_000
"""A response and its result are written together; their times differ by less."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""Of archive files that are read through for want of an index."""
_NOT_ASKED: Final = ("expired", "cancelled")


def responses(
    reader: LogReader, archive: Path | None, url: Url, partition: int, results: Sequence[Result]
) -> list[ResponseSeen]:
    """One for each result that had a response."""
    answered = [result for result in results if result.status]
    if not answered:
        return []
    files = _files(reader, partition)
    found = {result.lease: _in_pages(reader, url, partition, result, files) for result in answered}
    if archive is not None:
        for response in _in_index(archive, url, found.values()):
            found[response.lease] = response
        missing = {lease for lease, response in found.items() if response.file_offset < 0}
        for response in _in_archive(archive, url, partition, missing) if missing else ():
            found[response.lease] = replace(
                found[response.lease], file=response.file, file_offset=response.file_offset, length=response.length
            )
    return list(found.values())


def _in_pages(
    reader: LogReader, url: Url, partition: int, result: Result, files: Sequence[ArchiveFile]
) -> ResponseSeen:
    response = ResponseSeen(lease=result.lease, status=result.status, fetched_ms=result.started_ms)
    first, end = reader.ends("pages")[partition]
    start = max(first, reader.since("pages", result.written_ms - AROUND_MS)[partition])
    key = url.server.encode()
    for record in reader.read("pages", partition, start, end):
        if record.time_ms > result.written_ms + AROUND_MS:
            break
        if record.key != key or url.path.encode() not in (record.header or b""):
            continue
        try:
            facts = decode_facts(record.header)
        except Undecodable:
            continue
        if facts.lease == result.lease and facts.url == url.text:
            file = next((one.file for one in files if one.first <= record.offset <= one.last), "")
            return replace(response, offset=record.offset, file=file)
    return response


def _files(reader: LogReader, partition: int) -> list[ArchiveFile]:
    """Archive files of a partition, as the topic last told of each."""
    files: dict[str, ArchiveFile] = {}
    first, end = reader.ends("archive")[0]
    for record in reader.read("archive", 0, first, end):
        try:
            file = decode_archive_file(record.value)
        except Undecodable:
            continue
        if file.partition == partition:
            files[file.file] = file
    return list(files.values())


def _in_index(folder: Path, url: Url, responses: Iterable[ResponseSeen]) -> Iterator[ResponseSeen]:
    """What the archive's merged index knows; a line has the second in which a request started, and no lease."""
    by_second = {_second(one.fetched_ms): one for one in responses if one.fetched_ms}
    path = folder / MERGED
    if not path.is_file():
        return
    for stamp, row in rows_of(path, url.text):
        found = by_second.get(stamp)
        if found is not None:
            yield replace(found, file=row.filename, file_offset=int(row.offset), length=int(row.length))


def _second(ms: int) -> str:
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(ms // 1000))


def _in_archive(folder: Path, url: Url, partition: int, leases: set[str]) -> Iterator[ResponseSeen]:
    """What the archive's own files tell; nothing when they cannot be read, which is not what was asked."""
    try:
        archive = open_archive(folder)
    except GregorError:
        return
    budget = MOST_BYTES
    wanted = set(leases)
    for file in sorted(archive.files.values(), key=lambda one: -one.first):
        if file.partition != partition:
            continue
        budget -= file.length
        if budget < 0 or not wanted:
            return
        try:
            for page in archive.pages_of(file):
                if page.facts.lease in wanted and page.url == url.text:
                    wanted.discard(page.facts.lease)
                    place = page.place
                    yield ResponseSeen(
                        lease=page.facts.lease, file=place.file, file_offset=place.offset, length=place.length
                    )
        except (GregorError, OSError):
            continue
