"""A database that another process may hold, read without disturbing it.

RocksDB calls it a secondary instance: it takes no lock, follows the owner's files and its write-ahead log, and so shows everything that
was committed when it was opened or last caught up, a batch whole or not at all. What it needs to write lies in a folder of its own.
"""

import os
import resource
import shutil
import tempfile
from pathlib import Path
from typing import Final

from rocksdict import AccessType, Rdict

from gregor.errors import CorruptState, no_access
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import StoreView

_MEMORY: Final = StoreOptions(block_cache_bytes=32 * 1024 * 1024, write_buffer_bytes=16 * 1024 * 1024)


class ReadOnlyStore:
    """Open until closed; shows one moment of the store, and a later one after each ``catch_up``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _allow_open_files()
        self._folder = tempfile.mkdtemp(prefix="gregor-read-only-")
        try:
            self._db = self._open()
        except Exception as error:  # rocksdict raises bare Exception for everything
            shutil.rmtree(self._folder, ignore_errors=True)
            unread = CorruptState(f"{path} cannot be read: {error}", remedy="see whether a crawl made it")
            raise no_access(path, error) or unread from error
        self._columns = {family: self._db.get_column_family(family) for family in Rdict.list_cf(os.fspath(path))}

    def _open(self) -> Rdict:
        memory = SharedMemory(_MEMORY)
        options = memory.for_store()
        # A file that the owner deletes stays readable for those who have it open, so that all have to be.
        options.set_max_open_files(-1)
        families = {family: memory.for_family(family) for family in Rdict.list_cf(os.fspath(self.path))}
        return Rdict(os.fspath(self.path), options, families, AccessType.secondary(self._folder))

    @property
    def families(self) -> frozenset[str]:
        return frozenset(self._columns)

    def view(self, prefix: bytes = b"") -> StoreView:
        return StoreView(self._columns, prefix)

    def catch_up(self) -> None:
        """Show what the owner has committed since."""
        try:
            self._db.try_catch_up_with_primary()
        except Exception as error:  # rocksdict raises bare Exception for everything
            raise CorruptState(f"{self.path} cannot be followed: {error}", remedy="begin again") from error

    def close(self) -> None:
        self._columns.clear()
        self._db.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
