"""A simulated web on a simulated clock: servers of Zipf sizes, some slow, dead, rate-limiting, trapping or refusing; and its fetchers.

Pages of a server form a tree, and every page links to a few first pages of other servers. Everything is a function of the seed.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Final
from zlib import crc32

from schemas.discovered import Discovered
from schemas.fetched import Fetched, FetchResult, Outcome, RobotsRules, Timings
from schemas.schedule import FetchOrder

KINDS: Final = (
    "plain",
    "plain",
    "plain",
    "plain",
    "plain",
    "plain",
    "slow",
    "dead",
    "limited",
    "trap",
    "private",
    "flaky",
)
CHILDREN: Final = 5
TRAP_PATHS: Final = 40
"""Variants of its first page that a trap offers on each of them."""
PRIVATE: Final = "user-agent: *\ndisallow: /private\n"


class SimulatedServer:
    """One server of the web."""

    def __init__(self, number: int, pages: int, random: Random) -> None:
        self.name = f"s{number}.example"
        self.kind = KINDS[random.randrange(len(KINDS))] if number else "plain"
        self.pages = pages
        self.crawl_delay_ms = random.choice((0, 0, 0, 5_000))
        self.latency_ms = 4_000 if self.kind == "slow" else 20
        self.asked: dict[str, int] = defaultdict(int)

    def paths(self) -> list[str]:
        """Every URL that a complete crawl finds once it has found the server, a trap's variants left out."""
        found, waiting = [], [0]
        while waiting:
            page = waiting.pop()
            found.append(self.path(page))
            if self.kind != "dead" and not self.path(page).startswith("/private"):
                waiting += range(page * CHILDREN + 1, min(page * CHILDREN + CHILDREN + 1, self.pages))
        return found

    def path(self, page: int) -> str:
        folder = "/private" if self.kind == "private" and page % 3 == 2 else ""
        return f"{folder}/p{page}" if page else "/"

    def answer(self, path: str) -> tuple[Outcome, int]:
        self.asked[path] += 1
        if self.kind == "dead":
            return "connect", 0
        if path == "/robots.txt":
            return "ok", 200
        if self.kind == "limited" and self.asked[path] == 1 and hash_of(path) % 2:
            return "rate-limited", 429
        if self.kind == "flaky" and self.asked[path] <= hash_of(path) % 3:
            return "server-error", 500
        return "ok", 200

    def links(self, path: str) -> Iterator[str]:
        bare = path.partition("?")[0]
        page = int(bare.rpartition("p")[2]) if bare != "/" else 0
        for child in range(page * CHILDREN + 1, page * CHILDREN + CHILDREN + 1):
            if child < self.pages:
                yield self.path(child)
        if self.kind == "trap" and bare == "/":
            for number in range(TRAP_PATHS):
                yield f"{bare}?n={hash_of(path) % 10**6 * TRAP_PATHS + number}"


def hash_of(text: str) -> int:
    return crc32(text.encode())


class SimulatedWeb:
    """The servers, and fetchers without limit that carry out orders."""

    def __init__(self, servers: int, largest: int, seed: int) -> None:
        random = Random(seed)
        self.servers = {
            one.name: one
            for one in (SimulatedServer(number, max(1, largest // (number + 1)), random) for number in range(servers))
        }
        names = list(self.servers)
        self.neighbours = {name: random.sample(names, min(4, len(names))) for name in names}
        # Every server is reached: each is a neighbour of the first, which never fails.
        self.neighbours[names[0]] += names[1:]
        self.requests: dict[str, list[int]] = defaultdict(list)
        """Server to the start of each request."""
        self.busy: dict[str, int] = {}
        self._finished: list[tuple[int, int, Fetched, list[Discovered]]] = []
        self._number = 0

    def carry_out(self, order: FetchOrder, now: int) -> None:
        """One order from beginning to end; its results are there when it ends."""
        assert order.server not in self.busy, f"two orders of {order.server} in flight"
        server = self.servers[order.server]
        self.busy[order.server] = now
        results: list[FetchResult] = []
        found: list[Discovered] = []
        at, stop = now, ""
        for url in order.urls:
            if stop:
                results.append(FetchResult(path=url.path, scheme=url.scheme, outcome="cancelled"))
                continue
            if results:
                at = max(at, results[-1].started_ms + order.delay_ms)
            outcome, status = server.answer(url.path)
            self.requests[order.server].append(at)
            results.append(
                FetchResult(
                    path=url.path,
                    scheme=url.scheme,
                    outcome=outcome,
                    status=status,
                    started_ms=at,
                    timings=Timings(total=server.latency_ms),
                    retry_after_ms=30_000 if status == 429 else 0,
                    digest=f"{hash_of(url.path):032x}",
                )
            )
            at += server.latency_ms
            if outcome in ("connect", "rate-limited"):
                stop = outcome
            if outcome == "ok" and order.kind == "pages":
                found += self._discoveries(server, url.path, url.depth, url.hops)
        self._number += 1
        fetched = Fetched(
            server=order.server,
            lease=order.lease,
            results=tuple(results),
            kind=order.kind,
            received_ms=now,
            started_ms=now,
            finished_ms=at,
            robots=self._robots(order, server),
        )
        heapq.heappush(self._finished, (at, self._number, fetched, found))

    def _robots(self, order: FetchOrder, server: SimulatedServer) -> tuple[RobotsRules, ...]:
        if order.kind != "robots":
            return ()
        if server.kind == "dead":
            return (RobotsRules(scheme="http", verdict="unreachable"),)
        if server.kind == "private":
            return (RobotsRules(scheme="http", verdict="rules", text=PRIVATE, crawl_delay_ms=server.crawl_delay_ms),)
        return (RobotsRules(scheme="http", verdict="allow-all", crawl_delay_ms=server.crawl_delay_ms),)

    def _discoveries(self, server: SimulatedServer, path: str, depth: int, hops: int) -> Iterator[Discovered]:
        own = tuple(dict.fromkeys(server.links(path)))
        if own:
            yield Discovered(server=server.name, paths=own, scheme="http", depth=depth + 1, hops=hops + 1)
        if path == "/":
            for name in self.neighbours[server.name]:
                yield Discovered(server=name, paths=("/",), scheme="http", depth=1, hops=1)

    def next_ms(self) -> int | None:
        return self._finished[0][0] if self._finished else None

    def finished(self, now: int) -> Iterator[tuple[Fetched, list[Discovered]]]:
        while self._finished and self._finished[0][0] <= now:
            _, _, fetched, found = heapq.heappop(self._finished)
            del self.busy[fetched.server]
            yield fetched, found
