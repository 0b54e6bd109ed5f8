"""The check of one partition: batches in, which URLs are new out, and what the checkpoint must log.

    check     any number of batches; what one admits, the next one knows
    deltas    everything since the last checkpoint, as changelog records
    committed the records are applied to the state: what was pending is recent, learn of splits
    aborted   nothing happened: forget what was pending

The engine writes nothing; it reads the state as of the last checkpoint. In memory it keeps what is pending, a bounded number of recent
entries, 24 bytes for each block, and a bounded cache of blocks. A URL is looked for in this order, the newest first.
"""

from typing import Final

import numpy as np
from msgspec import Struct

from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader
from streams.frontier.storage.uniqueness.blocks import (
    BLOCK,
    SEEN,
    names,
    read_starts,
    touched_blocks,
    unique_repositories,
)
from streams.frontier.storage.uniqueness.cache import BlockCache
from streams.frontier.storage.uniqueness.deltas import LoggedEntries, Ranges, pack_entries
from streams.frontier.storage.uniqueness.entries import Entries, find, merge, no_entries
from streams.frontier.storage.uniqueness.facts import (
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
from streams.frontier.storage.uniqueness.keys import (
    REPOSITORIES,
    U64,
    Order,
    arrange,
    keys_of,
    repositories_of,
    run_starts,
)
from streams.frontier.storage.uniqueness.recent import RECENT_ENTRIES, Decision, RecentEntries
from streams.frontier.storage.uniqueness.search import Mask, PackedBlocks

_CHUNK: Final = 1024
"""Blocks fetched and searched at once: their keys stay in the processor's cache, and memory stays bounded whatever a batch touches."""


CACHE_BYTES: Final = 32 * 1024 * 1024
"""For one partition at the most; a process has several, which share a budget."""


class UrlBatch(Struct, frozen=True):
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


class UniquenessEngine:
    """Uniqueness of one partition's URLs."""

    def __init__(
        self,
        state: StateReader,
        count_unit: int = COUNT_UNIT,
        cache_bytes: int = CACHE_BYTES,
        recent_entries: int = RECENT_ENTRIES,
        repositories: int = REPOSITORIES,
    ) -> None:
        """``repositories``: N, as it was when the state began."""
        self._state = state
        self._count_unit = count_unit
        self._repositories = repositories
        self._cache = BlockCache(read_starts(state, range(REPOSITORIES)), cache_bytes)
        self._recent = RecentEntries(state, recent_entries)
        self._pending = no_entries()
        self._decision: Decision | None = None

    @property
    def blocks(self) -> int:
        """Blocks that the partition has; empty repositories count as one each."""
        return len(self._cache.starts)

    @property
    def recent(self) -> int:
        """Entries that wait for their blocks."""
        return len(self._recent)

    @property
    def pending(self) -> int:
        """URLs admitted or changed since the last checkpoint."""
        return len(self._pending)

    @property
    def cache_bytes(self) -> int:
        """The most that its cache holds."""
        return self._cache.budget

    @cache_bytes.setter
    def cache_bytes(self, budget: int) -> None:
        """A cache of another size begins empty."""
        if budget != self._cache.budget:
            self._cache = BlockCache(self._cache.starts, budget)

    def check(self, batch: UrlBatch, salt: int = 0) -> Checked:
        """Which URLs are new; they are known from now on. Facts of those that wait are improved by what was found.

        ``salt`` differs from batch to batch: it decides how repetitions are rounded.
        """
        new = np.zeros(len(batch.fingerprints), dtype=np.bool_)
        if not len(new):
            return Checked(new, np.empty(0, np.intp))
        keys, checks = keys_of(batch.server_hashes, batch.fingerprints, self._repositories)
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
            keys, checks = keys_of(server_hashes, fingerprints, self._repositories)
            order = arrange(keys, checks)
            known[order], facts[order] = self._look_up(keys[order], checks[order])
        return known, facts

    def move(self, server_hashes: U64, fingerprints: U64, state: UrlState) -> Mask:
        """Bring URLs into another state of their life; returns which were known, the others stay unknown."""
        known = np.zeros(len(fingerprints), dtype=np.bool_)
        if not len(known):
            return known
        keys, checks = keys_of(server_hashes, fingerprints, self._repositories)
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
        if not len(self._pending):
            return []
        self._decision = self._recent.decide(self._pending, self._cache.starts)
        return pack_entries(LoggedEntries(self._pending, self._decision.number, self._decision.ranges))

    def committed(self) -> None:
        """What ``deltas`` gave is in the state."""
        if self._decision is None:
            return
        decision, pending = self._decision, self._pending
        self._decision, self._pending = None, no_entries()
        self._recent.committed(pending, decision)
        if len(decision.ranges):
            self._learn_splits(decision.ranges)

    def _learn_splits(self, folded: Ranges) -> None:
        """Blocks in these ranges are written anew, and may have been split."""
        before = self._cache.starts
        repositories = unique_repositories(before[folded.hold(before)])
        changed = np.zeros(REPOSITORIES, dtype=np.bool_)
        changed[repositories] = True
        kept = before[~changed[repositories_of(before).astype(np.intp)]]
        starts = np.sort(np.concatenate((kept, read_starts(self._state, repositories))))
        self._cache.changed(starts, folded.hold(starts))

    def aborted(self) -> None:
        """Nothing since the last checkpoint has happened."""
        self._pending, self._decision = no_entries(), None

    def _pend(self, entries: Entries) -> None:
        self._pending = merge(self._pending, entries)

    def _look_up(self, keys: U64, checks: U32) -> tuple[Mask, U32]:
        """Of sorted URLs: which are known, and their facts (0 where not)."""
        known, facts = np.zeros(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.uint32)
        rest: Order = np.arange(len(keys))
        for layer in (self._pending, *self._recent.layers):
            at, found = find(layer, keys, checks)
            if found.any():
                here = rest[found]
                known[here], facts[here] = True, layer.facts[at[found]]
                others = ~found
                keys, checks, rest = keys[others], checks[others], rest[others]
        found_at, found_facts = self._look_up_blocks(keys, checks)
        here = rest[found_at]
        known[here], facts[here] = True, found_facts
        return known, facts

    def _look_up_blocks(self, keys: U64, checks: U32) -> tuple[Order, U32]:
        """Of sorted URLs: which are in blocks (as indexes), and their facts."""
        self._cache.next_batch()
        blocks, bounds = touched_blocks(self._cache.starts, keys)
        sizes = np.diff(bounds)
        held = self._cache.held(blocks)
        here = np.flatnonzero(np.repeat(held, sizes))
        at, facts = self._cache.find(np.repeat(blocks[held], sizes[held]), keys[here], checks[here])
        found, found_facts = [here[at]], [facts]
        missing = np.flatnonzero(~held)
        for begin in range(0, len(missing), _CHUNK):
            chunk = missing[begin : begin + _CHUNK]
            wanted = np.repeat(bounds[chunk] - np.cumsum(sizes[chunk]) + sizes[chunk], sizes[chunk])
            wanted += np.arange(len(wanted))
            at, facts = self._read(blocks[chunk], sizes[chunk], keys[wanted], checks[wanted])
            found.append(wanted[at])
            found_facts.append(facts)
        return np.concatenate(found), np.concatenate(found_facts)

    def _read(self, blocks: Order, sizes: Order, keys: U64, checks: U32) -> tuple[Order, U32]:
        """The same for blocks that are not held; ``sizes`` says how many of the URLs each one may have."""
        values = self._state.get_many(SEEN, [name + BLOCK for name in names(self._cache.starts[blocks])])
        shelf = PackedBlocks(values)
        self._cache.hold(blocks, shelf)
        return shelf.find(np.repeat(np.arange(len(blocks)), sizes), keys, checks)
