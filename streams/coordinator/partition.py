"""The one partition of `sites-found` with its state: every decision about sites, gathered until a checkpoint commits it.

Decisions are functions of the state, the records and the answers of name servers; the time comes in from outside. Times in rows are those
of the records, so that a replay gives the same rows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from gregor.config import Config
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Output
from gregor.url.canonical import MAX_LENGTH
from gregor.url.literal import literal_in
from schemas.sites import Site, SiteState
from schemas.sites_found import FoundSite, SitesFound
from streams.coordinator.announce import Announcements
from streams.coordinator.assignment import ASSIGNMENTS
from streams.coordinator.deltas import pack_operations
from streams.coordinator.facts import Facts
from streams.coordinator.families import FACTS, PENDING
from streams.coordinator.life import RESOLVING, on_address, on_arrival, on_no_address
from streams.coordinator.name_lookup import Answer, NameLookup
from streams.coordinator.names import is_ours, is_plain
from streams.coordinator.registry import U64, Origin, Registry, hashes_of
from streams.coordinator.resolutions import LATEST, Resolutions
from streams.coordinator.verdicts import Verdicts

HOUR_MS: Final = 3600 * 1000
COUNTED: Final[dict[SiteState, str]] = {
    "found": "sites_found",
    "waiting": "sites_waiting",
    "placed": "sites_placed",
    "blocked": "sites_blocked",
    "unresolvable": "sites_unresolvable",
}
"""State to the counter of the sites that are in it."""


def _never(site: str) -> bool:
    return False


class CoordinatorPartition:
    """From its assignment on. Everything since ``committed`` or ``dropped`` is pending."""

    def __init__(self, state: StateReader, config: Config, counters: dict[str, int], lookup: NameLookup | None) -> None:
        """``lookup`` None: no name is resolved."""
        layout = config.partitions
        self._repositories, self.partitions = np.uint64(layout.repositories), layout.partitions
        self.by_domain = layout.partition_by == "domain"
        self._approval = config.sites.admit == "approved"
        self._again_ms = int(config.sites.resolve_again_hours * HOUR_MS)
        self._lookup = lookup
        self._waits = self._approval or lookup is not None
        """Whether a new site may have to wait for anything but its slot."""
        self.registry = Registry(state)
        self.facts = Facts(state, layout.partitions, config.sites.slots)
        self._assignment = ASSIGNMENTS[config.sites.assign](self.facts)
        self._resolutions = Resolutions(state, config.sites.resolve_at_once)
        self._announcements = Announcements(config.sites.root_page)
        self.verdicts = Verdicts(config)
        self.counters = counters
        self._committed_counters = dict(counters)

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def homes_of(self, hashes: U64) -> list[int]:
        """As gregor.url.fingerprint places servers."""
        homes = hashes % self._repositories * np.uint64(self.partitions) // self._repositories
        found: list[int] = homes.tolist()
        return found

    def found(self, notes: Sequence[SitesFound], now_ms: int) -> int:
        """Sites that homes met for the first time, and what they say of their load. Returns how many were told."""
        sites: list[FoundSite] = []
        told: list[tuple[int, SitesFound]] = []
        plain = _never if self.by_domain else is_plain
        for note in notes:
            if not 0 <= note.home < self.partitions:
                detail = f"expected a home below {self.partitions}, found {note.home}; its {len(note.sites)} sites are left out"
                self.verdicts.note(note.sites[0].site if note.sites else "", "refused", "unknown-home", detail, now_ms)
                continue
            ours = [one for one in note.sites if (not one.server and plain(one.site)) or is_ours(one, self.by_domain)]
            if len(ours) < len(note.sites):
                self._refuse([one.site for one in note.sites if not is_ours(one, self.by_domain)], now_ms)
            told.append((len(ours), note))
            sites += ours
        self.arrive(sites, told)
        return len(sites)

    def _refuse(self, sites: Iterable[str], now_ms: int) -> None:
        for site in sites:
            self.verdicts.note(
                site, "refused", "invalid-site", "expected a site as `partitions.partition_by` has them", now_ms
            )

    def arrive(self, sites: Sequence[FoundSite], told: Sequence[tuple[int, SitesFound | None]], by: str = "") -> None:
        """Sites in the order in which they were told, in parts: each of the size given, after a home's load if one told it. Known ones
        are told to their homes again: whoever asks has forgotten."""
        names = [one.site for one in sites]
        hashes = hashes_of(names)
        homes = self.homes_of(hashes)
        new = self.registry.new_among(names, hashes) if names else []
        again = [site for site, is_new in zip(names, new, strict=True) if not is_new]
        rows = self.registry.rows(again) if again else {}
        arriving = set()
        if len(rows) < len(again):
            # Repeated within this batch, or one whose hash is another's: the registry alone says who is known.
            arriving = {site for site in again if site not in rows}
            arriving.difference_update(site for site, is_new in zip(names, new, strict=True) if is_new)
        at = 0
        for count, note in told:
            if note is not None:
                self.facts.told(note.home, note.load)
            part = range(at, at + count)
            fresh = [index for index in part if new[index]]
            if arriving:
                fresh = sorted({*fresh, *self._unknown(part, names, arriving)})
            self._admit([sites[index] for index in fresh], [homes[index] for index in fresh], by)
            at += count
        self._repeat(rows, dict(zip(names, homes, strict=True)))

    @staticmethod
    def _unknown(part: range, names: Sequence[str], arriving: set[str]) -> Iterator[int]:
        """First places of sites that the engine took for known and the registry does not have."""
        for index in part:
            if names[index] in arriving:
                arriving.discard(names[index])
                yield index

    def _repeat(self, rows: dict[str, Site], homes: dict[str, int]) -> None:
        for site, row in rows.items():
            if row.state != "found":
                self._announcements.row(row, homes[site], to_slot=False)

    def _admit(self, sites: Sequence[FoundSite], homes: Sequence[int], by: str) -> None:
        """New sites: rank, slot, state, and what follows from it."""
        if not sites:
            return
        first = self.facts.ranks
        slots = self._assignment.give(len(sites))
        states: list[SiteState] = ["placed"] * len(sites)
        if self._waits:
            states = [self._state_of_new(one) for one in sites]
        rows = [
            Site(
                site=one.site,
                slot=slot,
                state=state,
                rank=rank,
                found_ms=one.found_ms,
                found_on=one.found_on[:MAX_LENGTH],
                changed_ms=one.found_ms,
                by=by,
            )
            for rank, (one, slot, state) in enumerate(zip(sites, slots, states, strict=True), first)
        ]
        self.registry.put(rows)
        self.count("sites_known", len(rows))
        for state, there in Counter(states).items():
            self.count(COUNTED[state], there)
        if self._waits:
            for row, home, one in zip(rows, homes, sites, strict=True):
                self._announce_new(row, home, one)
        else:
            self._announcements.placed(rows, homes, sites)

    def _state_of_new(self, one: FoundSite) -> SiteState:
        return on_arrival(approval=self._approval, needs_address=self.needs_address(one.server or one.site))

    def _announce_new(self, row: Site, home: int, found: FoundSite) -> None:
        if row.state == "placed":
            self._announcements.placed([row], [home], [found])
            return
        origin = Origin(found.server or found.site, found.scheme, found.hops, found.off_site, found.seed)
        self.registry.put_origins({row.site: origin})
        if row.state == "found":
            self._resolve(row)
        else:
            self._announcements.row(row, home, to_slot=False)

    def needs_address(self, server: str) -> bool:
        return self._lookup is not None and (is_plain(server) or not literal_in(server))

    def _resolve(self, row: Site) -> None:
        # A rank is a time long past: the name is due at once, whatever clocks say, and names are asked for in the order of arrival.
        self._resolutions.add(row.rank, row.site)

    def change(self, before: Site, after: Site, origin: Origin | None) -> None:
        """A known site becomes another. ``origin``: None for one that was placed before."""
        placed_now = after.state == "placed" and origin is not None
        self.registry.put([after])
        if before.state != after.state:
            self.count(COUNTED[before.state], -1)
            self.count(COUNTED[after.state])
            if after.state == "found":
                self._resolve(after)
        if placed_now:
            self.registry.put_origins({after.site: None})
        if (before.state, after.state) != ("found", "found"):
            # Also of one that is resolved after somebody approved it: its home would refuse or bound its links until then.
            home = self.homes_of(hashes_of([after.site]))[0]
            self._announcements.row(after, home, to_slot=placed_now or origin is None)
        if placed_now and origin is not None:
            self._announcements.root(after, origin)

    def tick(self, now_ms: int) -> int:
        """Take the answers of name servers, ask for more. Returns how many sites were decided."""
        if self._lookup is None:
            # Who still waits for an address began to when names were resolved.
            return sum(self._decide(Answer(key, site), now_ms) for key, site in self._resolutions.due(LATEST))
        decided = sum(self._decide(answer, now_ms) for answer in self._lookup.answers())
        due = self._resolutions.due(now_ms)
        if due:
            sites = [site for _, site in due]
            rows, origins = self.registry.rows(sites), self.registry.origins(sites)
            for key, site in due:
                if site in rows and site in origins and rows[site].state in RESOLVING:
                    self._lookup.ask(key, site, tuple(dict.fromkeys((origins[site].server, site))))
                else:
                    # It was blocked meanwhile, or placed by another entry.
                    decided += self._resolutions.take(Answer(key, site))
        return decided

    def _decide(self, answer: Answer, now_ms: int) -> int:
        if not self._resolutions.take(answer):
            return 0
        row = self.registry.rows([answer.site]).get(answer.site)
        origin = self.registry.origins([answer.site]).get(answer.site)
        if row is None or origin is None or row.state not in RESOLVING:
            return 1
        state = on_no_address(row.state) if answer.failure else on_address(row.state)
        if answer.failure:
            self._resolutions.add(now_ms + self._again_ms, row.site)
        if state != row.state:
            detail = answer.failure[:500]
            self.change(
                row, replace(row, state=state, version=row.version + 1, changed_ms=now_ms, detail=detail), origin
            )
            if answer.failure:
                self.verdicts.note(row.site, "delayed", "unresolvable", detail, now_ms)
        return 1

    def next_due_ms(self, now_ms: int) -> int | None:
        due = self._resolutions.next_due_ms(now_ms)
        return now_ms if self._lookup is None and due is not None else due

    def outputs(self) -> list[Output]:
        return [*self._announcements.outputs(*self.registry.encoded()), *self.verdicts.outputs()]

    def mutations(self) -> list[Mutation]:
        return [
            *self.registry.mutations(),
            *pack_operations(PENDING, list(self._resolutions.operations())),
            *pack_operations(FACTS, list(self.facts.operations())),
        ]

    def committed(self) -> None:
        self.registry.committed()
        self.facts.committed()
        self._resolutions.committed()
        self._committed_counters = dict(self.counters)
        self._settle()

    def dropped(self) -> None:
        self.registry.dropped()
        self.facts.dropped()
        self._resolutions.dropped()
        self.counters = dict(self._committed_counters)
        self._settle()

    def _settle(self) -> None:
        self._announcements.clear()
        self.verdicts.clear()
