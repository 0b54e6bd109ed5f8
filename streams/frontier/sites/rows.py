"""Rows of sites: grants where this partition is the slot, pointers where it is the home, both where it is both.

A row is taken in if it is newer than the last one. Nothing moves a site: a row with another slot than the first one named is refused,
whoever wrote it, so that no site gets a second owner.
"""

from collections.abc import Sequence

from schemas.discovered import SiteRow
from streams.frontier.admit.admission import LONGEST_SERVER
from streams.frontier.partition_state import PartitionState
from streams.frontier.sites.site_record import SiteRecord
from streams.frontier.sites.sites import Sites


def take_rows(state: PartitionState, sites: Sites, rows: Sequence[SiteRow], now_ms: int) -> int:
    """Gives how many rows there were."""
    sites.prefetch([row.site for row in rows])
    for row in rows:
        if not row.site or len(row.site) > LONGEST_SERVER or "\0" in row.site:
            _refuse(state, row, "invalid", "expected the name of a site")
        elif not _is_placed_here(sites, row):
            partitions = f"slot {row.slot} of {sites.partitions}, home {sites.home(row.site)}"
            _refuse(state, row, "misplaced", f"a row with {partitions}, found in partition {sites.partition}")
        else:
            _take_row(state, sites, row, now_ms)
    return len(rows)


def _is_placed_here(sites: Sites, row: SiteRow) -> bool:
    if row.slot == sites.partition:
        return True
    given = 0 <= row.slot < sites.partitions or (row.slot == -1 and row.state != "placed")
    return given and sites.home(row.site) == sites.partition


def _take_row(state: PartitionState, sites: Sites, row: SiteRow, now_ms: int) -> None:
    known = sites.get(row.site)
    if known is not None and known.slot not in (-1, row.slot):
        _refuse(state, row, "placed-elsewhere", f"its slot is {known.slot}, found a row with slot {row.slot}")
    elif row.version > (known.version if known is not None else 0):
        was_blocked = row.site in sites.blocked
        _accept(state, sites, row, known or SiteRecord(), asked=known is not None and not known.version)
        if was_blocked != (row.site in sites.blocked):
            state.servers.repause([server.decode() for server in sites.servers_of(row.site)], now_ms)


def _accept(state: PartitionState, sites: Sites, row: SiteRow, known: SiteRecord, *, asked: bool) -> None:
    if asked:
        state.count("sites_asked", -1)
    held = known.links if known.held else 0
    known.take(row)
    if row.state == "placed" and row.slot == sites.partition and not known.owned:
        known.owned = True
        state.count("sites_owned")
    sites.put(row.site, known)
    if known.links:
        state.count("waiting_held", (known.links if known.held else 0) - held)
        (sites.work_off if row.state in ("placed", "blocked") else sites.rest)(row.site)
    if row.state == "blocked" and known.owned:
        sites.block(row.site)
    else:
        sites.unblock(row.site)


def _refuse(state: PartitionState, row: SiteRow, reason: str, detail: str) -> None:
    state.count("rows_refused")
    state.verdicts.note(row.site[:LONGEST_SERVER], "refused", reason, "", 1, detail)
