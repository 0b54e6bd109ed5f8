"""The one door into a frontier's state for those who only look: explain, audit, status and the command line.

A partition's state is read without disturbing whoever owns it, each question in a bounded number of steps. What the bytes mean stays
behind this door, so that a change of the layout is a change of this folder alone.
"""

from collections.abc import Iterator
from itertools import islice
from struct import Struct as Layout
from typing import Final, Literal

import numpy as np
from msgspec import Struct

from gregor.config import Config
from gregor.runtime.state.store import StateReader
from gregor.url.canonical import Url
from gregor.url.fingerprint import fingerprint, server_hash
from schemas.discovered import decode_discovered
from schemas.sites import SiteState
from streams.frontier.admit import traps
from streams.frontier.dispatch.leases import Lease, decode_lease, orders_out
from streams.frontier.dispatch.robots import RobotsCache
from streams.frontier.partition_state import read_facts
from streams.frontier.settle.timers import RETRY, TimerQueue, decode_waiting
from streams.frontier.sites.forwarding import times_forwarded
from streams.frontier.sites.site_record import KNOWN, SiteRecord, decode_site_record
from streams.frontier.storage.families import DOMAINS, LEASES, QUEUE, REVISIT, SERVERS, SITES, WAITING
from streams.frontier.storage.queue_codec import Scheme, path_of, scheme_of
from streams.frontier.storage.server import IN_SCOPE, LiveServer, ServerRecord, decode_server
from streams.frontier.storage.uniqueness.engine import UniquenessEngine
from streams.frontier.storage.uniqueness.facts import COUNT_UNIT, Facts, UrlState

__all__ = [
    "Life",
    "PartitionCounts",
    "PartitionView",
    "RobotsAnswer",
    "SiteStanding",
    "UrlStanding",
    "path_trap",
    "times_forwarded",
]

LOOKED_AT: Final = 200_000
"""Entries of a queue, or URLs that wait for a time, before the search is given up."""
_URL: Final = Layout(">QQ")
_DUE: Final = Layout(">Q")

Life = Literal["unknown", "waiting", "fetched", "failed", "refused"]
"""Where a URL is. Whether it is queued, ordered or waits for its next attempt depends on the clock: it waits."""

LIVES: Final[dict[int, Life]] = {
    UrlState.WAITING: "waiting",
    UrlState.FETCHED: "fetched",
    UrlState.FAILED: "failed",
    UrlState.REFUSED: "refused",
}


