"""Blocks, deltas and directories that were read lately, as they were read.

RocksDB has a cache of its own, but a read through it takes longer than everything else that is done to find a stray URL: this one
hands out the same bytes again. A batch may replace an eighth of it at the most, so that one which walks through the whole store does
not drive out everything.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gregor.state.store import StateReader
from streams.frontier.uniqueness.blocks import BLOCK, DELTA, DIRECTORY, SEEN, start_of
from streams.frontier.uniqueness.keys import first_key, repository_of_key

_OVERHEAD: Final = 200
"""Bytes of a key, a value's head and a dictionary's slot."""


class BlockCache:
    """A partition's state, read through what is held of its family ``seen``."""

    def __init__(self, state: StateReader, budget: int) -> None:
        """``budget`` in bytes; 0: nothing is held."""
        self._state = state
        self._budget = budget
        self._held: dict[bytes, bytes] = {}
        """A value that is not there is held as empty."""
        self._size = 0
        self._allowance = budget

    def get(self, family: str, key: bytes) -> bytes | None:
        return self.get_many(family, [key])[0]

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Of ``seen``, what is not there may come as empty."""
        if family != SEEN or not self._budget:
            return self._state.get_many(family, keys)
        values: list[bytes | None] = list(map(self._held.get, keys))
        missing = [i for i, value in enumerate(values) if value is None]
        if missing:
            for i, value in zip(missing, self._state.get_many(SEEN, [keys[i] for i in missing]), strict=True):
                values[i] = value
                if self._allowance > 0:
                    self._hold(keys[i], value or b"")
        return values

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self._state.scan(family, start, end)

    def _hold(self, key: bytes, value: bytes) -> None:
        size = len(value) + _OVERHEAD
        self._allowance -= size
        self._size += size
        self._held[key] = value
        while self._size > self._budget:
            oldest = next(iter(self._held))
            self._size -= len(self._held.pop(oldest)) + _OVERHEAD

    def changed(self, prefixes: Sequence[bytes]) -> list[bytes]:
        """Something was added to these blocks: either the delta was rewritten and the block was not, or it is gone into the block.

        Returns those of which it is not known that the block is as it was.
        """
        # A block may be held whose delta was driven out, and the other way round: either makes both suspect.
        held = [prefix for prefix in prefixes if prefix + DELTA in self._held or prefix + BLOCK in self._held]
        rewritten = set(prefixes).difference(held)
        values = self._state.get_many(SEEN, [prefix + DELTA for prefix in held]) if held else []
        for prefix, value in zip(held, values, strict=True):
            self._drop(prefix + DELTA)
            if value is None:
                self._drop(prefix + BLOCK)
                rewritten.add(prefix)
            self._hold(prefix + DELTA, value or b"")
        for repository in {repository_of_key(start_of(prefix)) for prefix in rewritten}:
            self._drop(first_key(repository).to_bytes(8, "big") + DIRECTORY)
        return sorted(rewritten)

    def _drop(self, key: bytes) -> None:
        value = self._held.pop(key, None)
        if value is not None:
            self._size -= len(value) + _OVERHEAD

    def next_batch(self) -> None:
        """From here on another eighth may be replaced; what is free may be filled at once."""
        self._allowance = max(self._budget - self._size, self._budget >> 3)
