"""The check of one partition: batches in, which URLs are new out, and what the checkpoint must log.

    check     any number of batches; what one admits, the next one knows
    deltas    everything since the last checkpoint, as changelog records
    committed the records are applied to the state: forget what was pending, learn of splits
    aborted   nothing happened: forget what was pending

The engine writes nothing; it reads the state as of the last checkpoint. In memory it keeps what is pending, eight bytes for each block,
and a bounded cache of blocks.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gregor.state.packed import Mutation
from gregor.state.store import StateReader
from streams.frontier.uniqueness.blocks import (
    BLOCK,
    DELTA,
    SEEN,
    names,
    read_starts,
    start_of,
    touched_blocks,
)
from streams.frontier.uniqueness.cache import BlockCache
from streams.frontier.uniqueness.deltas import pack_entries
from streams.frontier.uniqueness.entries import Entries, find, merge, no_entries
from streams.frontier.uniqueness.facts import (
    COUNT_UNIT,
    U8,
    U16,
    U32,
    UrlState,
    chances,
    discover,
    fold_facts,
    pack_facts,
)
from streams.frontier.uniqueness.keys import (
    REPOSITORIES,
    U64,
    Order,
    arrange,
    keys_of,
    repositories_of,
    repository_of_key,
    run_starts,
)
from streams.frontier.uniqueness.search import Mask, Shelf

_CHUNK: Final = 256
"""Blocks fetched and searched at once: their keys stay in the processor's cache, and memory stays bounded whatever a batch touches."""


CACHE_BYTES: Final = 32 * 1024 * 1024
"""For one partition; a process has several."""


class Found(Struct, frozen=True):
    """A batch of discovered URLs: arrays of one length, a URL any number of times."""

    server_hashes: U64
    fingerprints: U64
    depths: U16
    priorities: U8
    """0 is the most urgent."""
    counts: U32
    """How often each was seen; 0 counts as 1."""


class Checked(Struct, frozen=True):
    """What is known of a batch now."""

    new: Mask
    """True at the first occurrence of each URL that nobody had seen."""
    improved: Order
    """Indexes of URLs that wait to be fetched and now have a smaller depth or priority."""

    @property
    def admitted(self) -> int:
        return int(np.count_nonzero(self.new))


