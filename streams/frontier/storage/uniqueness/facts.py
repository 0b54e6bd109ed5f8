"""What is known of a URL beside that it exists: four bytes, Dorosz's U = (G, V) with priority and repetitions.

    | state 4 bits | depth 12 | priority 8 | count 8 |        most significant bit first

A smaller depth and a smaller priority number are the more urgent ones. Values that do not fit are clipped to the largest that does.

``count`` says how often a URL was discovered again after it was admitted, in units of ``count_unit``, and only while it waits to be
fetched: that is when popularity decides something. Every counted repetition is a change that must be logged and stored, and nine of
ten discoveries are repetitions. So repetitions are rounded to whole units at random: the count stays right on average, popular URLs
(the ones that matter) are counted nearly exactly, and of a unit's repetitions of rare ones only one is written. A unit of 1 is exact.
"""

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]

DEEPEST: Final = 0xFFF
LARGEST_COUNT: Final = 0xFF
COUNT_UNIT: Final = 8
"""At 20 million stored URLs and batches of 100,000 a unit of 1 writes 358 bytes a URL, this one 131, counting nothing 78; in processor
time it is a fifth more than nothing, a unit of 1 a third to a half."""


class UrlState(IntEnum):
    """A URL's place in its life; what is not WAITING is never changed by a discovery."""

    WAITING = 0
    """Queued, not yet ordered."""
    # 1 is taken: it stood for URLs in an order, which wait like all others that are not done.
    FETCHED = 2
    """Visited: V of U = (G, V)."""
    FAILED = 3
    """Given up."""
    REFUSED = 4
    """Known and never to be fetched (robots, budget, scope)."""


class Facts:
    """Columns of unpacked facts."""

    __slots__ = ("count", "depth", "priority", "state")

    def __init__(self, packed: U32) -> None:
        self.state: U8 = (packed >> np.uint32(28)).astype(np.uint8)
        self.depth: U16 = ((packed >> np.uint32(16)) & np.uint32(DEEPEST)).astype(np.uint16)
        self.priority: U8 = ((packed >> np.uint32(8)) & np.uint32(0xFF)).astype(np.uint8)
        self.count: U8 = (packed & np.uint32(0xFF)).astype(np.uint8)


def pack_facts(state: UrlState, depth: npt.ArrayLike, priority: npt.ArrayLike, count: npt.ArrayLike) -> U32:
    """Columns of one length, packed."""
    packed: U32 = np.clip(depth, 0, DEEPEST).astype(np.uint32)
    packed <<= np.uint32(8)
    packed |= np.clip(priority, 0, 0xFF).astype(np.uint32)
    packed <<= np.uint32(8)
    packed |= np.clip(count, 0, LARGEST_COUNT).astype(np.uint32)
    packed |= np.uint32(state << 28)
    return packed


def fold_facts(packed: U32, first: npt.NDArray[np.intp]) -> U32:
    """One value for each run of equal URLs that begins at ``first``: the least depth and priority, the sum of counts."""
    facts = Facts(packed)
    return pack_facts(
        UrlState.WAITING,
        np.minimum.reduceat(facts.depth, first),
        np.minimum.reduceat(facts.priority, first),
        np.add.reduceat(facts.count, first, dtype=np.uint32),
    )


def chances(hashes: npt.NDArray[np.uint64], salt: int, unit: int) -> U32:
    """A number in ``[0, unit)`` for each URL, another one with another salt."""
    mixed = (salt * 0x9E3779B97F4A7C15 >> 16) & 0xFFFFFFFF
    drawn = (hashes.astype(np.uint32) ^ np.uint32(mixed)) * np.uint32(0x9E3779B1)
    drawn ^= drawn >> np.uint32(15)
    drawn *= np.uint32(0x85EBCA77)
    return ((drawn >> np.uint32(16)) * np.uint32(unit)) >> np.uint32(16)


def discover(known: npt.NDArray[np.bool_], old: U32, found: U32, chance: U32, unit: int) -> U32:
    """What becomes of URLs' facts when they are found: ``old`` ones where ``known``.

    The count of ``found`` is how often each was, at least 1.
    """
    times = (found & np.uint32(LARGEST_COUNT)) - ~known
    units = (times + chance) // np.uint32(unit)
    old_or_new = np.where(known, old, found | np.uint32(LARGEST_COUNT))
    count = np.minimum(np.where(known, old & np.uint32(LARGEST_COUNT), np.uint32(0)) + units, np.uint32(LARGEST_COUNT))
    priority, depth = np.uint32(0xFF00), np.uint32(DEEPEST << 16)
    better = np.minimum(old_or_new & depth, found & depth) | np.minimum(old_or_new & priority, found & priority) | count
    settled = known & (old >= np.uint32((UrlState.WAITING + 1) << 28))
    return np.where(settled, old, better)
