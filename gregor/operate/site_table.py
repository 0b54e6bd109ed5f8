"""Sites as topic ``sites`` tells them: of each the last row, as compaction leaves it, whatever older ones are still in the log.

Everything is read a record at a time. A few sites are kept in memory, all of them go through a sort on disk. A row without a slot is
the coordinator's word that a row which somebody else wrote is void.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.run.placement import placement_of
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.transport.port import LogReader, Record
from schemas.codec import Undecodable
from schemas.sites import Site, decode_site
from schemas.sites_found import SitesFound, decode_site_note

TOPIC: Final = "sites"
FOUND: Final = "sites-found"
_TABLE: Final = b"S"


class Whereabouts(Struct, frozen=True, kw_only=True):
    """Which partitions have what of a server."""

    site: str
    home: int
    """By its hash: what is fetched of it, and where its links go while it has no slot."""
    slot: int
    """The partition of the frontier that has it; by hash that is its home."""
    row: Site | None = None
    """What ``sites`` says; None: nothing, or nobody places sites."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """Where to ask, one after the other."""
        return (self.home,) if self.slot == self.home else (self.home, self.slot)


def whereabouts(reader: LogReader, config: Config, server: str) -> Whereabouts:
    """Home, then slot; one that no row tells of, or that was not placed yet, is at home alone."""
    placement = placement_of(config)
    home, site = placement.partition(server), placement.site(server)
    if config.partitions.placement == "hash":
        return Whereabouts(site=site, home=home, slot=home)
    row = rows_of(reader, [site]).get(site)
    slot = row.slot if row is not None and 0 <= row.slot < config.partitions.partitions else home
    return Whereabouts(site=site, home=home, slot=slot, row=row)


def rows_of(reader: LogReader, sites: Collection[str]) -> dict[str, Site]:
    """The rows of these, as far as there are any."""
    wanted = {site.encode() for site in sites}
    found: dict[str, Site] = {}
    for record in _records(reader, TOPIC):
        row = _row(record) if record.key in wanted else None
        if row is not None:
            found[row.site] = row
    return {site: row for site, row in found.items() if row.slot >= 0}


def told_of(reader: LogReader, sites: Collection[str]) -> set[str]:
    """Those of them that the coordinator was told of, by a home or by somebody: it may not have answered yet."""
    wanted, told = set(sites), set[str]()
    for record in _records(reader, FOUND):
        if told == wanted:
            break
        try:
            note = decode_site_note(record.value)
        except Undecodable:
            continue
        if isinstance(note, SitesFound) or note.action == "add":
            told.update(one.site for one in note.sites if one.site in wanted)
    return told


class SiteTable:
    """Every site, sorted by name; ``close`` lets the disk go."""

    def __init__(self, reader: LogReader, folder: Path | None = None) -> None:
        self._sorter = ExternalSort(folder)
        self.unreadable = 0
        """Records that are no rows."""
        for record in _records(reader, TOPIC):
            row = _row(record)
            if row is None:
                self.unreadable += 1
            else:
                self._sorter.put(_TABLE + row.site.encode("utf-8", "surrogatepass"), record.value or b"")

    def rows(self) -> Iterator[Site]:
        for _, value in self._sorter.entries(_TABLE):
            row = decode_site(value)
            if row.slot >= 0:
                yield row

    def close(self) -> None:
        self._sorter.close()

    def __enter__(self) -> "SiteTable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _records(reader: LogReader, topic: str) -> Iterator[Record]:
    for partition, (first, end) in reader.ends(topic).items():
        if first < end:
            yield from reader.read(topic, partition, first, end)


def _row(record: Record) -> Site | None:
    """None: it is none, or not that of its key."""
    try:
        row = decode_site(record.value)
    except Undecodable:
        return None
    return row if row.site.encode("utf-8", "surrogatepass") == record.key else None
