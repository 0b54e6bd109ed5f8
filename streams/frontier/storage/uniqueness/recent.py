"""What was admitted or changed lately and is not yet in its blocks: in memory, and in the state as runs.

A block that takes in one URL is written whole. So entries wait until their blocks have many of them. When a budget is reached, the
stretch of keys goes first whose blocks have the most: links to the servers that are being crawled soon, strays late. One stretch, and
not the densest blocks wherever they are, because RocksDB merges what was written with all that lies between its first and its last
key. This is what VEUNIQ's TMP does for URLs, done for writes: nothing waits for its answer.

``decide`` says which ranges a checkpoint folds into blocks, the log carries it, and ``committed`` forgets them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gregor.runtime.state.store import StateReader
from streams.frontier.storage.uniqueness.blocks import number_of_run, read_entries, read_runs
from streams.frontier.storage.uniqueness.deltas import MOST_RANGES, Ranges, no_ranges
from streams.frontier.storage.uniqueness.entries import Entries, merge, newest, no_entries
from streams.frontier.storage.uniqueness.keys import (
    REGIONS,
    U64,
    Order,
    first_key_of_region,
    regions_of,
)

RECENT_ENTRIES: Final = 128 * 1024
"""For one partition, 2 MB; a process has several."""
_UNIT_BLOCKS: Final = 4096
"""A region is folded whole, so that its runs are gone with it, but in parts of so many blocks where it is larger."""
_REGION_ENTRIES: Final = 32 * 1024
"""A region's runs travel in one snapshot piece."""
_RUN_OVERHEAD: Final = 2
"""A run's key and lengths, in entries."""
_REGION_EDGES: Final = np.array([first_key_of_region(region) for region in range(1, REGIONS)], dtype=np.uint64)

Counts = npt.NDArray[np.intp]


class Decision(Struct, frozen=True):
    """What becomes of the waiting entries with one checkpoint."""

    number: int
    ranges: Ranges
    """To be folded into blocks."""
    left: Entries | None = None
    """All that waits afterwards; None: as before, and what is pending."""


class RecentEntries:
    """Entries of one partition that wait for their blocks; as of the last checkpoint."""

    def __init__(self, state: StateReader, budget: int) -> None:
        """``budget`` in entries."""
        self._budget = max(1, budget)
        self._gather = max(1, budget >> 5)
        runs = [read_runs(state, region) for region in range(REGIONS)]
        self._runs: Counts = np.array([len(some) for some in runs])
        self._number = 1 + max((number_of_run(key) for some in runs for key, _ in some), default=-1)
        self._old = newest(read_entries([value for some in runs for _, value in some]))
        self._fresh = no_entries()

    def __len__(self) -> int:
        """Entries, those that changed again since counted twice."""
        return len(self._old) + len(self._fresh)

    @property
    def layers(self) -> tuple[Entries, Entries]:
        """Where to look, the newest first."""
        return self._fresh, self._old

    def decide(self, pending: Entries, starts: U64) -> Decision:
        """For a checkpoint that adds these; ``starts`` are those of all blocks."""
        heavy = self._weights(pending) > _REGION_ENTRIES
        if len(self._fresh) + len(pending) <= self._gather and not heavy.any():
            return Decision(self._number, no_ranges())
        added = merge(self._fresh, pending)
        over = len(self._old) + len(added) - self._budget
        if over <= 0 and not heavy.any():
            return Decision(self._number, no_ranges(), merge(self._old, added))
        ranges = _densest((self._old.keys, added.keys), starts, over + self._gather if over > 0 else 0, heavy)
        return Decision(self._number, ranges, merge(_outside(self._old, ranges), _outside(added, ranges)))

    def _weights(self, pending: Entries) -> Counts:
        """Of each region's runs, were these added."""
        entries = sum(_by_region(layer.keys) for layer in (self._old, self._fresh, pending))
        return entries + _RUN_OVERHEAD * self._runs

    def committed(self, pending: Entries, decision: Decision) -> None:
        """What was decided is in the state."""
        self._number = decision.number + 1
        self._runs += _by_region(pending.keys) > 0
        if decision.left is None:
            self._fresh = merge(self._fresh, pending)
            return
        self._old, self._fresh = decision.left, no_entries()
        if len(decision.ranges):
            folded = np.unique(regions_of(decision.ranges.lows)).astype(np.intp)
            self._runs[folded] = _by_region(self._old.keys)[folded] > 0


