"""Finding few URLs in each of many packed blocks, without taking the blocks apart.

Blocks lie one after the other in one buffer, and every URL is searched in its own block; all searches take their steps together. A
stray URL costs one copy of its block into the buffer and a dozen steps, where splitting the block into columns would cost more than
the search.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gregor.errors import CorruptState
from streams.frontier.uniqueness.entries import ENTRY_BYTES
from streams.frontier.uniqueness.facts import U32
from streams.frontier.uniqueness.keys import U64, Order

Mask = npt.NDArray[np.bool_]


class Shelf:
    """Packed blocks, each as | keys 8n | checks 4n | facts 4n |, one after the other."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        """A block that is not there is empty."""
        parts = [value or b"" for value in values]
        lengths = np.fromiter(map(len, parts), np.intp, len(parts))
        if (lengths % ENTRY_BYTES).any():
            raise CorruptState("a block of known URLs has a length that is no multiple of 16 bytes")
        buffer = b"".join(parts)
        self._counts = lengths // ENTRY_BYTES
        self._at = (np.cumsum(lengths) - lengths) // ENTRY_BYTES
        self._keys = np.frombuffer(buffer, "<u8")
        self._words = np.frombuffer(buffer, "<u4")

    def find(self, blocks: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Which of the URLs are there (as indexes), and their facts; ``blocks`` says in which block each one would be."""
        rest = np.flatnonzero(self._counts[blocks])
        blocks, wanted = blocks[rest], keys[rest]
        begin, count = self._at[blocks] * 2, self._counts[blocks]
        at = self._lower_bound(begin, count, wanted)
        there = (at < begin + count) & (self._keys[np.minimum(at, len(self._keys) - 1)] == wanted)
        hits = np.flatnonzero(there)
        rest, at, begin, count = rest[hits], at[hits], begin[hits], count[hits]
        # | begin | count keys | : checks follow the keys, in words of half the size
        check_at = at - begin + 2 * (begin + count)
        same = self._words[check_at] == checks[rest]
        if not same.all():
            collided = np.flatnonzero(~same)
            some = rest[collided]
            moved, found = self._among_equal(at[collided], begin[collided], count[collided], keys[some], checks[some])
            check_at[collided] += moved
            same[collided] = found
        return rest[same], self._words[(check_at + count)[same]]

    def _lower_bound(self, begin: Order, count: Order, wanted: U64) -> Order:
        """Per search the first position in ``[begin, begin + count)`` whose key is not less; counts are at least 1."""
        keys, at, left = self._keys, begin.copy(), count.copy()
        for _ in range(int(count.max(initial=1) - 1).bit_length()):
            half = left >> 1
            at += half * (keys[at + half - 1] < wanted)
            left -= half
        at += keys[at] < wanted
        return at

    def _among_equal(self, at: Order, begin: Order, count: Order, keys: U64, checks: U32) -> tuple[Order, Mask]:
        """Searches that met their key with another check: how many entries further theirs is, and whether it is there."""
        last = np.uint64(0xFFFFFFFFFFFFFFFF)
        end = np.where(
            keys == last,
            begin + count,
            self._lower_bound(begin, count, np.minimum(keys, last - np.uint64(1)) + np.uint64(1)),
        )
        base = 2 * (begin + count) - begin
        low, high = at.copy(), end.copy()
        while (open_ := low < high).any():
            middle = (low + high) >> 1
            less = open_ & (self._words[np.where(open_, base + middle, 0)] < checks)
            high = np.where(open_ & ~less, middle, high)
            low = np.where(less, middle + 1, low)
        inside = low < end
        found = inside & (self._words[np.where(inside, base + low, 0)] == checks)
        return low - at, found
