"""Blocks that were read lately, in one ring of memory in which whole batches are searched at once.

RocksDB has a cache of its own, but a read through it takes longer than everything else that is done to find a stray URL. Here a block
that is held costs no call and no copy. The oldest goes first; a batch may replace an eighth of the ring at the most, so that one which
walks through the whole store does not drive out everything.
"""

from typing import Final

import numpy as np

from streams.frontier.storage.uniqueness.entries import ENTRY_BYTES
from streams.frontier.storage.uniqueness.facts import U32
from streams.frontier.storage.uniqueness.keys import U64, Order
from streams.frontier.storage.uniqueness.search import Buffer, Mask, PackedBlocks

_SWEEPS: Final = 6
"""Room is made for a 64th of the ring at once: finding out what lies there looks at every block."""


class BlockCache:
    """Knows blocks by their index among ``starts``, the starts of all blocks of a partition."""

    def __init__(self, starts: U64, budget: int) -> None:
        """``budget`` in bytes; 0: nothing is held. Memory is taken as it is filled."""
        self.starts = starts
        self.budget = budget
        self._size = budget // ENTRY_BYTES
        self._raw = np.empty(self._size * ENTRY_BYTES, np.uint8)
        self._buffer = Buffer(self._raw)
        self._at: Order = np.full(len(starts), -1, np.intp)
        """Where each block lies in the ring, in entries; -1: it is not held."""
        self._counts: Order = np.zeros(len(starts), np.intp)
        self._next = 0
        self._clear = self._size
        """Nothing lies between the next place and here."""
        self._allowance = 0

    def next_batch(self) -> None:
        """From here on another eighth may be replaced; what is free may be filled at once."""
        self._allowance = max(self._size >> 3, self._clear - self._next)

    def held(self, blocks: Order) -> Mask:
        return self._at[blocks] >= 0

    def find(self, blocks: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Which of the URLs are there (as indexes), and their facts; ``blocks``, all held, says where each one would be."""
        return self._buffer.find(self._at[blocks], self._counts[blocks], keys, checks)

    def hold(self, blocks: Order, shelf: PackedBlocks) -> None:
        """Keep the first of these blocks, which are those of the shelf, as far as this batch may."""
        ends = np.cumsum(shelf.counts)
        kept = int(np.searchsorted(ends, self._allowance, side="right"))
        done = 0
        while done < kept:
            begin = int(ends[done - 1]) if done else 0
            # As many as fit before the ring's end; then from its beginning.
            fit = min(kept, int(np.searchsorted(ends, begin + self._size - self._next, side="right")))
            if fit > done:
                self._put(blocks[done:fit], shelf, done, fit)
            elif not self._next:
                return
            if fit < kept:
                self._next = self._clear = 0
            done = fit

    def _put(self, blocks: Order, shelf: PackedBlocks, begin: int, end: int) -> None:
        """One after the other at the next place; they fit."""
        counts = shelf.counts[begin:end]
        size = int(counts.sum())
        self._make_room(size)
        first, last = self._next * ENTRY_BYTES, (self._next + size) * ENTRY_BYTES
        self._raw[first:last] = shelf.raw(begin, end)
        self._at[blocks] = self._next + np.cumsum(counts) - counts
        self._counts[blocks] = counts
        self._next += size
        self._allowance -= size

    def _make_room(self, entries: int) -> None:
        """Forget what lies in the next so many places."""
        if self._next + entries <= self._clear:
            return
        clear = min(self._size, max(self._next + entries, self._clear + (self._size >> _SWEEPS)))
        gone = (self._at < clear) & (self._at + self._counts > self._clear) & (self._counts > 0)
        self._at[gone] = -1
        self._clear = clear

    def changed(self, starts: U64, dropped: Mask) -> None:
        """There are more blocks now; ``dropped`` are those of them whose content is another."""
        at, counts = np.full(len(starts), -1, np.intp), np.zeros(len(starts), np.intp)
        moved = np.searchsorted(starts, self.starts)
        at[moved], counts[moved] = self._at, self._counts
        at[dropped] = -1
        self.starts, self._at, self._counts = starts, at, counts
