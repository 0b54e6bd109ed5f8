"""When the next request to a server may start.

An order is a record that anybody may have written, and a server may have several of them here at once. So a server's orders share its
clocks, one for each order that the frontier may have out, and the longest of their delays holds for all of them.

A server must never see two requests closer together than the delay. Counting from the moment that a request was sent leaves the network's
jitter and the server's own lateness; counting from its answer is certain, because the server had the request by then. So an order, which
asks in turn, counts from the answer.

A server is also asked by orders of others, when their robots.txt is redirected to it. Such a guest waits until the delay has passed since
any request to the server, and its own orders until it has passed since the guest's; while a request is under way it has not begun to pass.
Who has waited may still have to wait for a connection, and finds then that somebody else was faster: the delay is looked at once more
before a request begins.

What an order has read or asked stays known when its result is dropped, because its partition went away: the next one may come sooner than
it should, and whoever ordered it has not heard of the Crawl-delay.
"""

import asyncio
import math
import time
from collections import OrderedDict
from typing import Final

from workers.fetcher.backends.backend import Scheme
from workers.fetcher.leaving import sleep

GUESTS_IN_LINE: Final = 2
"""Delays that a guest waits for its turn: its host's own orders must not wait for a crowd of them."""
LONGEST_WAIT_S: Final = 600.0
"""For its own server's delay an order keeps its place no longer."""
REMEMBERED_SERVERS: Final = 65_536


class ServerClocks:
    """What this process knows of its requests to one server. Moments are those that a delay is counted from, in monotonic seconds."""

    __slots__ = ("_guests", "clocks", "crawl_delays_s", "guests_under_way")

    def __init__(self) -> None:
        self.clocks: list[OrderThrottle] = []
        self._guests = -math.inf
        self.guests_under_way = 0
        self.crawl_delays_s: dict[Scheme, float] = {}
        """What the robots.txt of each of its origins asks for, as far as it was read here; 0: nothing."""

    @property
    def crawl_delay_s(self) -> float:
        """The longest of them, which holds for the whole server."""
        return max(self.crawl_delays_s.values(), default=0.0)

    @property
    def guests(self) -> float:
        """The last request of another server's order."""
        return time.monotonic() if self.guests_under_way else self._guests

    @guests.setter
    def guests(self, moment: float) -> None:
        self._guests = max(self._guests, moment)

    @property
    def asked(self) -> float:
        """The last request of anybody's."""
        return max([self.guests, *(one.last for one in self.clocks)])

    @property
    def nothing_to_remember(self) -> bool:
        return (
            self.guests == -math.inf
            and not self.crawl_delay_s
            and not any(one.orders or one.delay_s for one in self.clocks)
        )


class OrderThrottle:
    """One clock of a server: the requests of the orders that go by it."""

    __slots__ = ("_last", "_leaving", "_not_before", "_server", "_under_way", "delay_s", "orders")

    def __init__(self, server: ServerClocks, leaving: asyncio.Event) -> None:
        self.delay_s = 0.0
        self.orders = 0
        """How many go by it now."""
        self._last = -math.inf
        self._under_way = 0
        self._not_before = -math.inf
        self._server = server
        self._leaving = leaving

    @property
    def last(self) -> float:
        """What the delay is counted from."""
        return time.monotonic() if self._under_way else self._last

    @property
    def left_s(self) -> float:
        """Until a request may start; 0 or less: it may. While another one is under way: when to look again."""
        return max(max(self.last, self._server.guests) + self.delay_s, self._not_before) - time.monotonic()

    def begun_elsewhere(self, wait_s: float) -> None:
        """Another fetcher may have asked a moment ago."""
        self._not_before = time.monotonic() + wait_s

    def lengthen(self, delay_s: float) -> None:
        """The server has asked for a longer delay, which holds from its last answer on."""
        self.delay_s = max(self.delay_s, delay_s)

    async def wait(self) -> None:
        """Until a request may start, or until none will be."""
        while (left := self.left_s) > 0 and not self._leaving.is_set():
            await sleep(left, self._leaving)

    def begin(self) -> None:
        """A request starts; ``done`` follows."""
        self._under_way += 1

    def done(self, answered_at: float) -> None:
        """A request is over, which was answered at ``answered_at`` (0: never)."""
        self._under_way -= 1
        self._last = max(self._last, answered_at or time.monotonic())


class GuestPace(OrderThrottle):
    """Requests to a server for an order of another one."""

    __slots__ = ()

    def __init__(self, server: ServerClocks, delay_s: float, leaving: asyncio.Event) -> None:
        super().__init__(server, leaving)
        self.delay_s = max(delay_s, server.crawl_delay_s)

    @property
    def left_s(self) -> float:
        return self._server.asked + self.delay_s - time.monotonic()

    def begin(self) -> None:
        self._server.guests_under_way += 1

    def done(self, answered_at: float) -> None:
        self._server.guests_under_way -= 1
        self._server.guests = answered_at or time.monotonic()


class Paces:
    """The clocks of all servers, those that were asked last, as many as fit."""

    def __init__(self, orders_of_server: int, leaving: asyncio.Event) -> None:
        self._most = orders_of_server
        self._leaving = leaving
        self._servers: OrderedDict[str, ServerClocks] = OrderedDict()

    def of(self, server: str) -> ServerClocks:
        found = self._servers.setdefault(server, ServerClocks())
        self._servers.move_to_end(server)
        if len(self._servers) > REMEMBERED_SERVERS:
            self._servers.popitem(last=False)
        return found

    def enter(self, server: str, delay_s: float) -> OrderThrottle:
        """The clock of a new order; ``leave`` follows."""
        found = self.of(server)
        clocks = found.clocks
        delay_s = max([delay_s, *(one.delay_s for one in clocks if one.orders)])
        if len(clocks) < self._most and all(one.orders for one in clocks):
            clocks.append(OrderThrottle(found, self._leaving))
        pace = min(clocks, key=lambda one: (one.orders, one.last))
        pace.orders += 1
        for one in clocks:
            if one.orders:
                one.delay_s = delay_s
        return pace

    def leave(self, server: str, pace: OrderThrottle) -> None:
        pace.orders -= 1
        found = self._servers.get(server)
        if found is not None and found.nothing_to_remember:
            del self._servers[server]

    def as_guest(self, server: str, delay_s: float) -> GuestPace:
        """For an order of another server."""
        return GuestPace(self.of(server), delay_s, self._leaving)
