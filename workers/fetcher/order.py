"""One order from beginning to end: its URLs in turn, each one with a result, whatever happens."""

import asyncio
import math
import re
from collections.abc import Sequence
from typing import Final

from gregor.runtime.transport.port import Output
from gregor.url.canonical import is_canonical_server
from schemas.fetched import FetchResult, RobotsRules
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.address_pace import LATER_S, LONGEST_TURN_S
from workers.fetcher.backends.backend import Exchange, FetchRequest, Scheme
from workers.fetcher.context import FetchContext, Running
from workers.fetcher.leaving import SHORT_S
from workers.fetcher.pace import LONGEST_WAIT_S, GuestPace, OrderThrottle
from workers.fetcher.records import OrderOrigin, digest_of, fetched_of, page_of, result_of, unrequested
from workers.fetcher.skip_request import SkipRequest

# What may stand in a request line. A canonical URL has nothing else; an order is only a record that somebody wrote.
_PATH: Final = re.compile(r"/[!-~]*")
_HEADER_VALUE: Final = re.compile(r"[\t -~\x80-\xff]*")

SHORT_DELAY_S: Final = 0.05
"""Below it an order keeps its place among the open connections from one request to the next."""
UNHEARD_DELAYS: Final = 10
UNHEARD_S: Final = 10.0
"""So many delays, and no longer, robots.txt is left alone that may have been read by a process which could not say what it asks for. Who
configures short delays knows whom they ask."""
UNREACHABLE: Final = frozenset(("dns", "address-refused", "connect", "tls"))
"""Outcomes that the order's other URLs would meet as well."""


