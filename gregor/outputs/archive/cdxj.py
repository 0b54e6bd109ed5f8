"""CDXJ, the index that replay software reads: a line for each page, sorted by key and time.

    com,example)/a 20261116154100 {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, "filename": …}

A visit that was answered 304 has no line: there is nothing to show but the page before it, and replay software, asked for that time, takes
the nearest. A part holds the lines of one file; parts are merged into one index. A first line that begins with "!" says what a part covers.
"""

import heapq
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.outputs.archive.content import Content
from gregor.outputs.archive.page import ArchivedPage
from gregor.outputs.archive.sort_key import sort_key

REVISIT = "warc/revisit"


class CdxjRow(Struct, frozen=True):
    """The JSON of a line; all values are text, as readers expect."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


_encode = msgspec.json.Encoder().encode


def line_of(page: ArchivedPage, content: Content) -> bytes | None:
    """None for a 304."""
    if page.revisit == "server-not-modified":
        return None
    place = page.place
    row = CdxjRow(
        url=page.url,
        mime=REVISIT if page.revisit else content.type or "unk",
        status=str(page.status),
        digest=page.sha1,
        length=str(place.length),
        offset=str(place.offset),
        filename=place.file,
    )
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(page.fetched_ms // 1000))
    return b"%b %b %b\n" % (sort_key(page.url).encode(), stamp.encode(), _encode(row))


def merged(parts: Iterable[Path]) -> Iterator[bytes]:
    """The lines of all parts in order, which are sorted in themselves."""
    with ExitStack() as stack:
        files = [stack.enter_context(part.open("rb")) for part in parts]
        yield from heapq.merge(*(filter(_is_row, file) for file in files))


def _is_row(line: bytes) -> bool:
    return not line.startswith(b"!")
