"""Which partition of `discovered` a record goes to: that of its site's hash, its home, or the slot that the coordinator gave it.

    placement   the site has a slot                        it has none, as far as this process knows
    hash        -                                          home
    sites       the slot (cases 1 and 2 of paper 004)      home, which tells the coordinator (case 3)

A table that is older than the slot's grant sends home, which passes on what it gets: never a second owner, only a detour.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from gregor.config import Config
from gregor.runtime.transport.port import Output, Record
from gregor.url.fingerprint import Placement, server_hash
from schemas.codec import Undecodable, encode
from schemas.discovered import Discovered
from schemas.sites import Site, decode_site
from workers.extractor.site_table import UNKNOWN, SiteTable

MOST_MET: Final = 16_384
"""Servers whose slots are at hand without a look into the table."""
MOST_TOLD: Final = 65_536
"""Sites whose homes were told of them, remembered so that they are not told with every page."""


class Routing(Protocol):
    """One for a process; what it remembers of a transaction is settled by ``committed`` or ``dropped``."""

    def hear(self, rows: Sequence[Site]) -> None: ...

    def outputs(self, records: Sequence[Discovered]) -> list[Output]: ...

    def committed(self) -> None: ...

    def dropped(self) -> None: ...


def routing_of(config: Config, placement: Placement) -> Routing:
    return SiteRouting(placement) if config.partitions.placement == "sites" else HomeRouting(placement)


class HomeRouting:
    """Everything goes home."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    def hear(self, rows: Sequence[Site]) -> None:
        """Another placement's."""

    def outputs(self, records: Sequence[Discovered]) -> list[Output]:
        return [_output(one, self._placement.partition(one.server)) for one in records]

    def committed(self) -> None:
        return

    def dropped(self) -> None:
        return


class SiteRouting:
    """By the table of sites."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self.table: Final = SiteTable()
        self._met: dict[str, int] = {}
        """Slots of servers that were met lately: a site stays where it is, and most links lead to few sites."""
        self._told: set[str] = set()
        self._telling: set[str] = set()
        """Of this transaction."""

    def hear(self, rows: Sequence[Site]) -> None:
        """Only those that have a slot for certain: what waits or has no address is kept at home."""
        self.table.add({server_hash(row.site): row.slot for row in rows if row.state in ("placed", "blocked")})

    def outputs(self, records: Sequence[Discovered]) -> list[Output]:
        met = self._met
        slots = [met.get(one.server, UNKNOWN) for one in records]
        if UNKNOWN in slots:
            self._look_up(records, slots)
        return [
            _output(one, self._placement.partition(one.server) if slot == UNKNOWN else slot)
            for one, slot in zip(records, slots, strict=True)
            if one.paths or (slot == UNKNOWN and self._tells(one.server))
        ]

    def _look_up(self, records: Sequence[Discovered], slots: list[int]) -> None:
        """Puts the slots of those in that were not met lately."""
        site = self._placement.site
        unmet = [at for at, slot in enumerate(slots) if slot == UNKNOWN]
        hashes = [server_hash(site(records[at].server)) for at in unmet]
        for at, slot in zip(unmet, self.table.slots(hashes), strict=True):
            if slot != UNKNOWN:
                slots[at] = slot
                self._meet(records[at].server, slot)

    def _tells(self, server: str) -> bool:
        """Whether a record without paths is sent, which only says that there is a site: its home hears it once."""
        site = self._placement.site(server)
        if site in self._told or site in self._telling:
            return False
        self._telling.add(site)
        return True

    def _meet(self, server: str, slot: int) -> None:
        if len(self._met) >= MOST_MET:
            self._met.clear()
        self._met[server] = slot

    def committed(self) -> None:
        if len(self._told) > MOST_TOLD:
            self._told.clear()
        self._told |= self._telling
        self._telling = set()

    def dropped(self) -> None:
        self._telling = set()


def decode_row(record: Record, partitions: int) -> Site:
    """A row of `sites`, whose slot must be one of the crawl's."""
    row = decode_site(record.value)
    if row.state in ("placed", "blocked") and not 0 <= row.slot < partitions:
        raise Undecodable(f"expected a slot below {partitions}, found {row.slot}")
    return row


def _output(found: Discovered, partition: int) -> Output:
    return Output("discovered", partition, found.server.encode(), encode(found))
