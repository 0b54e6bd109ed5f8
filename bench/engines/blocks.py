"""gregor's own engine on a RocksDB of its own, every checkpoint one WriteBatch."""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.engines.interface import Stats, Urls
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Range, StateReader, StateWriter, Store
from streams.frontier.storage.uniqueness.apply import apply
from streams.frontier.storage.uniqueness.blocks import BlockLayout
from streams.frontier.storage.uniqueness.engine import UniquenessEngine, UrlBatch
from streams.frontier.storage.uniqueness.facts import COUNT_UNIT
from streams.frontier.storage.uniqueness.state import FAMILIES

_BUSY: Final = ("mem-table-flush-pending", "num-running-flushes", "compaction-pending", "num-running-compactions")


def settle(store: Store, family: str) -> None:
    """Wait until RocksDB neither flushes nor compacts."""
    while any(store.property_int(family, f"rocksdb.{name}") for name in _BUSY):
        time.sleep(0.05)


class CountedReader:
    """A state whose values are weighed as they are read."""

    def __init__(self, state: StateReader) -> None:
        self._state = state
        self.bytes = 0

    def get(self, family: str, key: bytes) -> bytes | None:
        value = self._state.get(family, key)
        self.bytes += len(value or b"")
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        values = self._state.get_many(family, keys)
        self.bytes += sum([len(value) for value in values if value])
        return values

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for key, value in self._state.scan(family, start, end):
            self.bytes += len(value)
            yield key, value

    def first_of_each(self, family: str, ranges: Sequence[Range]) -> list[list[tuple[bytes, bytes]]]:
        found = self._state.first_of_each(family, ranges)
        self.bytes += sum([len(value) for entries in found for _, value in entries])
        return found


class CountedWriter:
    """A batch whose values are weighed as they are written."""

    def __init__(self, writer: StateWriter) -> None:
        self._writer = writer
        self.bytes = 0

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self.bytes += len(key) + len(value)
        self._writer.put(family, key, value)

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None:
        for key, value in entries:
            self.put(family, key, value)

    def delete(self, family: str, key: bytes) -> None:
        self.bytes += len(key)
        self._writer.delete(family, key)

    def delete_range(self, family: str, start: bytes, end: bytes | None) -> None:
        self._writer.delete_range(family, start, end)


class Blocks:
    """Sorted blocks, and runs of what is new."""

    def __init__(
        self,
        layout: BlockLayout | None = None,
        count_unit: int = COUNT_UNIT,
        options: StoreOptions | None = None,
        cache_bytes: int = 480 << 20,
        recent_entries: int = 4 << 20,
    ) -> None:
        self._layout = layout or BlockLayout()
        self._count_unit = count_unit
        self._options = options or StoreOptions(block_cache_bytes=8 << 20)
        self._cache_bytes = cache_bytes
        self._recent_entries = recent_entries
        self._written = 0
        self._batches = 0

    @property
    def name(self) -> str:
        return "gregor"

    def open(self, folder: Path) -> None:
        self._store = Store(folder, FAMILIES, SharedMemory(self._options))
        self._state = CountedReader(self._store.view())
        self._engine = UniquenessEngine(self._state, self._count_unit, self._cache_bytes, self._recent_entries)

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        n = len(batch)
        found = UrlBatch(
            batch.server_hashes,
            batch.fingerprints,
            np.ones(n, np.uint16),
            np.zeros(n, np.uint8),
            np.ones(n, np.uint32),
        )
        self._batches += 1
        return self._engine.check(found, self._batches).new

    def _deltas(self) -> list[bytes]:
        return [mutation.delta for mutation in self._engine.deltas()]

    def checkpoint(self) -> None:
        deltas = self._deltas()
        batch = self._store.begin()
        writer = CountedWriter(self._store.writer(batch))
        apply(self._layout, self._state, deltas, writer)
        self._store.write(batch)
        self._written += writer.bytes
        self._engine.committed()

    def settle(self) -> None:
        for family in FAMILIES:
            settle(self._store, family)

    def stats(self) -> Stats:
        return Stats(self._state.bytes, self._written)

    def close(self) -> None:
        self._store.close()
