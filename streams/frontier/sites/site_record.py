"""What a partition knows of one site, and how the family ``sites`` keeps it.

    key    | "s" | site |                     value  MessagePack of SiteRecord
    key    | "w" | site |                     value  empty: its waiting links are being worked off
    key    | "b" | site |                     value  empty: it is owned and blocked
    key    | "m" | site | 00 | server |       value  empty: a server of it that got a URL, where sites are registered domains

The small entries are there so that a partition which is opened finds its work without walking through all sites.
"""

from typing import Final

import msgspec
from msgspec import Struct

from schemas.discovered import SiteRow
from schemas.sites import SiteState

KNOWN: Final = b"s"
WORKED_OFF: Final = b"w"
BLOCKED: Final = b"b"
MEMBER: Final = b"m"

HELD: Final = frozenset(("waiting", "unresolvable"))
"""States of a site that was answered, and whose links stay where they are for an unknown time."""


class SiteRecord(Struct, array_like=True, gc=False):
    """Of a site that was asked for, points to its slot, or is owned."""

    version: int = 0
    """Of the row that was taken in last; 0: the coordinator was told of it and has not answered."""
    slot: int = -1
    """The partition that has it; -1: not known."""
    state: SiteState = "found"
    owned: bool = False
    """Whether this partition is its slot, and a grant was taken in."""
    budget: int = 0
    """Pages of it at the most; 0: what the configuration says."""
    max_depth: int = 0
    """0: what the configuration says."""
    first: int = 0
    """Number of the first record of it that waits here."""
    following: int = 0
    """Number of the next one that will."""
    links: int = 0
    """In the records that wait here."""

    @property
    def admits(self) -> bool:
        """Whether its links are admitted here and now; behind those that wait they wait as well."""
        return self.owned and self.state == "placed" and not self.links

    @property
    def held(self) -> bool:
        return self.state in HELD

    def take(self, row: SiteRow) -> None:
        self.version, self.slot, self.state = row.version, row.slot, row.state
        self.budget, self.max_depth = max(0, row.budget), max(0, row.max_depth)


encode_site = msgspec.msgpack.Encoder().encode
decode_site_record = msgspec.msgpack.Decoder(SiteRecord).decode
