"""Stray links wait until reading their repository is worth it: VEUNIQ's TMP, with a bound on their age.

A batch has many links to the servers that are being crawled and a few to each of many others. The few cost the read of a block each.
They wait, as bundles of bytes that only their owner understands, in the family ``tmp``:

    key      | repository 2 | number 8 |               big-endian; numbers grow
    value    | since 8 | urls 4 | bundle ... |         little-endian; since: milliseconds

until their repository has ``worth`` URLs for each of its blocks, those of the present batch included, or until the oldest of them has
waited for ``max_age_ms``, or until the input is idle. What waits is part of the checkpoint like all state.
"""

from collections.abc import Sequence
from struct import Struct as Packing
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gregor.errors import CorruptState
from gregor.state.packed import Mutation, Operation, pack_delta
from gregor.state.store import StateReader
from streams.frontier.uniqueness.keys import REPOSITORIES
from streams.frontier.uniqueness.search import Mask
from streams.frontier.uniqueness.state import TMP

Counts = npt.NDArray[np.int64]

_KEY: Final = Packing(">HQ")
_HEAD: Final = Packing("<QI")
_RECORD_BYTES: Final = 512 * 1024
_NEVER: Final = np.iinfo(np.int64).max


class StrayOptions(Struct, frozen=True):
    """When waiting ends."""

    worth: float = 1.0
    """URLs for each block of a repository; 0: nothing ever waits."""
    max_age_ms: int = 3000
    """No link waits longer, as long as ``due`` is asked."""


class Strays:
    """What waits in one partition."""

    def __init__(self, state: StateReader, options: StrayOptions, family: int) -> None:
        """``family`` is the number of ``tmp`` in the stage's StateSpec."""
        self._state = state
        self._options = options
        self._family = family
        self._load()

    def _load(self) -> None:
        self._changes: dict[bytes, bytes | None] = {}
        self._keys: dict[int, list[bytes]] = {}
        self._urls: Counts = np.zeros(REPOSITORIES, np.int64)
        self._oldest: Counts = np.full(REPOSITORIES, _NEVER, np.int64)
        self._next = 0
        for key, value in self._state.scan(TMP):
            if len(key) != _KEY.size or len(value) < _HEAD.size:
                raise CorruptState("an entry of waiting links is too short")
            repository, number = _KEY.unpack(key)
            since, urls = _HEAD.unpack_from(value)
            self._note(repository, key, since, urls)
            self._next = max(self._next, number + 1)

    def _note(self, repository: int, key: bytes, since: int, urls: int) -> None:
        self._keys.setdefault(repository, []).append(key)
        self._urls[repository] += urls
        self._oldest[repository] = min(self._oldest[repository], since)

    @property
    def urls(self) -> int:
        """Links that wait."""
        return int(self._urls.sum())

    def due(self, arriving: Counts, blocks: Counts, now_ms: int, idle: bool = False) -> Mask:
        """Which repositories to check now; of the others, what arrives should wait. Arrays are by repository.

        ``arriving`` says how many URLs came for each, ``blocks`` how many blocks each has.
        """
        waiting = self._urls > 0
        concerned = waiting | (arriving > 0)
        if idle:
            return concerned
        worth = self._urls + arriving >= self._options.worth * blocks
        # Compared by what is left of the age, which cannot overflow whatever the clock says.
        old = waiting & (self._oldest <= now_ms - self._options.max_age_ms)
        return concerned & (worth | old)

    def put(self, repository: int, urls: int, bundle: bytes, now_ms: int) -> None:
        """Let ``bundle``, of so many URLs of one repository, wait."""
        key = _KEY.pack(repository, self._next)
        self._next += 1
        self._changes[key] = _HEAD.pack(now_ms, urls) + bundle
        self._note(repository, key, now_ms, urls)

    def take(self, repositories: Sequence[int]) -> list[bytes]:
        """The bundles of these repositories in the order of their arrival; they wait no longer."""
        keys = [key for repository in repositories for key in self._keys.pop(repository, ())]
        stored = [key for key in keys if key not in self._changes]
        values = dict(zip(stored, self._state.get_many(TMP, stored), strict=True)) if stored else {}
        bundles = []
        for key in keys:
            value = self._changes.pop(key, None) or values[key]
            if value is None:
                raise CorruptState("waiting links are gone from the state")
            bundles.append(value[_HEAD.size :])
        self._changes.update(dict.fromkeys(stored))
        self._urls[repositories] = 0
        self._oldest[repositories] = _NEVER
        return bundles

    def deltas(self) -> list[Mutation]:
        """What must be logged for everything since the last checkpoint: plain puts and deletes."""
        records: list[Mutation] = []
        operations: list[Operation] = []
        size = 0
        for key, value in self._changes.items():
            operations.append((self._family, key, value))
            size += len(key) + len(value or b"")
            if size >= _RECORD_BYTES:
                records.append(_record(operations))
                operations, size = [], 0
        return [*records, _record(operations)] if operations else records

    def committed(self) -> None:
        """What ``deltas`` gave is in the state."""
        self._changes = {}

    def aborted(self) -> None:
        """Nothing since the last checkpoint has happened."""
        if self._changes:
            self._load()


def _record(operations: Sequence[Operation]) -> Mutation:
    return Mutation(b"tmp/%03x" % _KEY.unpack(operations[0][1])[0], pack_delta(operations))
