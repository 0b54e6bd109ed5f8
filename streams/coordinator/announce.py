"""What others are told at a checkpoint: rows into topic `sites`, grants and pointers into the partitions that they concern, root pages.

All of it goes out with the commit that changes the registry. In a slot's partition grants stand before root pages, which it would
otherwise send to their homes. Rows of one partition make few records, whatever their number.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRow, SiteRows
from schemas.sites import Site
from schemas.sites_found import FoundSite
from streams.coordinator.registry import Origin

ROWS_KEY: Final = b"sites"
RECORD_ROWS: Final = 4_000
"""Rows of one record: with the longest names it is below what a broker refuses by half."""
ROOT: Final = ("/",)
BYTES: Final = 400
"""Of all that is written about a site, about; a checkpoint's size is reckoned by it."""


class Announcements:
    """Since the last checkpoint."""

    def __init__(self, root_page: bool) -> None:
        self._root_page = root_page
        self.clear()

    def clear(self) -> None:
        self._rows: defaultdict[int, list[SiteRow]] = defaultdict(list)
        self._roots: list[Output] = []

    def row(self, row: Site, home: int, to_slot: bool) -> None:
        """A pointer, and a grant where the slot has the site."""
        told = _told(row)
        self._rows[home].append(told)
        if to_slot and row.slot != home:
            self._rows[row.slot].append(told)

    def placed(self, rows: Sequence[Site], homes: Sequence[int], found: Sequence[FoundSite]) -> None:
        """New sites that wait for nothing, with their first links: all of it for many at once."""
        of = self._rows
        for row, home in zip(rows, homes, strict=True):
            told = SiteRow(site=row.site, slot=row.slot)
            of[home].append(told)
            if row.slot != home:
                of[row.slot].append(told)
        if self._root_page:
            self._roots += [
                Output(
                    "discovered",
                    row.slot,
                    (one.server or one.site).encode(),
                    encode(
                        Discovered(
                            server=one.server or one.site,
                            paths=ROOT,
                            scheme=one.scheme,
                            hops=one.hops,
                            off_site=one.off_site,
                            seed=one.seed,
                            internal=not one.off_site,
                            referrer=row.found_on,
                            found_ms=one.found_ms,
                        )
                    ),
                )
                for row, one in zip(rows, found, strict=True)
            ]

    def root(self, row: Site, origin: Origin) -> None:
        """The root page of a site that is placed for the first time; no link to it need have been met."""
        if not self._root_page:
            return
        found = Discovered(
            server=origin.server,
            paths=ROOT,
            scheme=origin.scheme,
            hops=origin.hops,
            off_site=origin.off_site,
            seed=origin.seed,
            internal=not origin.off_site,
            referrer=row.found_on,
            found_ms=row.found_ms,
        )
        self._roots.append(Output("discovered", row.slot, origin.server.encode(), encode(found)))

    def outputs(self, keys: Sequence[bytes], values: Sequence[bytes]) -> list[Output]:
        """``keys`` and ``values``: the rows that have changed, as the registry has them."""
        rows = [Output("sites", 0, key, value) for key, value in zip(keys, values, strict=True)]
        return [*rows, *self._grants(), *self._roots]

    def _grants(self) -> Iterator[Output]:
        for partition, rows in sorted(self._rows.items()):
            for at in range(0, len(rows), RECORD_ROWS):
                part = SiteRows(sites=tuple(rows[at : at + RECORD_ROWS]))
                yield Output("discovered", partition, ROWS_KEY, encode(part))


def _told(row: Site) -> SiteRow:
    return SiteRow(
        site=row.site,
        slot=row.slot,
        state=row.state,
        version=row.version,
        budget=row.budget,
        max_depth=row.max_depth,
    )
