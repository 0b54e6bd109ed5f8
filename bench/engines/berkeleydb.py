"""Berkeley DB, the subject of paper 003: the hash table U with a URL's text as its key and (depth, visited) as its value."""

import importlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from bench.engines.interface import Stats, Urls
from bench.engines.provision import Missing, need
from bench.engines.text import texts_of

_PACKAGE: Final = "berkeleydb==18.1.17"
_VALUE: Final = b"\x01\x00"
CACHE_BYTES: Final = 256 * 1024 * 1024
"""As much as gregor's block cache."""


def berkeleydb() -> ModuleType:
    """The package, built against Debian's library when it is not there yet."""
    return need(
        "the Python package berkeleydb with Berkeley DB 5.3", ("libdb-dev", "gcc", "libc6-dev", "python3-dev"), _import
    )


def _import() -> ModuleType | None:
    for attempt in ("as it is", "built"):
        try:
            return importlib.import_module("berkeleydb.db")
        except ImportError:
            if attempt == "built" or not Path("/usr/include/db.h").exists():
                return None
            built = subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", _PACKAGE], capture_output=True, text=True
            )
            if built.returncode:
                raise Missing(f"pip could not build berkeleydb: {built.stderr.strip()[-300:]}") from None
            importlib.invalidate_caches()
    return None


class BerkeleyDb:
    """One hash table (or B-tree) in an environment with a cache; written out at every checkpoint."""

    def __init__(self, access: Literal["hash", "btree"] = "hash") -> None:
        self._access = access

    @property
    def name(self) -> str:
        return "berkeleydb" if self._access == "hash" else "berkeleydb-btree"

    def open(self, folder: Path) -> None:
        db = berkeleydb()
        folder.mkdir(parents=True, exist_ok=True)
        self._environment: Any = db.DBEnv()
        self._environment.set_cachesize(0, CACHE_BYTES)
        self._environment.open(str(folder), db.DB_CREATE | db.DB_INIT_MPOOL | db.DB_PRIVATE)
        self._table: Any = db.DB(self._environment)
        self._table.open("urls", dbtype=db.DB_HASH if self._access == "hash" else db.DB_BTREE, flags=db.DB_CREATE)

    def check(self, batch: Urls) -> npt.NDArray[np.bool_]:
        exists, put = self._table.exists, self._table.put
        mask = np.zeros(len(batch), dtype=np.bool_)
        fresh = []
        for index, url in enumerate(texts_of(batch).tolist()):
            if not exists(url):
                put(url, _VALUE)
                fresh.append(index)
        mask[fresh] = True
        return mask

    def checkpoint(self) -> None:
        self._table.sync()

    def stats(self) -> Stats:
        """Pages between its cache and its file."""
        files = self._environment.memp_stat()[1].values()
        return Stats(
            sum(file["page_in"] * file["pagesize"] for file in files),
            sum(file["page_out"] * file["pagesize"] for file in files),
        )

    def close(self) -> None:
        self._table.close()
        self._environment.close()

    def load(self, batches: Iterable[Urls]) -> None:
        put = self._table.put
        for batch in batches:
            for url in texts_of(batch).tolist():
                put(url, _VALUE)
        self._table.sync()
