"""Blocks that were read lately, in one ring of memory in which whole batches are searched at once.

RocksDB has a cache of its own, but a read through it takes longer than everything else that is done to find a stray URL. Here a block
that is held costs no call and no copy. The oldest goes first; a batch may replace an eighth of the ring at the most, so that one which
walks through the whole store does not drive out everything.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from streams.frontier.uniqueness.entries import ENTRY_BYTES
from streams.frontier.uniqueness.facts import U32
from streams.frontier.uniqueness.keys import U64, Order
from streams.frontier.uniqueness.search import Buffer, Mask


class BlockCache:
    """Knows blocks by their index among ``starts``, the starts of all blocks of a partition."""

    def __init__(self, starts: U64, budget: int) -> None:
        """``budget`` in bytes; 0: nothing is held. Memory is taken as it is filled."""
        self.starts = starts
        self._size = budget // ENTRY_BYTES
        self._raw = np.empty(self._size * ENTRY_BYTES, np.uint8)
        self._bytes = self._raw.data
        self._buffer = Buffer(self._raw)
        self._at: Order = np.full(len(starts), -1, np.intp)
        """Where each block lies in the ring, in entries; -1: it is not held."""
        self._counts: Order = np.zeros(len(starts), np.intp)
        self._queue: deque[tuple[int, int, int]] = deque()
        """(start, place, end) in the order of the ring; some have been dropped since."""
        self._next = 0
        self._round = 0
        self._allowance = 0

    def next_batch(self) -> None:
        """From here on another eighth may be replaced; what is free may be filled at once."""
        self._allowance = max(self._size >> 3, 0 if self._round else self._size - self._next)

    def held(self, blocks: Order) -> Mask:
        return self._at[blocks] >= 0

    def find(self, blocks: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Which of the URLs are there (as indexes), and their facts; ``blocks``, all held, says where each one would be."""
        return self._buffer.find(self._at[blocks], self._counts[blocks], keys, checks)

    def hold(self, blocks: Order, values: Sequence[bytes | None]) -> None:
        """Keep what was read of these blocks, as far as this batch may."""
        gone: list[tuple[int, int, int]] = []
        for block, start, value in zip(blocks.tolist(), self.starts[blocks].tolist(), values, strict=True):
            entries = len(value or b"") // ENTRY_BYTES
            if entries > self._allowance or entries > self._size >> 3:
                continue
            self._allowance -= entries
            place = self._make_room(entries, gone) if entries else 0
            if value:
                self._bytes[place * ENTRY_BYTES : (place + entries) * ENTRY_BYTES] = value
                self._queue.append((start, place, place + entries))
            self._at[block] = place
            self._counts[block] = entries
        if gone:
            starts, places, _ = (np.array(column, dtype=np.uint64) for column in zip(*gone, strict=True))
            which = np.minimum(np.searchsorted(self.starts, starts), len(self.starts) - 1)
            # One that was dropped and read again lies elsewhere.
            same = (self.starts[which] == starts) & (self._at[which] == places.astype(np.intp))
            self._at[which[same]] = -1

    def _make_room(self, entries: int, gone: list[tuple[int, int, int]]) -> int:
        """Where so many entries may be put; what lay there is added to ``gone``."""
        queue = self._queue
        if self._next + entries > self._size:
            while queue and queue[0][1] >= self._next:
                gone.append(queue.popleft())
            self._next, self._round = 0, self._round + 1
        place = self._next
        self._next += entries
        while self._round and queue and place <= queue[0][1] < self._next:
            gone.append(queue.popleft())
        return place

    def changed(self, starts: U64, dropped: Mask) -> None:
        """There are more blocks now; ``dropped`` are those of them whose content is another."""
        at, counts = np.full(len(starts), -1, np.intp), np.zeros(len(starts), np.intp)
        moved = np.searchsorted(starts, self.starts)
        at[moved], counts[moved] = self._at, self._counts
        at[dropped] = -1
        self.starts, self._at, self._counts = starts, at, counts