class Engine:
    """Uniqueness of one partition's URLs."""

    def __init__(self, state: StateReader, count_unit: int = COUNT_UNIT, cache_bytes: int = CACHE_BYTES) -> None:
        self._cache = BlockCache(state, cache_bytes)
        self._count_unit = count_unit
        self._starts = read_starts(self._cache, range(REPOSITORIES))
        self._pending = no_entries()

    @property
    def reader(self) -> StateReader:
        """The state as of the last checkpoint, through the cache: what ``apply`` may read from instead of the state itself."""
        return self._cache

    @property
    def blocks(self) -> int:
        """Blocks that the partition has; empty repositories count as one each."""
        return len(self._starts)

    @property
    def pending(self) -> int:
        """URLs admitted or changed since the last checkpoint."""
        return len(self._pending)

    def blocks_of_repositories(self) -> npt.NDArray[np.int64]:
        """For each repository the number of its blocks: what a read of all of it costs."""
        return np.bincount(repositories_of(self._starts).astype(np.intp), minlength=REPOSITORIES)

    def check(self, batch: Found, salt: int = 0) -> Checked:
        """Which URLs are new; they are known from now on. Facts of those that wait are improved by what was found.

        ``salt`` differs from batch to batch: it decides how repetitions are rounded.
        """
        new = np.zeros(len(batch.fingerprints), dtype=np.bool_)
        if not len(new):
            return Checked(new, np.empty(0, np.intp))
        keys, checks = keys_of(batch.server_hashes, batch.fingerprints)
        facts = pack_facts(UrlState.WAITING, batch.depths, batch.priorities, np.maximum(batch.counts, 1))
        order = arrange(keys, checks)
        found = Entries(keys[order], checks[order], facts[order])
        first = run_starts(found.keys, found.checks)
        if len(first) < len(order):
            order = order[first]
            found = Entries(found.keys[first], found.checks[first], fold_facts(found.facts, first))
        known, old_facts = self._look_up(found.keys, found.checks)
        chance = chances(found.keys, salt, self._count_unit)
        facts = discover(known, old_facts, found.facts, chance, self._count_unit)
        self._pend(Entries(found.keys, found.checks, facts)[~known | (facts != old_facts)])
        new[order[~known]] = True
        improved = known & ((facts ^ old_facts) >= np.uint32(0x100))
        return Checked(new, np.sort(order[improved]))

    def look_up(self, server_hashes: U64, fingerprints: U64) -> tuple[Mask, U32]:
        """Which URLs are known, and their packed facts (0 where they are not)."""
        known = np.zeros(len(fingerprints), dtype=np.bool_)
        facts = np.zeros(len(fingerprints), dtype=np.uint32)
        if len(known):
            keys, checks = keys_of(server_hashes, fingerprints)
            order = arrange(keys, checks)
            known[order], facts[order] = self._look_up(keys[order], checks[order])
        return known, facts

    def move(self, server_hashes: U64, fingerprints: U64, state: UrlState) -> Mask:
        """Bring URLs into another state of their life; returns which were known, the others stay unknown."""
        known = np.zeros(len(fingerprints), dtype=np.bool_)
        if not len(known):
            return known
        keys, checks = keys_of(server_hashes, fingerprints)
        order = arrange(keys, checks)
        sorted_keys, sorted_checks = keys[order], checks[order]
        was_known, old_facts = self._look_up(sorted_keys, sorted_checks)
        known[order] = was_known
        facts = (old_facts & np.uint32(0x0FFFFFFF)) | np.uint32(state << 28)
        changed = was_known & (facts != old_facts)
        first = run_starts(sorted_keys, sorted_checks)
        self._pend(Entries(sorted_keys, sorted_checks, facts)[first[changed[first]]])
        return known

    def deltas(self) -> list[Mutation]:
        """What must be logged for everything since the last checkpoint."""
        return pack_entries(self._pending)

    def committed(self) -> None:
        """What ``deltas`` gave is in the state."""
        if not len(self._pending):
            return
        touched, _ = touched_blocks(self._starts, self._pending.keys)
        self._pending = no_entries()
        rewritten = self._cache.changed(names(self._starts[touched]))
        self._learn_splits(sorted({repository_of_key(start_of(prefix)) for prefix in rewritten}))

    def _learn_splits(self, repositories: list[int]) -> None:
        """Blocks of these repositories may have been split."""
        fresh = read_starts(self._cache, repositories)
        changed = np.zeros(REPOSITORIES, dtype=np.bool_)
        changed[repositories] = True
        gone = changed[repositories_of(self._starts).astype(np.intp)]
        if np.count_nonzero(gone) != len(fresh):
            self._starts = np.sort(np.concatenate((self._starts[~gone], fresh)))

    def aborted(self) -> None:
        """Nothing since the last checkpoint has happened."""
        self._pending = no_entries()

    def _pend(self, entries: Entries) -> None:
        self._pending = merge(self._pending, entries)

    def _look_up(self, keys: U64, checks: U32) -> tuple[Mask, U32]:
        """Of sorted URLs: which are known, and their facts (0 where not)."""
        at, known = find(self._pending, keys, checks)
        facts = np.zeros(len(keys), dtype=np.uint32)
        if not known.any():
            self._look_up_blocks(keys, checks, known, facts)
            return known, facts
        facts[known] = self._pending.facts[at[known]]
        rest = np.flatnonzero(~known)
        if len(rest):
            rest_known, rest_facts = np.zeros(len(rest), dtype=np.bool_), np.zeros(len(rest), dtype=np.uint32)
            self._look_up_blocks(keys[rest], checks[rest], rest_known, rest_facts)
            known[rest], facts[rest] = rest_known, rest_facts
        return known, facts

    def _look_up_blocks(self, keys: U64, checks: U32, known: Mask, facts: U32) -> None:
        """Fill in what the state says of sorted URLs, chunk after chunk in key order."""
        self._cache.next_batch()
        touched, bounds = touched_blocks(self._starts, keys)
        prefixes = names(self._starts[touched])
        for at in range(0, len(touched), _CHUNK):
            chunk = prefixes[at : at + _CHUNK]
            wanted = slice(int(bounds[at]), int(bounds[at + len(chunk)]))
            shelf = Shelf(self._cache.get_many(SEEN, [prefix + kind for prefix in chunk for kind in (BLOCK, DELTA)]))
            blocks = np.repeat(np.arange(0, 2 * len(chunk), 2), np.diff(bounds[at : at + len(chunk) + 1]))
            # A delta's facts are newer than its block's.
            for parts in (blocks, blocks + 1):
                found, found_facts = shelf.find(parts, keys[wanted], checks[wanted])
                known[wanted][found] = True
                facts[wanted][found] = found_facts
