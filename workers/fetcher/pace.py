"""When the next request may start: by the order's delay, and best effort by IP address.

A server must never see two requests closer together than the delay. Counting from the moment that a request was sent leaves the network's
jitter and the server's own lateness; counting from its answer is certain, because the server had the request by then. So an order that asks
in turn counts from the answer. One that may ask on several connections must not wait for the slowest of them: there an answer counts when
it comes within ``CERTAIN`` of the delay, and otherwise that moment does.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

CERTAIN: Final = 0.03
SHORT_S: Final = 1.0
"""A wait that nobody who leaves minds."""
SERVERS_OF_ADDRESS: Final = 8
"""So many servers behind one address go at their full rate; more of them share it."""
LONGEST_COUNTED_S: Final = 60.0
"""A longer delay counts as this one where servers share an address: one of them must not stop all others for hours."""
LONGEST_LINE: Final = 64
LONGEST_TURN_S: Final = 20.0
"""So many requests, and for so long, wait for one address: each of them takes a place that another server's order could have."""
LONGEST_WAIT_S: Final = 600.0
"""For its own server's delay an order keeps its place no longer."""
LATER_S: Final = 600.0
"""Whoever is sent away from a crowded address is sent away for no longer."""
REMEMBERED_ADDRESSES: Final = 65_536


class Pace:
    """One order's requests, in turn or several at once."""

    def __init__(self, delay_s: float, begins: float, connections: int, leaving: asyncio.Event) -> None:
        self._delay = delay_s
        self._next = begins
        self._in_turn = connections == 1
        self._leaving = leaving

    @property
    def left_s(self) -> float:
        """Until a request may start; 0 or less: it may."""
        return self._next - time.monotonic()

    async def wait(self) -> None:
        """Until a request may start, or until none will be."""
        while (left := self.left_s) > 0 and not self._leaving.is_set():
            await _sleep(left, self._leaving)

    async def take(self) -> None:
        """Wait until a request may start, and be the one that does."""
        await self.wait()
        self._next = time.monotonic() + self._delay

    def sent(self, sent_at: float, answered_at: float) -> None:
        """A request left at ``sent_at`` and was answered at ``answered_at`` (0: never); it is over."""
        counted = answered_at or time.monotonic()
        if not self._in_turn:
            counted = min(counted, sent_at + CERTAIN * self._delay)
        self._next = max(self._next, counted + self._delay)


class _Line(Struct):
    """Those who wait for one address."""

    free: float = 0.0
    """When the next request may start."""
    after: float = 0.0
    """When the next of those who were sent away could start, if all of them came back."""


class AddressPace:
    """Starts of requests by address, over all orders of the process.

    A line that grew with the number of servers would hold every order beyond its deadline and get nowhere. So it is short: whoever does
    not fit in takes nothing, and is told when to come again, one after another at the address's pace.
    """

    def __init__(self, leaving: asyncio.Event, clock: Callable[[], float] = time.monotonic) -> None:
        self._leaving = leaving
        self._clock = clock
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    async def turn(self, address: str, delay_s: float, left_s: float) -> float:
        """Wait for the address, and be the next one: 0. Otherwise the turn is too far away, or further than ``left_s``, and not taken: the
        seconds after which to ask again. Best effort, because a name's address is known only after its first request."""
        if not address or not delay_s:
            return 0.0
        step = min(delay_s, LONGEST_COUNTED_S) / SERVERS_OF_ADDRESS
        reach = min(LONGEST_TURN_S, LONGEST_LINE * step)
        now = self._clock()
        line = self._line(address)
        wait = max(0.0, line.free - now)
        if wait > min(reach, left_s):
            # Back in time to find the line half full: an address that waits for those who come back late would lose turns.
            again = max(line.after, line.free) - now - reach / 2
            if again < LATER_S:
                line.after = max(line.after, line.free) + step
            return min(max(again, step), LATER_S)
        line.free = now + wait + step
        if wait:
            await _sleep(wait, self._leaving)
        return 0.0

    def _line(self, address: str) -> _Line:
        line = self._lines.get(address)
        if line is None:
            line = self._lines[address] = _Line()
            if len(self._lines) > REMEMBERED_ADDRESSES:
                self._lines.popitem(last=False)
        else:
            self._lines.move_to_end(address)
        return line


async def _sleep(seconds: float, leaving: asyncio.Event) -> None:
    """For so long, or until no request will be made any more."""
    if seconds < SHORT_S:
        await asyncio.sleep(seconds)
    else:
        with suppress(TimeoutError):
            await asyncio.wait_for(leaving.wait(), seconds)