class OrderRun:
    """The life of one order in the fetcher. It never raises, except for being cancelled."""

    def __init__(self, running: Running, ctx: FetchContext) -> None:
        order = running.order
        self.order: FetchOrder = order
        self.ctx = ctx
        self.origin = OrderOrigin(order, running.ticket, ctx.worker, ctx.now_ms())
        self.outputs: list[Output] = []
        self._running = running
        clocks = ctx.paces.of(order.server)
        self._pace = ctx.paces.enter(order.server, max(order.delay_ms / 1000, ctx.least_delay_s(order.server)))
        if order.kind == "robots":
            # The frontier may not have heard of what was read here before.
            self._pace.lengthen(clocks.crawl_delay_s)
        delay = self._pace.delay_s
        wait = _after_another(order, delay) if running.redelivered else 0.0
        if wait:
            self._pace.begun_elsewhere(wait)
        self._keeps_slot = delay < SHORT_DELAY_S and order.kind == "pages"
        self._stop = ""
        """Why the URLs that are left are not requested; empty: they are."""
        self._again_s = 0.0
        """When to order them again; 0: as ever."""
        if wait > (SHORT_S if order.kind == "robots" else LONGEST_TURN_S):
            # Given back, it waits as long in the frontier, where that takes nobody's place.
            self._stop = "not requested: another fetcher may have asked a moment ago, and the delay is long"
            self._again_s = wait
        self._out_of_reach: dict[Scheme, str] = {}
        """The same, for the URLs of one scheme, which have a port of their own."""

    def close(self) -> None:
        self.ctx.paces.leave(self.order.server, self._pace)

    async def pages(self) -> Sequence[Output]:
        """Carry out an order of kind ``pages``."""
        if not self._keeps_slot:
            return self.finish([await self._one(url) for url in self.order.urls])
        # Between requests without a pause another order's turn would cost both of them their connections.
        async with self.ctx.slots:
            results = [await self._one(url) for url in self.order.urls]
        return self.finish(results)

    async def _one(self, url: OrderUrl) -> FetchResult:
        try:
            exchange = await self.request(url, url.scheme, self.order.server, url.path)
        except SkipRequest as refrain:
            return unrequested(url, refrain.outcome, refrain.reason, refrain.again_ms)
        digest = digest_of(exchange)
        if exchange.status:
            self.keep(page_of(self.origin, url, exchange, digest, self.ctx.placement))
        result = result_of(url, exchange, digest, self.ctx.now_ms(), text=self.ctx.text_digest(exchange))
        if result.outcome in UNREACHABLE:
            self._out_of_reach[url.scheme] = f"not requested: the server was not reached ({result.outcome})"
        elif result.outcome == "rate-limited" or result.status == 503:
            self._stop = f"not requested: the server answered {result.status}"
        return result

    async def request(self, url: OrderUrl, scheme: Scheme, server: str, path: str) -> Exchange:
        """One request in its turn. Raises SkipRequest when none is to be made."""
        pace = self._pace if server == self.order.server else self._as_guest(server)
        exchange = await self._try(url, scheme, server, path, pace)
        lost = exchange.reused and exchange.outcome == "disconnected" and not exchange.status
        if lost and pace.left_s <= LONGEST_WAIT_S:
            # The server closed an idle connection while the request was on its way: RFC 9112 9.3.1 lets it be repeated.
            exchange = await self._try(url, scheme, server, path, pace)
        return exchange

    def _as_guest(self, server: str) -> GuestPace:
        """Another server, to which a robots.txt is redirected, is asked as often as its own orders may ask it."""
        return self.ctx.paces.as_guest(server, self.ctx.config.for_server(server).delay_s)

    def keep_delay(self, scheme: Scheme, delay_s: float) -> None:
        """What the server's robots.txt asks for holds from now on, also when nobody else hears of it."""
        self.ctx.paces.of(self.order.server).crawl_delays_s[scheme] = delay_s
        self._pace.lengthen(delay_s)

    @property
    def waits_too_long(self) -> bool:
        """Whether the next request is further away than a place in the fetcher is worth: a Crawl-delay may be a day."""
        return self._pace.left_s > LONGEST_WAIT_S

    async def _try(self, url: OrderUrl, scheme: Scheme, server: str, path: str, pace: OrderThrottle) -> Exchange:
        ctx = self.ctx
        self._check_target(scheme, server, path)
        if pace.delay_s:
            self._check_wait(pace)
            if isinstance(pace, GuestPace):
                self._check_turn(await ctx.guests.turn(server, pace.delay_s, self._left_s), "lead to one robots.txt")
            await pace.wait()
            self._check_deadline()
            turn = ctx.addresses.turn(ctx.port.address_of(server), pace.delay_s, self._left_s)
            self._check_turn(await turn, "share its address")
        request = FetchRequest(
            scheme=scheme,
            server=server,
            path=path,
            headers=self._headers(url, server),
            hidden=ctx.hidden(server),
            caps=ctx.caps(server, self.order.kind),
        )
        while True:
            if self._keeps_slot:
                exchange = await self._permitted(request, pace)
            else:
                async with ctx.slots:
                    exchange = await self._permitted(request, pace)
            if exchange is not None:
                return exchange
            self._check_wait(pace)
            await pace.wait()

    def _check_wait(self, pace: OrderThrottle) -> None:
        if pace.left_s > LONGEST_WAIT_S:
            raise SkipRequest("cancelled", "not requested: the delay is too long to wait for it here", pace.left_s)
        self._check_deadline(pace.left_s)

    def _check_turn(self, again_s: float, crowd: str) -> None:
        """An order that would wait too long takes no turn, and leaves its place to another."""
        if again_s:
            self._stop = f"not requested: too many servers {crowd}"
            raise SkipRequest("cancelled", self._stop, again_s)

    async def _permitted(self, request: FetchRequest, pace: OrderThrottle) -> Exchange | None:
        """None: another order has asked the server meanwhile."""
        await self._permission(request.scheme, request.server)
        if pace.left_s > 0:
            return None
        pace.begin()
        answered_at = 0.0
        try:
            exchange = await self.ctx.port.fetch(request)
            answered_at = exchange.answered_at
        finally:
            # Also when no request was sent: the server may have seen that somebody tried.
            pace.done(answered_at)
        return exchange

    def _check_target(self, scheme: Scheme, server: str, path: str) -> None:
        self._check_stops(scheme, server)
        if not _PATH.fullmatch(path):
            raise SkipRequest("protocol", "the path holds characters that no request line may have")
        if not is_canonical_server(scheme, server):
            raise SkipRequest("address-refused", f"the server's name {server[:100]!r} is not in its canonical form")

    def _check_stops(self, scheme: Scheme, server: str) -> None:
        reason = self._stop or self._out_of_reach.get(scheme) or self.ctx.paused(self.order.server)
        if reason:
            raise SkipRequest("cancelled", reason, self._again_s)
        if server != self.order.server and (reason := self.ctx.paused(server)):
            # The order's own server is not paused: without a pause of its own it would be asked over and over.
            raise SkipRequest("cancelled", f"{reason}: {server[:100]}, to which it is redirected", LATER_S)

    def _check_deadline(self, starts_in_s: float = 0.0) -> None:
        if self._left_s < max(0.0, starts_in_s):
            raise SkipRequest("expired", "the order's deadline is over")

    @property
    def _left_s(self) -> float:
        """Until the deadline."""
        deadline = self.order.deadline_ms
        return (deadline - self.ctx.now_ms()) / 1000 if deadline else math.inf

    async def _permission(self, scheme: Scheme, server: str) -> None:
        """The last word before a request: everything that may have changed while it waited for its turn."""
        ctx = self.ctx
        if ctx.memory.full and not await ctx.memory.may_go_on(self._running):
            self._stop = "not requested: too many bodies wait to be committed"
            raise SkipRequest("cancelled", self._stop)
        if ctx.gate.shut:
            await ctx.gate.open()
        # Nothing is waited for from here on.
        if self._running.cancelled:
            raise asyncio.CancelledError
        self._check_deadline()
        self._check_stops(scheme, server)

    def keep(self, page: Output) -> None:
        self.outputs.append(page)
        self.ctx.memory.hold(self._running, len(page.value))

    def finish(self, results: Sequence[FetchResult], robots: tuple[RobotsRules, ...] = ()) -> Sequence[Output]:
        self.ctx.tally.add(results)
        fetched = fetched_of(self.origin, tuple(results), self.ctx.placement, self.ctx.now_ms(), robots)
        return [fetched, *self.outputs]

    def _headers(self, url: OrderUrl, server: str) -> dict[str, str]:
        headers = self.ctx.headers(server)
        conditions = (("If-None-Match", url.etag), ("If-Modified-Since", url.last_modified), ("Cookie", url.cookies))
        for name, value in conditions:
            if value and server == self.order.server and _HEADER_VALUE.fullmatch(value):
                headers = {**headers, name: value}
        return headers


def _after_another(order: FetchOrder, delay: float) -> float:
    """Seconds after which nobody minds that another process may have asked for an order's URLs a moment ago."""
    if order.kind == "pages":
        return delay
    # That process may have read a Crawl-delay and been unable to tell anybody: most are no longer than this.
    return max(delay, min(UNHEARD_DELAYS * delay, UNHEARD_S))


def failed(running: Running, ctx: FetchContext, error: BaseException) -> Sequence[Output]:
    """The answer to an order that met a bug of ours: every URL ``internal``, and no pages."""
    detail = f"{type(error).__name__}: {error}"
    origin = OrderOrigin(running.order, running.ticket, ctx.worker, 0)
    results = tuple(unrequested(url, "internal", detail) for url in running.order.urls)
    return [fetched_of(origin, results, ctx.placement, ctx.now_ms())]
