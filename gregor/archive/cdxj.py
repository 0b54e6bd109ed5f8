"""CDXJ, the index that replay software reads: a line for each page, sorted by key and time.

    com,example)/a 20261116154100 {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …, "filename": …}

A part holds the lines of one file; parts are merged into one index. A first line that begins with "!" says what a part covers.
"""

import heapq
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.archive.content import Content
from gregor.archive.page import Page
from gregor.archive.sort_key import sort_key

REVISIT = "warc/revisit"


class Row(Struct, frozen=True):
    """The JSON of a line; all values are text, as readers expect."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Row).decode


def line_of(page: Page, content: Content) -> bytes:
    place = page.place
    row = Row(
        url=page.url,
        mime=REVISIT if page.revisit else content.type or "unk",
        status=str(page.status),
        digest=page.sha1 or "-",
        length=str(place.length),
        offset=str(place.offset),
        filename=place.file,
    )
    stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(page.fetched_ms // 1000))
    return b"%b %b %b\n" % (sort_key(page.url).encode(), stamp.encode(), _encode(row))


def merged(parts: Iterable[Path]) -> Iterator[bytes]:
    """All lines in order. Of a 304 nobody knew the digest when it was written: it is that of the URL's last page before it."""
    with ExitStack() as stack:
        files = [stack.enter_context(part.open("rb")) for part in parts]
        key = b""
        last: dict[str, str] = {}
        for line in heapq.merge(*(filter(_is_row, file) for file in files)):
            begin, _, rest = line.partition(b" ")
            if begin != key:
                key, last = begin, {}
            row = _decode(rest.partition(b" ")[2])
            if row.digest == "-" and row.url in last:
                changed = msgspec.structs.replace(row, digest=last[row.url])
                line = b"%b %b %b\n" % (begin, rest.partition(b" ")[0], _encode(changed))
            elif row.mime != REVISIT:
                last[row.url] = row.digest
            yield line


def _is_row(line: bytes) -> bool:
    return not line.startswith(b"!")
