"""Sorted known URLs as three parallel arrays: searched, merged and cut in whole."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from streams.frontier.storage.uniqueness.facts import U32
from streams.frontier.storage.uniqueness.keys import U64, Order, arrange, run_starts

ENTRY_BYTES: Final = 16
_KEY: Final = np.dtype("<u8")
_WORD: Final = np.dtype("<u4")


class Entries:
    """Known URLs in ascending order of (key, check), none twice."""

    __slots__ = ("checks", "facts", "keys")

    def __init__(self, keys: U64, checks: U32, facts: U32) -> None:
        self.keys = keys
        self.checks = checks
        self.facts = facts

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, which: slice | Order | npt.NDArray[np.bool_]) -> "Entries":
        return Entries(self.keys[which], self.checks[which], self.facts[which])


def no_entries() -> Entries:
    return Entries(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint32))


def pack_parts(entries: Entries, bounds: Sequence[int]) -> list[bytes]:
    """Entries ``[bounds[i], bounds[i + 1])`` as bytes, each part for itself: | keys 8n | checks 4n | facts 4n |."""
    keys = memoryview(entries.keys.astype(_KEY, copy=False).tobytes())
    checks = memoryview(entries.checks.astype(_WORD, copy=False).tobytes())
    facts = memoryview(entries.facts.astype(_WORD, copy=False).tobytes())
    return [b"".join((keys[8 * a : 8 * b], checks[4 * a : 4 * b], facts[4 * a : 4 * b])) for a, b in pairwise(bounds)]


def join_parts(parts: Sequence[bytes | memoryview]) -> Entries:
    """Packed parts that follow each other in key order, as one."""
    if not parts:
        return no_entries()
    views = [(memoryview(part), len(part) >> 4) for part in parts]
    return Entries(
        np.frombuffer(b"".join([view[: 8 * n] for view, n in views]), _KEY),
        np.frombuffer(b"".join([view[8 * n : 12 * n] for view, n in views]), _WORD),
        np.frombuffer(b"".join([view[12 * n :] for view, n in views]), _WORD),
    )


def find(entries: Entries, keys: U64, checks: U32) -> tuple[Order, npt.NDArray[np.bool_]]:
    """Where each (key, check) stands or would be inserted, and whether it is there."""
    at: Order = np.searchsorted(entries.keys, keys)
    if not len(entries):
        return at, np.zeros(len(keys), dtype=np.bool_)
    near = np.minimum(at, len(entries) - 1)
    same_key = entries.keys[near] == keys
    found = same_key & (entries.checks[near] == checks)
    collided = np.flatnonzero(same_key & ~found)
    if len(collided):
        _find_collided(entries, keys, checks, collided, at, found)
    return at, found


def _find_collided(
    entries: Entries, keys: U64, checks: U32, which: Order, at: Order, found: npt.NDArray[np.bool_]
) -> None:
    """Binary search by check among entries of one key; as many steps as the longest run has bits."""
    low = at[which]
    high = np.searchsorted(entries.keys, keys[which], side="right")
    end = high.copy()
    wanted = checks[which]
    while (low < high).any():
        middle = (low + high) >> 1
        less = (low < high) & (entries.checks[np.minimum(middle, len(entries) - 1)] < wanted)
        high = np.where(less, high, np.minimum(middle, high))
        low = np.where(less, middle + 1, low)
    at[which] = low
    near = np.minimum(low, len(entries) - 1)
    found[which] = (low < end) & (entries.checks[near] == wanted)


def merge(entries: Entries, others: Entries) -> Entries:
    """Both together; of a URL in both, the facts of ``others``."""
    if not len(others):
        return entries
    if not len(entries):
        return others
    at, found = find(entries, others.keys, others.checks)
    old_facts = entries.facts
    if found.any():
        old_facts = old_facts.copy()
        old_facts[at[found]] = others.facts[found]
        added = others[~found]
        at = at[~found]
    else:
        added = others
    if not len(added):
        return Entries(entries.keys, entries.checks, old_facts)
    size = len(entries) + len(added)
    to = at + np.arange(len(added))
    old = np.ones(size, dtype=np.bool_)
    old[to] = False
    merged = Entries(np.empty(size, np.uint64), np.empty(size, np.uint32), np.empty(size, np.uint32))
    merged.keys[old], merged.keys[to] = entries.keys, added.keys
    merged.checks[old], merged.checks[to] = entries.checks, added.checks
    merged.facts[old], merged.facts[to] = old_facts, added.facts
    return merged


def newest(entries: Entries) -> Entries:
    """Entries in any order and any number of times, sorted; of several for one URL the last one counts."""
    order = arrange(entries.keys, entries.checks)
    ordered = entries[order]
    first = run_starts(ordered.keys, ordered.checks)
    return ordered if len(first) == len(ordered) else ordered[np.append(first[1:], len(ordered)) - 1]


def ascending(entries: Entries) -> bool:
    """Whether the entries are sorted and none stands twice."""
    keys, checks = entries.keys, entries.checks
    less = keys[:-1] < keys[1:]
    return bool((less | ((keys[:-1] == keys[1:]) & (checks[:-1] < checks[1:]))).all())
