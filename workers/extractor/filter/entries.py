"""What the filter remembers: one entry a URL, in groups of one directory of one server.

    FRESH ──claim──► PENDING ──committed──► VISITING ──fetched──► VISITED
      │                 │                       │                    │
      └──── forgotten ──┴────── dropped ────────┴──── evicted ───────┴──► GONE

An entry is worth a hit from PENDING on: until the commit only for pages of the same transaction, which share its fate.
"""

from typing import Final

from msgspec import Struct

from gregor.url.domain import registered_domain

FRESH: Final = 0
PENDING: Final = 1
VISITING: Final = 2
VISITED: Final = 3
GONE: Final = 4
REFUSED: Final = 5

GroupKey = tuple[str, str, str, int, int]
"""(scheme, server, directory, level, bits): a directory, or a part of a large one: the URLs whose hash ends in these bits."""


class DirectoryGroup(Struct, eq=False):
    """The URLs of one directory (or of one part of it) that are in memory: the paper's two lists."""

    key: GroupKey
    domain: str
    visiting: dict[str, "Entry"] = {}
    visited: dict[str, "Entry"] = {}

    @property
    def scheme(self) -> str:
        return self.key[0]

    @property
    def server(self) -> str:
        return self.key[1]

    def __len__(self) -> int:
        return len(self.visiting) + len(self.visited)

    def shrink(self) -> None:
        """Give back the memory of what left: a dictionary stays as large as it ever was, and whoever holds an entry holds its group."""
        self.visiting, self.visited = {**self.visiting}, {**self.visited}


class Target(Struct, eq=False, gc=False, kw_only=True):
    """Where a link leads. All but ``state`` belong to the page that is being read and mean nothing afterwards."""

    state: int
    mark: int = 0
    """Number of the last page that links here."""
    times: int = 0
    rel: int = 0
    kind: str = ""
    lastmod_ms: int = 0


class Entry(Target, eq=False, gc=False, kw_only=True):
    """One URL."""

    group: DirectoryGroup
    path: str
    """Path and query."""
    state: int = FRESH
    repeats: int = 0
    """How often it was met again, committed pages only."""
    heat: int = 0
    """Recent hits, halved at each turn of the clock; 0: leaves first."""
    near: bool = False
    """Whether it was sent from within the crawl's limits of distance, or fetched: the frontier did not refuse it for that."""
    stored: bool = False
    """Whether the store has it too, as it is."""


class Refused(Target, eq=False, gc=False, kw_only=True):
    """A link that leads nowhere for this crawl."""

    reason: str
    url: str
    state: int = REFUSED


class Stored(Struct, array_like=True, gc=False):
    """An entry as the store keeps it."""

    path: str
    visited: bool
    repeats: int
    near: bool


def new_group(key: GroupKey) -> DirectoryGroup:
    return DirectoryGroup(key, registered_domain(key[1]), {}, {})
