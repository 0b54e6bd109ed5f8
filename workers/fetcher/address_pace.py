"""Turns of requests by IP address, best effort: servers that share one go at its pace."""

import time
from asyncio import Event
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from workers.fetcher.leaving import sleep

SERVERS_OF_ADDRESS: Final = 8
"""So many servers behind one address go at their full rate; more of them share it."""
LONGEST_COUNTED_S: Final = 60.0
"""A longer delay counts as this one where servers share an address: one of them must not stop all others for hours."""
LONGEST_LINE: Final = 64
LONGEST_TURN_S: Final = 20.0
"""So many requests, and for so long, wait for one address: each of them takes a place that another server's order could have."""
LATER_S: Final = 600.0
"""Whoever is sent away from a crowded address is sent away for no longer."""
REMEMBERED_ADDRESSES: Final = 65_536


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

    def __init__(
        self,
        leaving: Event,
        clock: Callable[[], float] = time.monotonic,
        *,
        servers: int = SERVERS_OF_ADDRESS,
        line: int = LONGEST_LINE,
    ) -> None:
        """``servers`` go at their full rate, ``line`` requests wait."""
        self._leaving = leaving
        self._clock = clock
        self._sharing = servers
        self._longest = line
        self._lines: OrderedDict[str, _Line] = OrderedDict()

    async def turn(self, address: str, delay_s: float, left_s: float) -> float:
        """Wait for the address, and be the next one: 0. Otherwise the turn is too far away, or further than ``left_s``, and not taken: the
        seconds after which to ask again. Best effort, because a name's address is known only after its first request."""
        if not address or not delay_s:
            return 0.0
        step = min(delay_s, LONGEST_COUNTED_S) / self._sharing
        reach = min(LONGEST_TURN_S, self._longest * step)
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
            await sleep(wait, self._leaving)
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
