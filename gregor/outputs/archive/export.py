"""Pages out of an archive for people who do not want to know WARC: bodies, text, or a line of JSON each.

Files are numbered, with an ending by media type. Which URL a file is of stands in ``pages.jsonl`` beside them: a URL comes from a
stranger and names no file. That list appears last: a folder without it is not all of the export.
"""

import time
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct

from gregor.outputs.archive.content import content_of, text_of
from gregor.outputs.archive.endings import ending_of
from gregor.outputs.archive.page import ArchivedPage
from gregor.outputs.archive.places import whole_file

LIST: Final = "pages.jsonl"


class Line(Struct, frozen=True, omit_defaults=True):
    """One page, as it is listed."""

    url: str
    status: int
    fetched: str
    """RFC 3339."""
    type: str = ""
    charset: str = ""
    language: str = ""
    title: str = ""
    digest: str = ""
    """SHA-1 of the body, base32."""
    depth: int = 0
    revisit: str = ""
    """Why the archive has no body of this visit; empty: it has."""
    file: str = ""
    """Of an export to files."""
    text: str = ""


def line_of(page: ArchivedPage, *, file: str = "", with_text: bool = False) -> bytes:
    content = content_of(page)
    seconds, rest = divmod(page.fetched_ms, 1000)
    line = Line(
        url=page.url,
        status=page.status,
        fetched=f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:03}Z",
        type=content.type,
        charset=content.charset,
        language=content.language,
        title=content.title,
        digest=page.sha1,
        depth=page.facts.depth,
        revisit=page.revisit,
        file=file,
        text=text_of(page) if with_text else "",
    )
    return msgspec.json.encode(line) + b"\n"


def export_lines(pages: Iterable[ArchivedPage], out: BinaryIO) -> int:
    """Every page as a line with its text."""
    count = 0
    for page in pages:
        out.write(line_of(page, with_text=True))
        count += 1
    return count


def export_bodies(pages: Iterable[ArchivedPage], folder: Path) -> int:
    return _files(((page, page.body, ending_of(content_of(page).type)) for page in pages), folder)


def export_texts(pages: Iterable[ArchivedPage], folder: Path) -> int:
    return _files(((page, text_of(page).encode("utf-8", "replace"), ".txt") for page in pages), folder)


def _files(contents: Iterator[tuple[ArchivedPage, bytes, str]], folder: Path) -> int:
    first = next(contents, None)
    if first is None:
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with whole_file(folder / LIST) as listed:
        for count, (page, data, ending) in enumerate(chain((first,), contents), 1):
            name = f"{count:08}{ending}"
            (folder / name).write_bytes(data)
            listed.write(line_of(page, file=name))
    return count
