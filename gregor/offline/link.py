"""A link of a given bandwidth and latency, by paper 004's rule of excess time.

Bodies come over the link one after the other, as from one network card. Each has its share of time, its bits by the bandwidth. One that
took longer leaves an excess, which the next ones pay back by not waiting; one that was faster waits for the rest of its share. So the
mean over many is the bandwidth, however late a timer fires. Time in which nothing waited for the link is nobody's: it is not saved up.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from xxhash import xxh3_64_intdigest

BITS: Final = 8


class ExcessTime:
    """The rule itself, without a clock."""

    def __init__(self, bits_per_s: float) -> None:
        self._bits_per_s = bits_per_s
        self.excess_s = 0.0

    def share_s(self, size: int) -> float:
        """The time that so many bytes have."""
        return size * BITS / self._bits_per_s

    def wait_s(self, size: int, spent_s: float) -> float:
        """How long to wait after they took ``spent_s``."""
        return max(0.0, self.share_s(size) - self.excess_s - spent_s)

    def settle(self, size: int, spent_s: float) -> None:
        """They are through, after ``spent_s`` with the wait."""
        self.excess_s = max(0.0, self.excess_s + spent_s - self.share_s(size))


class EmulatedLink:
    """For the requests of one event loop."""

    def __init__(
        self,
        mbit_per_s: float,
        latency_ms: float = 0.0,
        jitter: float = 0.0,
        seed: int = 1,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``mbit_per_s`` 0: as fast as it goes."""
        self._rule = ExcessTime(mbit_per_s * 1e6) if mbit_per_s else None
        self._latency_s = latency_ms / 1000
        self._jitter = jitter
        self._seed = seed
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._free_at = 0.0
        """When the last one was through, if another waited for it by then; else 0."""

    def latency_s(self, url: str) -> float:
        """Of this URL, always the same."""
        if not self._jitter:
            return self._latency_s
        drawn = xxh3_64_intdigest(url.encode(), self._seed) / 2**63 - 1
        return self._latency_s * (1 + self._jitter * drawn)

    async def delay(self, url: str) -> None:
        """Return when this URL's latency is over, and not before: uvloop's timers fire up to a millisecond early."""
        due = self._clock() + self.latency_s(url)
        while (left := due - self._clock()) > 0:
            await self._sleep(left)

    async def carry(self, size: int) -> None:
        """Return when so many bytes have come over the link."""
        rule = self._rule
        if rule is None or not size:
            return
        self._waiting += 1
        try:
            async with self._turn:
                # From one to the next without a gap: that the loop was busy in between is excess as well.
                begun = self._free_at or self._clock()
                if wait := rule.wait_s(size, self._clock() - begun):
                    await self._sleep(wait)
                now = self._clock()
                rule.settle(size, now - begun)
                self._free_at = now if self._waiting > 1 else 0.0
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._free_at = 0.0
