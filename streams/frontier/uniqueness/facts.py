"""What is known of a URL beside that it exists: four bytes, Dorosz's U = (G, V) with priority and repetitions.

    | state 4 bits | depth 12 | priority 8 | count 8 |        most significant bit first

A smaller depth and a smaller priority number are the more urgent ones. Values that do not fit are clipped to the largest that does.

``count`` says how often a URL was discovered, exactly, up to a limit at which it stays, and only while the URL waits to be fetched:
that is when popularity decides something. Every counted repetition is a change that must be logged and stored, so the limit bounds
what the repetitions of one URL can cost.
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
COUNT_LIMIT: Final = 4
"""Once, twice, three times, often: enough to order by, and at most three changes in a URL's life."""


class UrlState(IntEnum):
    """A URL's place in its life; what is not WAITING is never changed by a discovery."""

    WAITING = 0
    """Queued, not yet ordered."""
    ORDERED = 1
    """In an order that was handed to a fetcher."""
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


def pack_facts(
    state: UrlState,
    depth: npt.ArrayLike,
    priority: npt.ArrayLike,
    count: npt.ArrayLike,
    count_limit: int = LARGEST_COUNT,
) -> U32:
    """Columns of one length, packed; a count below 1 is 1."""
    packed: U32 = np.clip(depth, 0, DEEPEST).astype(np.uint32)
    packed <<= np.uint32(8)
    packed |= np.clip(priority, 0, 0xFF).astype(np.uint32)
    packed <<= np.uint32(8)
    packed |= np.clip(count, 1, min(count_limit, LARGEST_COUNT)).astype(np.uint32)
    packed |= np.uint32(state << 28)
    return packed


def state_of(packed: U32) -> U32:
    return packed >> np.uint32(28)


def fold_facts(packed: U32, first: npt.NDArray[np.intp], count_limit: int) -> U32:
    """One value for each run of equal URLs that begins at ``first``: the least depth and priority, the sum of counts."""
    facts = Facts(packed)
    return pack_facts(
        UrlState.WAITING,
        np.minimum.reduceat(facts.depth, first),
        np.minimum.reduceat(facts.priority, first),
        np.add.reduceat(facts.count, first, dtype=np.uint32),
        count_limit,
    )


def rediscover(known: U32, found: U32, count_limit: int) -> U32:
    """What becomes of ``known`` facts when the URLs are discovered again, as ``found``."""
    waiting = known < np.uint32((UrlState.WAITING + 1) << 28)
    limit = np.uint32(min(count_limit, LARGEST_COUNT))
    low = np.uint32(0xFF)
    # A count beyond the limit, of a store that had a larger one, stays.
    count = np.maximum(known & low, np.minimum((known & low) + (found & low), limit))
    middle = np.uint32(0xFF00)
    high = np.uint32(DEEPEST << 16)
    better = np.minimum(known & high, found & high) | np.minimum(known & middle, found & middle) | count
    return np.where(waiting, better, known)
