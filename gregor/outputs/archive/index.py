"""The indexes of an archive, derived from what is committed and made again at any time.

    index/parts/NAME.cdxj      the lines of one file, sorted
    index/pages.cdxj           those of all files, merged
    index/pages/NAME.parquet   the rows of one file; the folder is one data set

A part is made again when its file has grown, or was cut, since; parts of files that are gone go away.
"""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from gregor.outputs.archive import cdxj
from gregor.outputs.archive.content import content_of
from gregor.outputs.archive.parquet import PageTable, has_pyarrow, page_row
from gregor.outputs.archive.reader import ArchiveReader
from gregor.outputs.archive.runs import SortedRuns
from schemas.archive import ArchiveFile
from workers.archiver.names import ENDING

FORMAT: Final = 1
MERGED: Final = "index/pages.cdxj"
PARTS: Final = "index/parts"
TABLES: Final = "index/pages"


class Covers(Struct, frozen=True, omit_defaults=True):
    """What the first line of a part says."""

    format: int
    length: int
    """Bytes of the file, as they were committed then."""
    pages: int
    parquet: bool = False


class Indexed(Struct, frozen=True):
    """What was done."""

    pages: int
    files: int
    made: int
    """Files whose part was made; the parts of the others were there."""


def build_index(archive: ArchiveReader, parquet: bool | None = None) -> Indexed:
    """Bring the indexes up to what is committed; ``parquet`` None: if pyarrow is installed."""
    if parquet is None:
        parquet = has_pyarrow()
    folder, tables = archive.folder / PARTS, archive.folder / TABLES
    for one in (folder, tables):
        one.mkdir(parents=True, exist_ok=True)
    pages = made = 0
    parts: list[Path] = []
    for file in archive.files.values():
        part = folder / f"{file.file.removesuffix(ENDING)}.cdxj"
        covers = _covers(part)
        wanted = (FORMAT, file.length)
        if covers is None or (covers.format, covers.length) != wanted or (parquet and not covers.parquet):
            covers = _make_part(archive, file, part, tables / f"{part.stem}.parquet" if parquet else None)
            made += 1
        pages += covers.pages
        parts.append(part)
    for one in (folder, tables):
        _remove_others(one, parts)
    _write(archive.folder / MERGED, cdxj.merged(parts))
    return Indexed(pages, len(parts), made)


def _make_part(archive: ArchiveReader, file: ArchiveFile, part: Path, table_path: Path | None) -> Covers:
    count = 0
    with ExitStack() as stack:
        runs = stack.enter_context(SortedRuns(part))
        table = None
        if table_path is not None:
            about = {"gregor.format": str(FORMAT), "gregor.length": str(file.length)}
            table = stack.enter_context(PageTable(table_path, about))
        for page in archive.pages_of(file):
            count += 1
            content = content_of(page)
            line = cdxj.line_of(page, content)
            if line is not None:
                runs.add(line)
            if table is not None:
                table.add(page_row(page, content))
        covers = Covers(FORMAT, file.length, count, table_path is not None)
        _write(part, chain((b"!gregor %b\n" % msgspec.json.encode(covers),), runs.merged()))
    return covers


def _covers(part: Path) -> Covers | None:
    try:
        with part.open("rb") as file:
            mark, _, covers = file.readline().partition(b" ")
        return msgspec.json.decode(covers, type=Covers) if mark == b"!gregor" else None
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _remove_others(folder: Path, parts: Iterable[Path]) -> None:
    names = {part.stem for part in parts}
    for path in folder.iterdir():
        if path.suffix in (".cdxj", ".parquet", ".new") and path.stem not in names:
            path.unlink()


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """All at once for whoever reads it."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