class UrlStanding(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What the state holds of a URL and its server, as of its last checkpoint."""

    life: Life
    depth: int = 0
    priority: int = 0
    found_again: int = 0
    """Discoveries after the first, while it waited; rounded at random to multiples of 8."""
    ahead: int = -1
    """URLs of its server before it in the queue; -1: it is not in the queue, or further back than was looked."""
    lease: str = ""
    returns_ms: int = 0
    """When its order comes back if nobody answers it."""
    retry_ms: int = 0
    revisit_ms: int = 0
    visited_ms: int = 0
    queued: int = 0
    """URLs in the queue of its server."""
    in_flight: int = 0
    """Orders of its server that are out."""
    admitted: int = 0
    """URLs of its server that were ever admitted."""
    server_next_ms: int = 0
    server_delay_ms: int = 0
    failures: int = 0
    dead_until_ms: int = 0
    robots: dict[str, str] = {}
    """Scheme to what its robots.txt came to."""


class RobotsAnswer(Struct, frozen=True):
    """What the robots.txt that was read last says of a URL."""

    verdict: str
    fetched_ms: int
    refusal: str
    """Empty: it may be fetched."""


class PartitionCounts(Struct, frozen=True):
    """How many URLs a partition holds, counted one by one."""

    queued: int
    leased: int
    retrying: int
    revisiting: int
    orders: int
    """That are out."""
    waiting: int = 0
    """Links that wait for their sites to be placed."""
    waiting_held: int = 0
    """Those of them that wait for an approval or an address."""
    sites_owned: int = 0
    sites_asked: int = 0
    """Sites that the coordinator was told of, and has not answered."""


class SiteStanding(Struct, frozen=True, kw_only=True):
    """What one partition knows of a site."""

    state: SiteState
    slot: int
    """-1: not known here."""
    version: int
    """Of the row that was taken in last; 0: the coordinator was told, and has not answered."""
    owned: bool
    """Whether this partition is its slot."""
    links: int
    """That wait here."""


class PartitionView:
    """The state of one partition, for reading."""

    def __init__(self, state: StateReader) -> None:
        self._state = state

    def standing(self, url: Url) -> UrlStanding:
        """Of a URL and its server; one that was never heard of is unknown and its server empty."""
        state, name = self._state, url.server.encode()
        record = self._server(url.server).record
        server, print_ = server_hash(url.server), fingerprint(url.scheme, url.path)
        engine = UniquenessEngine(state, repositories=read_facts(state).sorted_by)
        known, packed = engine.look_up(np.array([server], np.uint64), np.array([print_], np.uint64))
        facts = Facts(packed)
        life: Life = LIVES[int(facts.state[0])] if known[0] else "unknown"
        lease = _lease(state, name, url) if record.in_flight else None
        waits = life == "waiting"
        visit = TimerQueue(state, b"").visits(server, [print_])[0]
        return UrlStanding(
            life=life,
            depth=int(facts.depth[0]) if known[0] else 0,
            priority=int(facts.priority[0]) if known[0] else 0,
            found_again=int(facts.count[0]) * COUNT_UNIT if known[0] else 0,
            ahead=_ahead(state, name, record, print_) if waits and record.queued and lease is None else -1,
            lease=lease.id if lease else "",
            returns_ms=lease.returns_ms if lease else 0,
            retry_ms=_retry_ms(state, server, print_) if waits and lease is None else 0,
            revisit_ms=visit.due_ms if visit else 0,
            visited_ms=visit.visited_ms if visit else 0,
            queued=record.queued,
            in_flight=orders_out(record.in_flight),
            admitted=record.admitted,
            server_next_ms=record.next_ms,
            server_delay_ms=record.delay_ms,
            failures=record.failures,
            dead_until_ms=record.dead_until_ms,
            robots={scheme: origin.verdict or "not fetched yet" for scheme, origin in record.origins.items()},
        )

    def knows_server(self, server: str) -> bool:
        return self._state.get(SERVERS, server.encode()) is not None

    def brought_into_scope(self, server: str) -> bool:
        """By a seed, or by a seed's redirect."""
        return bool(self._server(server).record.flags & IN_SCOPE)

    def trap(self, config: Config, url: Url) -> str:
        """The trap that a new URL would be refused as; empty: none."""
        if reason := path_trap(config, url):
            return reason
        settings, record = config.traps, self._server(url.server).record
        if traps.directory_closed(settings, record, url.path):
            return "identical-pages"
        if "?" in url.path and traps.too_many_variants(settings, record, url.path):
            return "query-variants"
        return ""

    def admitted_of_domain(self, domain: str) -> int:
        """URLs that were ever admitted, where budgets belong to registered domains."""
        stored = self._state.get(DOMAINS, domain.encode())
        return int.from_bytes(stored, "big") if stored else 0

    def robots(self, config: Config, url: Url) -> RobotsAnswer | None:
        """None: no robots.txt of its origin was read yet."""
        scheme: Scheme = "http" if url.scheme == "http" else "https"
        server = self._server(url.server)
        origin = server.origin(scheme)
        if not origin.verdict:
            return None
        refusal = RobotsCache(self._state, config.robots_agent).refusal(server, scheme, url.path)
        return RobotsAnswer(origin.verdict, origin.fetched_ms, refusal)

    def counts(self) -> PartitionCounts:
        """Walks through everything that waits."""
        orders = urls = retrying = revisiting = 0
        for _, value in self._state.scan(LEASES):
            orders += 1
            urls += len(decode_lease(value).entries)
        for _, value in self._state.scan(REVISIT):
            if decode_waiting(value).kind == RETRY:
                retrying += 1
            else:
                revisiting += 1
        queued = sum(1 for _ in self._state.scan(QUEUE))
        return PartitionCounts(queued, urls, retrying, revisiting, orders, *self._site_counts())

    def _site_counts(self) -> tuple[int, int, int, int]:
        """Links that wait, those among them that are held, sites that are owned, and those that were asked for."""
        waiting = sum(len(decode_discovered(value).paths) for _, value in self._state.scan(WAITING))
        held = owned = asked = 0
        for _, known in self._sites():
            held += known.links if known.held else 0
            owned += known.owned
            asked += not known.version
        return waiting, held, owned, asked

    def site(self, site: str) -> SiteStanding | None:
        """None: this partition never heard of it."""
        stored = self._state.get(SITES, KNOWN + site.encode("utf-8", "replace"))
        if stored is None:
            return None
        known = decode_site_record(stored)
        return SiteStanding(
            state=known.state, slot=known.slot, version=known.version, owned=known.owned, links=known.links
        )

    def owned_sites(self) -> Iterator[str]:
        return (site for site, known in self._sites() if known.owned)

    def asked_sites(self) -> Iterator[str]:
        """Those that the coordinator has not answered."""
        return (site for site, known in self._sites() if not known.version)

    def servers_with_urls(self) -> Iterator[str]:
        """Those that ever got a URL here."""
        for name, value in self._state.scan(SERVERS):
            if decode_server(value).admitted:
                yield name.decode("utf-8", "replace")

    def _sites(self) -> Iterator[tuple[str, SiteRecord]]:
        for key, value in self._state.scan(SITES, KNOWN, bytes([KNOWN[0] + 1])):
            yield key[1:].decode("utf-8", "replace"), decode_site_record(value)

    def _server(self, server: str) -> LiveServer:
        name = server.encode()
        stored = self._state.get(SERVERS, name)
        return LiveServer(0, name, ServerRecord() if stored is None else decode_server(stored))


def path_trap(config: Config, url: Url) -> str:
    """What can be told by the path alone; empty: none."""
    return traps.path_reason(config.traps, url.path)


def _ahead(state: StateReader, name: bytes, record: ServerRecord, print_: int) -> int:
    ending = print_.to_bytes(8, "big")
    entries = state.scan(QUEUE, name + b"\0" + record.head, name + b"\1")
    for place, (key, _) in enumerate(islice(entries, LOOKED_AT)):
        if key.endswith(ending):
            return place
    return -1


def _lease(state: StateReader, name: bytes, url: Url) -> Lease | None:
    """The order that holds the URL. All that are out are looked at, which are few: that is the back-pressure."""
    for _, value in state.scan(LEASES, read_facts(state).leases_start):
        lease = decode_lease(value)
        if lease.server == name:
            for _, entry in lease.entries:
                if scheme_of(entry) == url.scheme and path_of(entry) == url.path:
                    return lease
    return None


def _retry_ms(state: StateReader, server: int, print_: int) -> int:
    ending = _URL.pack(server, print_)
    for key, _ in islice(state.scan(REVISIT, read_facts(state).timers_start), LOOKED_AT):
        if key.endswith(ending):
            return int(_DUE.unpack_from(key)[0])
    return 0
