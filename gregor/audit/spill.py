"""A sorted heap of short entries on disk: written in any order, read in theirs, group by group."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.store import Store

_FAMILY: Final = "spill"
_BATCH: Final = 5_000
_MEMORY: Final = StoreOptions(block_cache_bytes=16 * 1024 * 1024, write_buffer_bytes=32 * 1024 * 1024)

Entry = tuple[bytes, bytes]


class Spill:
    """In a temporary folder that goes when it is closed. An entry that is put twice is there once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="gregor-audit-", dir=folder))
        self._store = Store(self._folder / "spill", [_FAMILY], SharedMemory(_MEMORY))
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
        self._write()
        cut = len(table) + length
        entries = self._store.view().scan(_FAMILY, table, table[:-1] + bytes([table[-1] + 1]))
        for shared, group in groupby(entries, lambda entry: entry[0][:cut]):
            yield shared[len(table) :], ((key[cut:], value) for key, value in group)

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
