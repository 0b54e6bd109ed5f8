"""The registry for tools: read only, from the coordinator's state where it is on this machine, from topic `sites` where it is not.

Both say the same of sites: a commit writes both. Only the state knows how many slots somebody chose, and who is waited for.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import LogReader
from schemas.codec import Undecodable
from schemas.sites import Site, SiteState, decode_site
from streams.coordinator.facts import NOT_SAID, facts_of
from streams.coordinator.families import PENDING, REGISTRY
from streams.coordinator.registry import read_row
from streams.coordinator.resolutions import due_of
from streams.coordinator.stage import SPEC

TOPIC: Final = "sites"

Counts = Counter[tuple[SiteState, int]]
"""How many sites are in a state and in a slot."""


class SiteFilter(Struct, frozen=True, kw_only=True):
    """Which sites are wanted; what is left alone does not matter."""

    state: SiteState | None = None
    tag: str = ""
    slot: int | None = None
    beginning: str = ""
    """How the site's name begins."""

    def wants(self, row: Site) -> bool:
        return (
            (self.state is None or row.state == self.state)
            and (not self.tag or self.tag in row.tags)
            and (self.slot is None or row.slot == self.slot)
            and row.site.startswith(self.beginning)
        )


EVERY: Final = SiteFilter()


class Sites(Protocol):
    """The registry at one moment."""

    def row(self, site: str) -> Site | None: ...

    def rows(self, wanted: SiteFilter = EVERY, after: str = "") -> Iterator[Site]:
        """In the order of their names, those behind ``after``."""
        ...

    def counts(self) -> Counts: ...

    def slots(self) -> int | None:
        """What `gregor sites slots` said last, 0: all; None: nothing was said, or it is not known here."""
        ...


class StateSites:
    """From the coordinator's own state."""

    def __init__(self, state: StateReader) -> None:
        self._state = state

    def row(self, site: str) -> Site | None:
        value = self._state.get(REGISTRY, site.encode("utf-8", "replace"))
        return None if value is None else read_row(site, value)

    def rows(self, wanted: SiteFilter = EVERY, after: str = "") -> Iterator[Site]:
        begin = max(after.encode() + b"\0" if after else b"", wanted.beginning.encode())
        for key, value in self._state.scan(REGISTRY, begin):
            if not key.startswith(wanted.beginning.encode()):
                return
            row = read_row(key.decode(), value)
            if wanted.wants(row):
                yield row

    def counts(self) -> Counts:
        return Counter((row.state, row.slot) for row in self.rows())

    def slots(self) -> int | None:
        said = facts_of(self._state).slots
        return None if said == NOT_SAID else said

    def next_question_ms(self) -> int | None:
        """When the first name is due to be asked for, below a second since 1970: at once; None: none waits."""
        first = next(iter(self._state.scan(PENDING)), None)
        return None if first is None else due_of(first[0])


class TopicSites:
    """From the topic alone, read whole: the last row of each site counts."""

    def __init__(self, log: LogReader) -> None:
        self._values: dict[str, bytes] = {}
        self.unreadable = 0
        first, end = log.ends(TOPIC)[0]
        for record in log.read(TOPIC, 0, first, end):
            try:
                row = decode_site(record.value)
            except Undecodable:
                self.unreadable += 1
                continue
            if row.slot < 0:
                # It stands in place of a row that somebody else had written.
                self._values.pop(row.site, None)
            else:
                self._values[row.site] = record.value or b""

    def row(self, site: str) -> Site | None:
        value = self._values.get(site)
        return None if value is None else decode_site(value)

    def rows(self, wanted: SiteFilter = EVERY, after: str = "") -> Iterator[Site]:
        for site in sorted(self._values):
            if site > after and wanted.wants(row := decode_site(self._values[site])):
                yield row

    def counts(self) -> Counts:
        return Counter((row.state, row.slot) for row in self.rows())

    def slots(self) -> int | None:
        return None


def sites_of(log: LogReader) -> Sites:
    """From whichever is here."""
    state = log.state(SPEC, 0)
    return TopicSites(log) if state is None else StateSites(state)
