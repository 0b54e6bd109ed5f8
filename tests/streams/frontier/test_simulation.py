"""Whole crawls of a simulated web on a simulated clock. GREGOR_SIMULATED_SERVERS=10000 runs it at full size."""

import os
from collections import defaultdict
from itertools import pairwise

import numpy as np

from gregor.config import Config
from gregor.url.fingerprint import fingerprint, server_hash
from schemas.discovered import Discovered
from schemas.schedule import FetchOrder
from streams.frontier.storage.uniqueness.facts import Facts, UrlState
from tests.streams.frontier.rig import T0, Rig, configure
from tests.streams.frontier.web import SimulatedWeb

SERVERS = int(os.environ.get("GREGOR_SIMULATED_SERVERS", "300"))
CHECKPOINT_MS = 1_000


def config() -> Config:
    return configure(
        fetch={"delay_s": 1.0, "delay_factor": 1.0, "urls_per_order": 8, "orders_in_flight": 20_000},
        robots={"obey": True},
        retry={"attempts": 3, "first_s": 10.0, "longest_s": 60.0, "server_attempts": 3},
        traps={"query_variants": 50, "identical_pages": 0},
    )


class Crawl:
    """One crawl from its seed to its end."""

    def __init__(self, web: SimulatedWeb) -> None:
        self.web = web
        self.rig = Rig(config())
        self.now = T0
        self.orders: list[FetchOrder] = []

    def run(self) -> None:
        self.rig.frontier.discover([Discovered(server="s0.example", paths=("/",), scheme="http", kind="seed")], T0)
        committed = T0
        while True:
            for order in self.rig.frontier.dispatch(self.now):
                self.orders.append(order)
                self.web.carry_out(order, self.now)
            if self.now - committed >= CHECKPOINT_MS:
                self.rig.commit()
                committed = self.now
            moments = [due for due in (self.rig.frontier.next_due_ms(), self.web.next_ms()) if due is not None]
            if not moments:
                self.rig.commit()
                moments = [due for due in (self.rig.frontier.next_due_ms(),) if due is not None]
                if not moments:
                    return
            self.now = max(self.now, min(moments))
            found: list[Discovered] = []
            for fetched, discovered in self.web.finished(self.now):
                self.rig.frontier.confirm(fetched, self.now)
                found += discovered
            if found:
                self.rig.frontier.discover(found, self.now)


def states(rig: Rig, server: str, paths: list[str]) -> list[UrlState]:
    known, facts = rig.frontier.state.engine.look_up(
        np.full(len(paths), server_hash(server), dtype=np.uint64),
        np.array([fingerprint("http", path) for path in paths], dtype=np.uint64),
    )
    assert known.all(), (
        f"{server}: {[path for path, there in zip(paths, known, strict=True) if not there][:3]} never admitted"
    )
    return [UrlState(int(state)) for state in Facts(facts).state]


def test_a_whole_crawl_ends_every_url_keeps_every_delay_and_wastes_no_time() -> None:
    web = SimulatedWeb(SERVERS, largest=SERVERS, seed=7)
    crawl = Crawl(web)
    with crawl.rig as rig:
        crawl.run()
        counts = rig.counters
        assert counts["queued"] == counts["leased"] == counts.get("retrying", 0) == 0
        assert counts["admitted"] == counts["confirmed"] + counts.get("failed", 0) + counts.get("dropped", 0)
        every_url_ended(crawl)
        every_delay_was_kept(web)
        politeness_was_used(web)
        orders_follow_the_papers_key(crawl.orders)
        rig.truncate()
        rig.move()


def every_url_ended(crawl: Crawl) -> None:
    """Each URL that can be reached has one final state, and it is the right one."""
    for server in crawl.web.servers.values():
        paths = server.paths()
        for path, state in zip(paths, states(crawl.rig, server.name, paths), strict=True):
            expected = UrlState.FETCHED
            if server.kind == "dead" or path.startswith("/private"):
                expected = UrlState.REFUSED
            assert state is expected, f"{server.kind} {server.name}{path} ended as {state.name}"


def every_delay_was_kept(web: SimulatedWeb) -> None:
    for name, requests in web.requests.items():
        server = web.servers[name]
        least = max(1_000, server.crawl_delay_ms if server.kind != "dead" else 0)
        for first, second in pairwise(requests):
            assert second - first >= least, f"{name}: requests {second - first} ms apart, expected {least}"


def politeness_was_used(web: SimulatedWeb) -> None:
    """Of the time that delays alone need, servers that never fail take hardly more."""
    needed = taken = 0
    for name, requests in web.requests.items():
        server = web.servers[name]
        if server.kind in ("plain", "private") and len(requests) > 20:
            pace = max(1_000, server.crawl_delay_ms)
            needed += pace * (len(requests) - 1)
            taken += requests[-1] - requests[0]
    assert needed, "no server was large enough to judge"
    assert needed / taken >= 0.95, f"{needed / taken:.1%} of what politeness permits was used"


def orders_follow_the_papers_key(orders: list[FetchOrder]) -> None:
    """Within an order URLs stand by depth ⊕ priority ⊕ hash; what was known earlier and is shallower never goes out later."""
    by_server: dict[str, list[FetchOrder]] = defaultdict(list)
    for order in orders:
        if order.kind == "pages":
            keys = [(url.depth, url.priority, fingerprint(url.scheme, url.path)) for url in order.urls]
            assert keys == sorted(keys)
            by_server[order.server].append(order)
    for made in by_server.values():
        firsts = [order for order in made if order.attempt == 1]
        depths = [url.depth for order in firsts for url in order.urls]
        # A tree is discovered level by level, so that breadth first means that depths never fall.
        assert depths == sorted(depths) or any(order.attempt > 1 for order in made)
