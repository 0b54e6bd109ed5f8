"""One RocksDB key for each known URL: 12 bytes, looked up in key order by one multi-get a batch, written by one WriteBatch."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from rocksdict import BlockBasedOptions, Options

from bench.engines.blocks import settle
from bench.engines.interface import Stats, Urls
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Store
from gregor.url.fingerprint import seen_keys

_FAMILY: Final = "known"
_KEY: Final = np.dtype([("key", ">u8"), ("check", ">u4")])


class _KeysMemory(SharedMemory):
    """gregor's options but for one: index and filter blocks stay in memory beside the block cache.

    gregor keeps few keys with large values, and its filters fit into the cache. The filter of a file with millions of 12-byte keys does
    not: with gregor's own setting each lookup read it again, 194 KB of files a URL at 8 million keys instead of 32 bytes.
    """

    def for_family(self, family: str) -> Options:
        table = BlockBasedOptions()
        table.set_block_cache(self.cache)
        table.set_block_size(self.options.block_bytes)
        table.set_bloom_filter(10, False)
        table.set_cache_index_and_filter_blocks(False)
        options = super().for_family(family)
        options.set_block_based_table_factory(table)
        return options


class RocksDbKeys:
    """The same database as gregor's engine, without blocks."""

    def __init__(self, options: StoreOptions | None = None) -> None:
        self._options = options or StoreOptions()
        self._read = self._written = 0

    @property
    def name(self) -> str:
        return "rocksdb"

    def open(self, folder: Path) -> None:
        self._store = Store(folder, (_FAMILY,), _KeysMemory(self._options))
        self._view = self._store.view()
        self._pending: set[bytes] = set()

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        order, names = _sorted_keys(batch)
        values = self._view.get_many(_FAMILY, names)
        self._read += _KEY.itemsize * (len(values) - values.count(None))
        pending, fresh = self._pending, []
        for at, (name, value) in enumerate(zip(names, values, strict=True)):
            if value is None and name not in pending:
                pending.add(name)
                fresh.append(at)
        mask = np.zeros(len(batch), dtype=np.bool_)
        mask[order[fresh]] = True
        return mask

    def checkpoint(self) -> None:
        self._put(self._pending)
        self._written += _KEY.itemsize * len(self._pending)
        self._pending = set()

    def stats(self) -> Stats:
        """Keys only; the blocks that RocksDB reads and writes for them are seen by the operating system."""
        return Stats(self._read, self._written)

    def settle(self) -> None:
        settle(self._store, _FAMILY)

    def close(self) -> None:
        self._store.close()

    def load(self, batches: Iterable[Urls]) -> None:
        for batch in batches:
            self._put(_sorted_keys(batch)[1])

    def _put(self, names: Iterable[bytes]) -> None:
        batch = self._store.begin()
        writer = self._store.writer(batch)
        for name in names:
            writer.put(_FAMILY, name, b"")
        self._store.write(batch)


def _sorted_keys(batch: Urls) -> tuple[npt.NDArray[np.intp], list[bytes]]:
    """Keys in the order of the database, and where in the batch each comes from."""
    keys, checks = seen_keys(batch.server_hashes, batch.fingerprints)
    order = np.argsort(keys, kind="stable")
    packed = np.empty(len(batch), _KEY)
    packed["key"], packed["check"] = keys[order], checks[order]
    names: list[bytes] = packed.view(f"V{_KEY.itemsize}").tolist()
    return order, names
