"""One order from beginning to end: its URLs in turn, each one with a result, whatever happens."""

import asyncio
import math
import re
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from gregor.transport.port import Output
from gregor.url.canonical import Url, split
from schemas.fetched import FetchResult, RobotsRules
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.pace import LONGEST_TURN_S, LONGEST_WAIT_S, Pace
from workers.fetcher.port import Exchange, Request, Scheme
from workers.fetcher.records import Origin, digest_of, fetched_of, page_of, result_of, unrequested
from workers.fetcher.surroundings import Running, Surroundings
from workers.fetcher.withheld import Refrain

# What may stand in a request line. A canonical URL has nothing else; an order is only a record that somebody wrote.
_PATH: Final = re.compile(r"/[!-~]*")
_HEADER_VALUE: Final = re.compile(r"[\t -~\x80-\xff]*")

SHORT_DELAY_S: Final = 0.05
"""Below it an order keeps its place among the open connections from one request to the next."""
UNREACHABLE: Final = frozenset(("dns", "address-refused", "connect", "tls"))
"""Outcomes that the order's other URLs would meet as well."""


class OrderRun:
    """The life of one order in the fetcher. It never raises, except for being cancelled."""

    def __init__(self, running: Running, around: Surroundings) -> None:
        order = running.order
        self.order: FetchOrder = order
        self.around = around
        self.origin = Origin(order, running.ticket, around.worker, around.now_ms())
        self.outputs: list[Output] = []
        self._running = running
        self._delay = order.delay_ms / 1000
        now = time.monotonic()
        begins = now + self._delay if running.redelivered else now
        self._pace = Pace(self._delay, begins, order.connections, around.leaving)
        self._keeps_slot = self._delay < SHORT_DELAY_S and order.kind == "pages"
        self._results: dict[int, FetchResult] = {}
        self._stop = ""
        """Why the URLs that are left are not requested; empty: they are."""
        if running.redelivered and self._delay > LONGEST_TURN_S:
            # Given back, it waits the same delay in the frontier, where that takes nobody's place.
            self._stop = "not requested: another fetcher may have asked a moment ago, and the delay is long"
        self._out_of_reach: dict[Scheme, str] = {}
        """The same, for the URLs of one scheme, which have a port of their own."""

    async def pages(self) -> Sequence[Output]:
        """Carry out an order of kind ``pages``."""
        waiting = iter(enumerate(self.order.urls))
        lanes = min(self.order.connections, len(self.order.urls))
        if lanes <= 1:
            await self._lane(waiting)
        else:
            async with asyncio.TaskGroup() as group:
                for _ in range(lanes):
                    group.create_task(self._lane(waiting))
            if self._running.cancelled:
                # A group takes no notice of tasks that end so, and not all URLs have a result.
                raise asyncio.CancelledError
        return self.finish([self._results[index] for index in range(len(self.order.urls))])

    async def _lane(self, waiting: Iterator[tuple[int, OrderUrl]]) -> None:
        if not self._keeps_slot:
            for index, url in waiting:
                self._results[index] = await self._one(url)
            return
        # Between requests without a pause another order's turn would cost both of them their connections.
        async with self.around.slots:
            for index, url in waiting:
                self._results[index] = await self._one(url)

    async def _one(self, url: OrderUrl) -> FetchResult:
        try:
            exchange = await self.request(url, url.scheme, self.order.server, url.path)
        except Refrain as refrain:
            return unrequested(url, refrain.outcome, refrain.reason, refrain.again_ms)
        digest = digest_of(exchange)
        if exchange.status:
            self.keep(page_of(self.origin, url, exchange, digest, self.around.placement))
        result = result_of(url, exchange, digest, self.around.now_ms(), text=self.around.text_digest(exchange))
        if result.outcome in UNREACHABLE:
            self._out_of_reach[url.scheme] = f"not requested: the server was not reached ({result.outcome})"
        elif result.outcome == "rate-limited" or result.status == 503:
            self._stop = f"not requested: the server answered {result.status}"
        return result

    async def request(self, url: OrderUrl, scheme: Scheme, server: str, path: str) -> Exchange:
        """One request in its turn. Raises Refrain when none is to be made."""
        exchange = await self._try(url, scheme, server, path)
        lost = exchange.reused and exchange.outcome == "disconnected" and not exchange.status
        if lost and not self.waits_too_long:
            # The server closed an idle connection while the request was on its way: RFC 9112 9.3.1 lets it be repeated.
            exchange = await self._try(url, scheme, server, path)
        return exchange

    @property
    def waits_too_long(self) -> bool:
        """Whether the next request is further away than a place in the fetcher is worth: a Crawl-delay may be a day."""
        return self._pace.left_s > LONGEST_WAIT_S

    async def _try(self, url: OrderUrl, scheme: Scheme, server: str, path: str) -> Exchange:
        around = self.around
        self._check_target(scheme, server, path)
        several = self.order.connections > 1 and self._delay > 0
        if self._delay:
            if self.waits_too_long:
                raise Refrain("cancelled", "not requested: the delay is too long to wait for it here")
            self._check_deadline(self._pace.left_s)
            await (self._pace.wait() if several else self._pace.take())
            await self._turn(server)
        request = Request(
            scheme=scheme,
            server=server,
            path=path,
            headers=self._headers(url, server),
            hidden=around.hidden(server),
            caps=around.caps(server, self.order.kind),
            before_send=partial(self._in_turn, scheme) if several else None,
        )
        if self._keeps_slot:
            return await self._permitted(request)
        async with around.slots:
            return await self._permitted(request)

    async def _turn(self, server: str) -> None:
        """Wait for the server's address. An order that would wait too long takes no turn, and leaves its place to another."""
        self._check_deadline()
        around = self.around
        again_s = await around.addresses.turn(around.port.address_of(server), self._delay, self._left_s)
        if again_s:
            self._stop = "not requested: too many servers share its address"
            raise Refrain("cancelled", self._stop, again_s)

    async def _permitted(self, request: Request) -> Exchange:
        await self._permission(request.scheme)
        exchange = await self.around.port.fetch(request)
        if exchange.sent_at:
            self._pace.sent(exchange.sent_at, exchange.answered_at)
        return exchange

    async def _in_turn(self, scheme: Scheme) -> None:
        """Connections of one order take their turns when they stand, because connecting takes one longer than another."""
        await self._pace.take()
        await self._permission(scheme)

    def _check_target(self, scheme: Scheme, server: str, path: str) -> None:
        self._check_stops(scheme)
        if not _PATH.fullmatch(path):
            raise Refrain("protocol", "the path holds characters that no request line may have")
        if not is_canonical(scheme, server):
            raise Refrain("address-refused", f"the server's name {server[:100]!r} is not in its canonical form")

    def _check_stops(self, scheme: Scheme) -> None:
        reason = self._stop or self._out_of_reach.get(scheme) or self.around.paused(self.order.server)
        if reason:
            raise Refrain("cancelled", reason)

    def _check_deadline(self, starts_in_s: float = 0.0) -> None:
        if self._left_s < max(0.0, starts_in_s):
            raise Refrain("expired", "the order's deadline is over")

    @property
    def _left_s(self) -> float:
        """Until the deadline."""
        deadline = self.order.deadline_ms
        return (deadline - self.around.now_ms()) / 1000 if deadline else math.inf

    async def _permission(self, scheme: Scheme) -> None:
        """The last word before a request: everything that may have changed while it waited for its turn."""
        around = self.around
        if around.memory.full and not await around.memory.may_go_on(self._running):
            self._stop = "not requested: too many bodies wait to be committed"
            raise Refrain("cancelled", self._stop)
        if around.gate.shut:
            await around.gate.open()
        # Nothing is waited for from here on.
        if self._running.cancelled:
            raise asyncio.CancelledError
        self._check_deadline()
        self._check_stops(scheme)

    def keep(self, page: Output) -> None:
        self.outputs.append(page)
        self.around.memory.hold(self._running, len(page.value))

    def finish(self, results: Sequence[FetchResult], robots: tuple[RobotsRules, ...] = ()) -> Sequence[Output]:
        self.around.tally.add(results)
        fetched = fetched_of(self.origin, tuple(results), self.around.placement, self.around.now_ms(), robots)
        return [fetched, *self.outputs]

    def _headers(self, url: OrderUrl, server: str) -> dict[str, str]:
        headers = self.around.headers(server)
        conditions = (("If-None-Match", url.etag), ("If-Modified-Since", url.last_modified), ("Cookie", url.cookies))
        for name, value in conditions:
            if value and server == self.order.server and _HEADER_VALUE.fullmatch(value):
                headers = {**headers, name: value}
        return headers


@lru_cache(maxsize=65_536)
def is_canonical(scheme: Scheme, server: str) -> bool:
    """Whether the server is spelt as our own URLs spell it: no other spelling of an address gets past this."""
    url = split(f"{scheme}://{server}/")
    return isinstance(url, Url) and url.server == server and url.path == "/"


def failed(running: Running, around: Surroundings, error: BaseException) -> Sequence[Output]:
    """The answer to an order that met a bug of ours: every URL ``internal``, and no pages."""
    detail = f"{type(error).__name__}: {error}"
    origin = Origin(running.order, running.ticket, around.worker, 0)
    results = tuple(unrequested(url, "internal", detail) for url in running.order.urls)
    return [fetched_of(origin, results, around.placement, around.now_ms())]
