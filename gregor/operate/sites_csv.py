"""Sites as CSV, to be edited in any spreadsheet: a line for each, with a header that names the columns.

    site        its name, or its root page if that is not https
    state       placed, or approved: it may be crawled. blocked: it may not. Anything else: as it is, or as `sites.admit` says of a new one
    budget      pages of it at the most; 0: as configured; empty: as it was
    max_depth   greatest depth of its pages; likewise
    tags        separated by semicolons; empty: none
    slot, found_on, found       what the crawl says of it; nothing of them is taken in

Only `site` must be there; a column that is left out changes nothing. A file is read twice: once to see that every line is right, once to
write what it says. Memory holds a chunk of lines, and eight bytes a line to find a site that stands there twice.
"""

import csv
from array import array
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final, Literal, Protocol, TextIO

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.operate.sites import MOST, Who, checked_tags, records, site_named
from gregor.url.fingerprint import server_hash
from schemas.sites import Site
from schemas.sites_found import SiteCommand, SiteSetting

COLUMNS: Final = ("site", "state", "slot", "budget", "max_depth", "tags", "found_on", "found")
STATES: Final = ("", "found", "waiting", "placed", "approved", "blocked", "unresolvable")
AT_ONCE: Final = 10_000
"""Lines whose commands are put together."""


class SupportsWrite(Protocol):
    def write(self, text: str, /) -> object: ...


class SiteLine(Struct, frozen=True):
    """What one line says."""

    setting: SiteSetting
    state: str


class SiteFile:
    """A CSV file of sites, for one crawl; every method reads it from its beginning. UsageError names the first line that is wrong."""

    def __init__(self, file: TextIO, name: str, partition_by: Literal["server", "domain"], partitions: int) -> None:
        self._file = file
        self._name = name
        self._partition_by = partition_by
        self._partitions = partitions

    def check(self) -> int:
        """That every line can be obeyed; gives how many there are."""
        hashes = array("Q", (server_hash(one.setting.site) for _, one in self._lines()))
        ordered = np.sort(np.frombuffer(hashes, dtype=np.uint64)) if hashes else np.zeros(0, np.uint64)
        twice = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
        first: dict[str, int] = {}
        for number, one in self._lines() if twice else ():
            site = one.setting.site
            if server_hash(site) in twice and first.setdefault(site, number) != number:
                raise UsageError(f"{self._name}, line {number}: {site} stands on line {first[site]} already")
        return len(hashes)

    def commands(self, who: Who) -> Iterator[SiteCommand]:
        """What it says, in order: sites and settings, then what may be crawled and what may not."""
        lines = (one for _, one in self._lines())
        while part := list(islice(lines, AT_ONCE)):
            yield from records("add", (one.setting for one in part), who)
            for action, states in (("approve", ("placed", "approved")), ("block", ("blocked",))):
                sites = [SiteSetting(site=one.setting.site) for one in part if one.state in states]
                yield from records(action, sites, who)  # type: ignore[arg-type]

    def _lines(self) -> Iterator[tuple[int, SiteLine]]:
        self._file.seek(0)
        rows = csv.reader(self._file, strict=True)
        try:
            columns = self._header(next(rows, []))
            for cells in rows:
                if cells:
                    yield rows.line_num, self._line(cells, columns)
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{self._name}, after line {rows.line_num}: expected UTF-8, found {error.reason}"
            ) from error
        except (csv.Error, UsageError) as error:
            raise UsageError(f"{self._name}, line {rows.line_num}: {error}") from error

    def _header(self, cells: Sequence[str]) -> list[str]:
        columns = [cell.strip().lower().removeprefix("\ufeff") for cell in cells]
        unknown = next((one for one in columns if one not in COLUMNS), None)
        if "site" not in columns or unknown is not None or len(set(columns)) < len(columns):
            found = repr(unknown) if unknown is not None else ",".join(columns)[:100] or "nothing"
            raise UsageError(f"expected a header with site and any of {', '.join(COLUMNS[1:])}, found {found}")
        return columns

    def _line(self, cells: Sequence[str], columns: Sequence[str]) -> SiteLine:
        if len(cells) != len(columns):
            raise UsageError(f"expected {len(columns)} columns as in the header, found {len(cells)}")
        row = {column: cell.strip() for column, cell in zip(columns, cells, strict=True)}
        state = row.get("state", "")
        if state not in STATES:
            raise UsageError(f"expected a state among {', '.join(STATES[1:])}, found {state!r}")
        self._check_slot(row.get("slot", ""))
        setting = replace(
            site_named(row["site"], self._partition_by),
            budget=_number("budget", row.get("budget", "")),
            max_depth=_number("max_depth", row.get("max_depth", "")),
            tags=checked_tags(filter(None, map(str.strip, row["tags"].split(";")))) if "tags" in row else None,
        )
        return SiteLine(setting, state)

    def _check_slot(self, text: str) -> None:
        if text not in ("", "-1") and (_number("slot", text) or 0) >= self._partitions:
            raise UsageError(
                f"expected a slot below {self._partitions}, as many as the crawl has partitions, found {text}",
                remedy="leave the column out: the coordinator gives slots",
            )


def _number(column: str, text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST)) and int(text) <= MOST):
        raise UsageError(f"expected {column} as a number of 0 to {MOST}, found {text[:100]!r}")
    return int(text)


def write_csv(rows: Iterable[Site], file: SupportsWrite) -> int:
    """Gives how many were written."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    count = 0
    for row in rows:
        writer.writerow(_cells(row))
        count += 1
    return count


def _cells(row: Site) -> tuple[str | int, ...]:
    slot = row.slot if row.slot >= 0 else ""
    tags = ";".join(row.tags)
    return row.site, row.state, slot, row.budget, row.max_depth, tags, row.found_on, _time(row.found_ms)


def _time(ms: int) -> str:
    if not 0 < ms < 253_402_300_800_000:
        return ""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
