"""Sites that have a slot, as an extractor remembers them: 64 bits of a site's name and the number of its slot, about 11 bytes a site.

    hashes   | 8 | 8 | ...   sorted
    slots    | 2 | 2 | ...   of the same order
    starts   | 4 | 4 | ...   where the hashes begin that have these first bits, so few that they lie side by side

Two sites with one hash are taken for one, and a link may be sent to the other's slot, which sends it home: a detour, nothing more. The
same holds for a table that is old.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

UNKNOWN: Final = -1
TOGETHER: Final = 8
"""Hashes with the same first bits, on average: a line of the processor's cache. A search among all of them would miss it twenty times."""
LEAST_MERGED: Final = 4096
"""Sites that may wait in the dictionary, however small the table is."""
MERGED_SHARE: Final = 32
"""A site in the dictionary takes about a hundred bytes: one of so many adds three bytes a site."""


class SiteTable:
    """The columns, and beside them a dictionary of what came since, until it is worth a merge."""

    def __init__(self) -> None:
        self._set(np.empty(0, np.uint64), np.empty(0, np.uint16))
        self._recent: dict[int, int] = {}

    def _set(self, hashes: npt.NDArray[np.uint64], slots: npt.NDArray[np.uint16]) -> None:
        bits = (len(hashes) // TOGETHER).bit_length()
        self._shift = 64 - bits
        # A shift by all 64 bits means nothing to the processor.
        firsts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(min(self._shift, 63))
        starts = np.append(hashes.searchsorted(firsts), len(hashes)).astype(np.uint32)
        self._columns = hashes, slots, starts
        self._hashes, self._slots, self._starts = hashes.data, slots.data, starts.data

    def __len__(self) -> int:
        """How many sites there are; those that came again lately count twice."""
        return len(self._hashes) + len(self._recent)

    @property
    def bytes(self) -> int:
        """Memory of the columns."""
        return sum(column.nbytes for column in self._columns)

    def add(self, slots: Mapping[int, int]) -> None:
        """Hashes of sites with their slots, which are below 65,536; of two that differ the later one counts."""
        self._recent.update(slots)
        if len(self._recent) > max(LEAST_MERGED, len(self._hashes) // MERGED_SHARE):
            self._merge()

    def slots(self, wanted: Sequence[int]) -> list[int]:
        """The slot of each; UNKNOWN: it has none."""
        recent, shift = self._recent, self._shift
        hashes, slots, starts = self._hashes, self._slots, self._starts
        found = []
        for one in wanted:
            slot = recent.get(one, UNKNOWN)
            if slot == UNKNOWN:
                first = one >> shift
                end = starts[first + 1]
                at = bisect_left(hashes, one, starts[first], end)
                if at < end and hashes[at] == one:
                    slot = slots[at]
            found.append(slot)
        return found

    def _merge(self) -> None:
        hashes, slots, _ = self._columns
        new = np.fromiter(self._recent.keys(), np.uint64, len(self._recent))
        their_slots = np.fromiter(self._recent.values(), np.uint16, len(self._recent))
        self._recent = {}
        order = new.argsort()
        new, their_slots = new[order], their_slots[order]
        at = hashes.searchsorted(new)
        there = np.zeros(len(new), bool)
        inside = at < len(hashes)
        there[inside] = hashes[at[inside]] == new[inside]
        slots[at[there]] = their_slots[there]
        missing = ~there
        self._set(np.insert(hashes, at[missing], new[missing]), np.insert(slots, at[missing], their_slots[missing]))
