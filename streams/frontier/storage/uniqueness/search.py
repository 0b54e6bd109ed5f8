"""Finding URLs in packed blocks that lie in one buffer, without taking the blocks apart.

Every URL is searched in its own block; all searches take their steps together.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gregor.errors import CorruptState
from streams.frontier.storage.uniqueness.entries import ENTRY_BYTES
from streams.frontier.storage.uniqueness.facts import U32
from streams.frontier.storage.uniqueness.keys import U64, Order

Mask = npt.NDArray[np.bool_]


class Buffer:
    """Bytes that hold packed blocks, each as | keys 8n | checks 4n | facts 4n |, at multiples of an entry's size."""

    def __init__(self, raw: npt.NDArray[np.uint8]) -> None:
        self._keys = raw.view("<u8")
        self._words = raw.view("<u4")

    def find(self, at: Order, counts: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Which of the URLs are there (as indexes), and their facts.

        ``at`` says where the block begins in which each one would be, in entries, ``counts`` how many entries it has.
        """
        rest = np.flatnonzero(counts)
        begin, count, wanted = at[rest] * 2, counts[rest], keys[rest]
        place = self._lower_bound(begin, count, wanted)
        there = (place < begin + count) & (self._keys[np.minimum(place, len(self._keys) - 1)] == wanted)
        hits = np.flatnonzero(there)
        rest, place, begin, count = rest[hits], place[hits], begin[hits], count[hits]
        # | begin | count keys | : checks follow the keys, in words of half the size
        check_at = place - begin + 2 * (begin + count)
        same = self._words[check_at] == checks[rest]
        if not same.all():
            collided = np.flatnonzero(~same)
            some = rest[collided]
            moved, found = self._among_equal(
                place[collided], begin[collided], count[collided], keys[some], checks[some]
            )
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


class PackedBlocks:
    """Packed blocks, one after the other; a block that is not there is empty."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        parts = [value or b"" for value in values]
        lengths = np.fromiter(map(len, parts), np.intp, len(parts))
        if (lengths % ENTRY_BYTES).any():
            raise CorruptState("a block of known URLs has a length that is no multiple of 16 bytes")
        self._raw = np.frombuffer(b"".join(parts), np.uint8)
        self._buffer = Buffer(self._raw)
        self.counts: Order = lengths // ENTRY_BYTES
        self._at = np.cumsum(self.counts) - self.counts

    def raw(self, begin: int, end: int) -> npt.NDArray[np.uint8]:
        """The bytes of the blocks from one up to another."""
        if begin == end:
            return self._raw[:0]
        last = self._at[end - 1] + self.counts[end - 1]
        return self._raw[self._at[begin] * ENTRY_BYTES : last * ENTRY_BYTES]

    def find(self, blocks: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Which of the URLs are there (as indexes), and their facts; ``blocks`` says in which block each one would be."""
        return self._buffer.find(self._at[blocks], self.counts[blocks], keys, checks)