def _by_region(keys: U64) -> Counts:
    """How many of sorted keys each region has."""
    return np.diff(np.searchsorted(keys, _REGION_EDGES), prepend=0, append=len(keys))


def _outside(entries: Entries, ranges: Ranges) -> Entries:
    """What the ranges do not hold. They are few and hold long stretches, so that stretches are copied, not entries picked."""
    lows = [*np.searchsorted(entries.keys, ranges.lows).tolist(), len(entries)]
    highs = [0, *np.searchsorted(entries.keys, ranges.highs, side="right").tolist()]
    kept = [slice(high, low) for high, low in zip(highs, lows, strict=True)]
    keys, checks, facts = (
        np.concatenate([column[part] for part in kept]) for column in (entries.keys, entries.checks, entries.facts)
    )
    return Entries(keys, checks, facts)


def _densest(layers: Sequence[U64], starts: U64, enough: int, heavy: npt.NDArray[np.bool_]) -> Ranges:
    """Ranges that hold at least ``enough`` of the keys, one after the other, and half of the heavy regions', in few blocks."""
    begins = _unit_begins(starts)
    counts = np.sum([np.diff(np.searchsorted(keys, starts[begins]), append=len(keys)) for keys in layers], axis=0)
    blocks = np.diff(begins, append=len(starts))
    chosen = np.zeros(len(begins), dtype=np.bool_)
    chosen[_stretch(counts, blocks, enough)] = True
    order = np.argsort(-counts / blocks, kind="stable")
    region = regions_of(starts[begins])
    for one in np.flatnonzero(heavy):
        own = order[region[order] == one]
        chosen[_until(counts, own, int(counts[own].sum() + 1) // 2)] = True
    which = np.flatnonzero(chosen & (counts > 0))[:MOST_RANGES]
    lasts = np.append(starts[begins[1:]], np.uint64(0)) - np.uint64(1)
    return Ranges(starts[begins[which]], lasts[which])


def _stretch(counts: Counts, blocks: Counts, enough: int) -> slice:
    """Of all stretches whose counts make up ``enough``, the one with the most for each of its blocks; everything when there is none."""
    if enough <= 0:
        return slice(0)
    ends = np.cumsum(counts)
    lasts = np.searchsorted(ends, ends - counts + enough)
    firsts = np.flatnonzero(lasts < len(ends))
    if not len(firsts):
        return slice(None)
    lasts, block_ends = lasts[firsts], np.cumsum(blocks)
    sums = ends[lasts] - ends[firsts] + counts[firsts]
    best = int(np.argmax(sums / (block_ends[lasts] - block_ends[firsts] + blocks[firsts])))
    return slice(int(firsts[best]), int(lasts[best]) + 1)


def _until(counts: Counts, order: Order, enough: int) -> Order:
    """The first of ``order`` whose counts make up ``enough``."""
    return order[: int(np.searchsorted(np.cumsum(counts[order]), enough)) + 1] if enough > 0 else order[:0]


def _unit_begins(starts: U64) -> Order:
    """Where units begin among the blocks."""
    region = regions_of(starts)
    firsts = np.flatnonzero(np.concatenate(([True], region[1:] != region[:-1])))
    within = np.arange(len(starts)) - np.repeat(firsts, np.diff(firsts, append=len(starts)))
    return np.flatnonzero(within % _UNIT_BLOCKS == 0)
