"""Where the answer to each URL stands in an archive: 16 bytes of memory a URL.

A file's records are taken from a CDXJ index that is as new as the file, else from the file itself, which is then read once, at the start.
Of several answers to one URL the last one counts, and a whole one more than a revisit. Bytes that gregor's own lists of files do not call
committed are not there.
"""

import logging
from array import array
from calendar import timegm
from collections.abc import Iterator
from pathlib import Path
from time import strptime
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from gregor.errors import UsageError
from gregor.url.canonical import CanonicalRules, UrlRefusal, split
from workers.fetcher.backends.archive.warc_file import Unreadable, records
from workers.fetcher.backends.archive.web_files import warc_files

_log: Final = logging.getLogger("gregor.fetcher")

_OFFSET_BITS: Final = 44
_REVISIT: Final = "warc/revisit"


class Place(Struct, frozen=True):
    """Of a record."""

    file: Path
    offset: int


class _Row(Struct, frozen=True):
    """What counts of a CDXJ line; writers differ in whether numbers are text."""

    url: str
    filename: str
    offset: str | int
    mime: str = ""


_row = msgspec.json.Decoder(_Row).decode


class WebIndex:
    """Made at once; ``place`` for each request."""

    def __init__(self, web: Path, rules: CanonicalRules) -> None:
        self._rules = rules
        self._files = warc_files(web)
        self._hashes = array("Q")
        self._ranks = array("q")
        """Milliseconds, or as many below zero for revisits: the greatest of a URL is the one that counts."""
        self._places = array("q")
        indexed = self._from_indexes(web if web.is_dir() else web.parent)
        for number, (path, length) in enumerate(self._files.items()):
            if path not in indexed:
                self._from_file(number, path, length)
        self.hashes, self._at = self._settled()
        if not len(self.hashes):
            raise UsageError(f"expected answers in the WARC files of {web}, found none", remedy="name another archive")
        self._paths = list(self._files)

    def place(self, scheme: str, server: str, path: str) -> Place | None:
        """Of the answer to a canonical URL; None: there is none."""
        wanted = np.uint64(_hash(scheme, server, path))
        found = int(np.searchsorted(self.hashes, wanted))
        if found == len(self.hashes) or self.hashes[found] != wanted:
            return None
        number, offset = divmod(int(self._at[found]), 1 << _OFFSET_BITS)
        return Place(self._paths[number], offset)

    def _from_indexes(self, folder: Path) -> set[Path]:
        """Files that an index covers; its lines are taken."""
        numbers = {path.name: number for number, path in enumerate(self._files)}
        paths = list(self._files)
        covered: set[Path] = set()
        for index in _indexes(folder):
            fresh = {
                name
                for name, number in numbers.items()
                if paths[number] not in covered and index.stat().st_mtime >= paths[number].stat().st_mtime
            }
            bad = 0
            for line in _lines(index):
                row = _parsed(line)
                if row is None:
                    bad += 1
                elif (name := row.filename.rpartition("/")[2]) in fresh:
                    stamp = _stamp_ms(line.split(b" ", 2)[1].decode("ascii", "replace"))
                    self._add(row.url, stamp, row.mime == _REVISIT, numbers[name], int(row.offset))
                    covered.add(paths[numbers[name]])
            if bad:
                _log.warning("lines of an index are no CDXJ", extra={"index": str(index), "lines": bad})
        return covered

    def _from_file(self, number: int, path: Path, length: int) -> None:
        try:
            for record in records(path, length):
                kind, target = record.fields.get("warc-type", ""), record.fields.get("warc-target-uri", "")
                if kind in ("response", "revisit") and target:
                    stamp = _date_ms(record.fields.get("warc-date", ""))
                    self._add(target.strip("<>"), stamp, kind == "revisit", number, record.offset)
        except Unreadable as error:
            _log.warning("an archive is damaged: %s is read up to there (%s)", path, error)

    def _add(self, text: str, stamp: int, revisit: bool, number: int, offset: int) -> None:
        url = split(text, self._rules)
        if not isinstance(url, UrlRefusal) and 0 <= offset < 1 << _OFFSET_BITS:
            self._hashes.append(_hash(url.scheme, url.server, url.path))
            self._ranks.append(stamp - (1 << 60) if revisit else stamp)
            self._places.append(number << _OFFSET_BITS | offset)

    def _settled(
        self,
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        hashes = np.frombuffer(self._hashes, dtype=np.uint64) if self._hashes else np.empty(0, np.uint64)
        ranks = np.frombuffer(self._ranks, dtype=np.int64) if self._ranks else np.empty(0, np.int64)
        places = np.frombuffer(self._places, dtype=np.int64) if self._places else np.empty(0, np.int64)
        order = np.lexsort((places, ranks, hashes))
        hashes, places = hashes[order], places[order]
        last = np.append(hashes[1:] != hashes[:-1], True) if len(hashes) else np.empty(0, bool)
        del self._hashes, self._ranks, self._places
        return hashes[last], places[last]


def _indexes(folder: Path) -> list[Path]:
    """Merged ones before the parts that they are merged from."""
    return sorted(folder.rglob("*.cdxj"), key=lambda path: (len(path.parts), path))


def _lines(index: Path) -> Iterator[bytes]:
    with index.open("rb") as file:
        yield from (line for line in file if not line.startswith(b"!") and line.strip())


def _parsed(line: bytes) -> _Row | None:
    parts = line.split(b" ", 2)
    try:
        row = _row(parts[2])
        int(row.offset)
    except (IndexError, ValueError, msgspec.MsgspecError):
        return None
    return row


def _hash(scheme: str, server: str, path: str) -> int:
    return xxh3_64_intdigest(f"{scheme}://{server}{path}".encode("utf-8", "surrogatepass"))


def _stamp_ms(stamp: str) -> int:
    try:
        return timegm(strptime(stamp[:14], "%Y%m%d%H%M%S")) * 1000
    except ValueError:
        return 0


def _date_ms(date: str) -> int:
    """Of WARC-Date; only the order of two of them counts."""
    whole = _stamp_ms("".join(filter(str.isdigit, date[:19])))
    thousandths = "".join(filter(str.isdigit, date[19:]))[:3]
    return whole + int(thousandths.ljust(3, "0") or 0)
