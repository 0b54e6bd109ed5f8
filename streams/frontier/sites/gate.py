"""Which records of ``discovered`` are admitted here, where the others go, and which sites the coordinator hears of.

    this partition owns the site                     admitted; refused while it is blocked
    it is its home, and knows the slot               forwarded to the slot
    it is its home, and does not                     kept in ``waiting``; the coordinator is told, once
    it is neither                                    forwarded home

Home judges neither scope nor limits, the slot does. Records of a site of which some wait here wait behind them.
Exact in every checkpoint: discovered = admitted + duplicates + the sum of all refused_<reason> + forwarded + waiting.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from gregor.rules.canonical import FOREIGN_SERVER
from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Record
from gregor.url.canonical import is_canonical_server
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRows
from schemas.sites_found import FoundSite
from streams.frontier.admit.admission import LONGEST_SERVER, admit, refuse
from streams.frontier.partition_state import PartitionState
from streams.frontier.sites import forwarding
from streams.frontier.sites.rows import take_rows
from streams.frontier.sites.site_record import SiteRecord
from streams.frontier.sites.sites import Sites

LARGEST_KEPT: Final = 4 * 1024 * 1024
"""Bytes of one record that waits: a larger one becomes several, so that each fits into a record of the changelog beside others."""
LONGEST_REFERRER: Final = 1000


def take_in(state: PartitionState, sites: Sites, batch: Sequence[Received], now_ms: int) -> int:
    """Decide records of ``discovered`` in their order; gives how many URLs and rows were."""
    site_of = sites.site_of
    sites.prefetch([site_of(one.value.server) for one in batch if isinstance(one.value, Discovered)])
    decided = 0
    wanted: list[Discovered] = []
    for one in batch:
        found = one.value
        if isinstance(found, SiteRows):
            # What came before a row is decided before it.
            decided += admit(state, wanted, now_ms) + take_rows(state, sites, found.sites, now_ms)
            wanted = []
            continue
        known = sites.get(site_of(found.server))
        if known is not None and known.admits:
            wanted.append(found)
        else:
            decided += _elsewhere(state, sites, one.record, found, known)
    return decided + admit(state, wanted, now_ms)


def _elsewhere(state: PartitionState, sites: Sites, record: Record, found: Discovered, known: SiteRecord | None) -> int:
    """A record that is not admitted here, or not now; gives how many URLs were decided."""
    if not found.server or len(found.server) > LONGEST_SERVER or "\0" in found.server:
        return refuse(state, found, FOREIGN_SERVER.reason, found.referrer)
    site = sites.site_of(found.server)
    home = sites.home(site)
    if home != sites.partition and (known is None or not known.owned):
        return _forward(state, sites, record, found, home)
    if known is None:
        if not is_canonical_server(found.scheme, found.server):
            return refuse(state, found, FOREIGN_SERVER.reason, found.referrer)
        known = _tell(state, sites, site, found)
    if known.state == "blocked":
        return refuse(state, found, "blocked", "its site is blocked")
    if known.state == "placed" and not known.links:
        return _forward(state, sites, record, found, known.slot)
    return _keep(state, sites, site, known, record, found)


def _forward(state: PartitionState, sites: Sites, record: Record, found: Discovered, partition: int) -> int:
    times = forwarding.times_forwarded(record.header)
    if times >= forwarding.MOST:
        return refuse(state, found, "misplaced", f"forwarded {times} times, last to partition {sites.partition}")
    state.count("discovered", len(found.paths))
    state.count("forwarded", len(found.paths))
    sites.outputs.append(forwarding.forward(partition, found.server, record.value or b"", times))
    return len(found.paths)


def _tell(state: PartitionState, sites: Sites, site: str, found: Discovered) -> SiteRecord:
    """The first record of a site: the coordinator hears of it with this checkpoint."""
    sites.told.append(
        FoundSite(
            site=site,
            server="" if found.server == site else found.server,
            scheme=found.scheme,
            hops=found.hops,
            off_site=found.off_site,
            seed=found.seed,
            found_on=found.referrer[:LONGEST_REFERRER],
            found_ms=found.found_ms,
        )
    )
    known = SiteRecord()
    sites.put(site, known)
    state.count("sites_asked")
    return known


def _keep(state: PartitionState, sites: Sites, site: str, known: SiteRecord, record: Record, found: Discovered) -> int:
    """Until its site has a slot. Of a site that may wait for ever only so many links do; the others are refused."""
    decided = len(found.paths)
    room = max(0, sites.most_held - known.links) if known.held else decided
    if room < decided:
        refuse(
            state, _part(found, room, decided), "waiting", f"its site is {known.state}, and sites.waiting_links wait"
        )
        found = _part(found, 0, room)
    value = record.value if room >= decided else None
    for part in _pieces(found, value or b""):
        links = len(part.paths)
        state.count("discovered", links)
        state.count("waiting", links)
        if known.held:
            state.count("waiting_held", links)
        sites.keep(site, known, value if part is found and value else encode(part), links)
    return decided


def _pieces(found: Discovered, value: bytes) -> Iterator[Discovered]:
    """Parts that are small enough, in order; mostly the record itself."""
    if not found.paths:
        return
    if len(value or encode(found)) <= LARGEST_KEPT or len(found.paths) == 1:
        yield found
        return
    middle = len(found.paths) // 2
    yield from _pieces(_part(found, 0, middle), b"")
    yield from _pieces(_part(found, middle, len(found.paths)), b"")


def _part(found: Discovered, first: int, end: int) -> Discovered:
    return replace(
        found,
        paths=found.paths[first:end],
        flags=found.flags[first:end],
        counts=found.counts[first:end],
        lastmods_ms=found.lastmods_ms[first:end],
    )
