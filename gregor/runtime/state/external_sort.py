"""A sorted heap of short entries on disk: written in any order, read in theirs, group by group."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Store

_FAMILY: Final = "entries"
_BATCH: Final = 5_000
_MEMORY: Final = StoreOptions(block_cache_bytes=16 * 1024 * 1024, write_buffer_bytes=32 * 1024 * 1024)

Entry = tuple[bytes, bytes]


class ExternalSort:
    """In a temporary folder that goes when it is closed. Of entries with one key the one that was put last is there."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="gregor-sort-", dir=folder))
        self._store = Store(self._folder / "sorted", [_FAMILY], SharedMemory(_MEMORY))
        self._batch = self._store.begin()
        self._writer = self._store.writer(self._batch)
        self._waiting = 0

    def put(self, key: bytes, value: bytes = b"") -> None:
        self._writer.put(_FAMILY, key, value)
        self._waiting += 1
        if self._waiting >= _BATCH:
            self._write()

    def groups(self, table: bytes, length: int) -> Iterator[tuple[bytes, Iterable[Entry]]]:
        """The entries of a table whose keys share their first ``length`` bytes behind its name, in order: what they share, and
        (rest of the key, value) of each."""
        cut = len(table) + length
        for shared, group in groupby(self.entries(table), lambda entry: entry[0][:cut]):
            yield shared[len(table) :], ((key[cut:], value) for key, value in group)

    def entries(self, table: bytes) -> Iterator[Entry]:
        """All of a table, in order, their keys whole."""
        self._write()
        before = table.rstrip(b"\xff")
        return self._store.view().scan(_FAMILY, table, before[:-1] + bytes([before[-1] + 1]))

    def room(self, name: str) -> Path:
        """A folder beside it, for what has to be made again to be compared."""
        return self._folder / name

    def close(self) -> None:
        self._store.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self) -> None:
        if self._waiting:
            self._store.write(self._batch)
            self._batch = self._store.begin()
            self._writer = self._store.writer(self._batch)
            self._waiting = 0
