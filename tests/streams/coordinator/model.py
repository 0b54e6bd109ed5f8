"""The coordinator as a dictionary: naive, in memory, without batches."""

from collections import Counter
from copy import deepcopy

from msgspec.structs import replace

from gregor.config import Config
from schemas.sites import Site, SiteState
from schemas.sites_found import FoundSite, SiteCommand, SitesFound


class Model:
    """``rows`` is what the registry must be; the rest is what it is made from."""

    def __init__(self, config: Config, resolves: bool) -> None:
        self._config = config
        self._resolves = resolves
        self.rows: dict[str, Site] = {}
        self.placed_once: set[str] = set()
        self.loads = dict.fromkeys(range(config.partitions.partitions), 0)
        self.given = dict.fromkeys(range(config.partitions.partitions), 0)
        self.slots = config.sites.slots

    def copy(self) -> "Model":
        return deepcopy(self)

    def found(self, note: SitesFound) -> None:
        self.loads[note.home], self.given[note.home] = note.load, 0
        each = self._each()
        for one in note.sites:
            self._arrive(one, each)

    def _each(self) -> int:
        """What a site counts for, as it was before the first of a record's."""
        mean = sum(self.loads.values()) // max(1, len(self.rows))
        each = 1
        while each <= mean:
            each *= 2
        return each

    def _arrive(self, one: FoundSite, each: int, by: str = "") -> None:
        if one.site in self.rows:
            return
        rank = len(self.rows)
        slots = self.slots or self._config.partitions.partitions
        if self._config.sites.assign == "round-robin":
            slot = rank % slots
        else:
            slot = min(range(slots), key=lambda at: (self.loads[at] + each * self.given[at], at))
        self.given[slot] += 1
        state: SiteState = "waiting" if self._config.sites.admit == "approved" else self._admitted(one.site)
        self.rows[one.site] = Site(
            site=one.site,
            slot=slot,
            state=state,
            rank=rank,
            found_ms=one.found_ms,
            found_on=one.found_on,
            changed_ms=one.found_ms,
            by=by,
        )
        self._note(one.site)

    def _admitted(self, site: str) -> SiteState:
        return "found" if self._resolves and not site[0].isdigit() else "placed"

    def _note(self, site: str) -> None:
        if self.rows[site].state == "placed":
            self.placed_once.add(site)

    def command(self, command: SiteCommand) -> None:
        if command.action == "slots":
            if 0 <= command.slots <= self._config.partitions.partitions:
                self.slots = command.slots
            return
        if command.action == "add":
            each = self._each()
            for setting in command.sites:
                told = FoundSite(site=setting.site, scheme=setting.scheme, found_ms=command.at_ms)
                self._arrive(told, each, command.by)
        for setting in command.sites:
            row = self.rows.get(setting.site)
            if row is None:
                continue
            state = row.state
            if command.action == "block":
                state = "blocked"
            elif command.action == "approve" and state not in ("placed", "found"):
                state = "placed" if row.site in self.placed_once else self._admitted(row.site)
            settled = replace(
                row,
                state=state,
                budget=row.budget if setting.budget is None else setting.budget,
                tags=row.tags if setting.tags is None else tuple(sorted(set(setting.tags))),
            )
            if settled != row:
                detail = command.detail if state != row.state else row.detail
                self.rows[row.site] = replace(
                    settled, version=row.version + 1, changed_ms=command.at_ms, by=command.by, detail=detail
                )
                self._note(row.site)

    def answer(self, site: str, failure: str, now_ms: int) -> None:
        row = self.rows[site]
        state: SiteState = "unresolvable" if failure else "placed"
        if row.state in ("found", "unresolvable") and row.state != state:
            self.rows[site] = replace(row, state=state, version=row.version + 1, changed_ms=now_ms, detail=failure)
            self._note(site)

    def counters(self) -> dict[str, int]:
        counts = Counter(f"sites_{row.state}" for row in self.rows.values())
        return {"sites_known": len(self.rows), **counts}
