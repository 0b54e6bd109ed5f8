"""When the next request may start: by the order's delay, and best effort by IP address.

A server must never see two requests closer together than the delay. Counting from the moment that a request was sent leaves the network's
jitter and the server's own lateness; counting from its answer is certain, because the server had the request by then. So an order that asks
in turn counts from the answer. One that may ask on several connections must not wait for the slowest of them: there an answer counts when
it comes within ``CERTAIN`` of the delay, and otherwise that moment does.
"""

import asyncio
import time
from collections import OrderedDict
from contextlib import suppress
from typing import Final

CERTAIN: Final = 0.03
SHORT_S: Final = 1.0
"""A wait that nobody who leaves minds."""
SERVERS_OF_ADDRESS: Final = 8
"""So many servers behind one address go at their full rate; more of them share it."""
REMEMBERED_ADDRESSES: Final = 65_536


class Pace:
    """One order's requests, in turn or several at once."""

    def __init__(self, delay_s: float, begins: float, connections: int, leaving: asyncio.Event) -> None:
        self._delay = delay_s
        self._next = begins
        self._in_turn = connections == 1
        self._leaving = leaving

    async def wait(self) -> None:
        """Until a request may start, or until none will be."""
        while (left := self._next - time.monotonic()) > 0 and not self._leaving.is_set():
            if left < SHORT_S:
                await asyncio.sleep(left)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), left)

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


class AddressPace:
    """Starts of requests by address, over all orders of the process."""

    def __init__(self) -> None:
        self._next: OrderedDict[str, float] = OrderedDict()

    async def turn(self, address: str, delay_s: float) -> None:
        """Wait for the address; best effort, because a name's address is known only after its first request."""
        if not address or not delay_s:
            return
        now = time.monotonic()
        start = max(now, self._next.get(address, 0.0))
        self._next[address] = start + delay_s / SERVERS_OF_ADDRESS
        self._next.move_to_end(address)
        if len(self._next) > REMEMBERED_ADDRESSES:
            self._next.popitem(last=False)
        if start > now:
            await asyncio.sleep(start - now)
