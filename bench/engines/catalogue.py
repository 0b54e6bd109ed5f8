"""All engines by name, what each needs besides hashes, and how far the slow ones are taken."""

from collections.abc import Callable
from typing import Final

from bench.engines.berkeleydb import BerkeleyDb
from bench.engines.blocks import Blocks
from bench.engines.drum import Drum
from bench.engines.interface import UniquenessEngine
from bench.engines.postgres import Postgres
from bench.engines.python_set import PythonSet
from bench.engines.rocksdb_keys import RocksDbKeys
from bench.engines.veuniq import Veuniq


class SyncedBlocks(Blocks):
    """gregor's engine, every checkpoint on the disk before it returns."""

    @property
    def name(self) -> str:
        return "gregor+sync"

    def checkpoint(self) -> None:
        super().checkpoint()
        self._store.sync()


ENGINES: Final[dict[str, Callable[[], UniquenessEngine]]] = {
    "gregor": Blocks,
    "gregor+sync": SyncedBlocks,
    "drum": Drum,
    "drum+sync": lambda: Drum(sync=True),
    "veuniq": Veuniq,
    "veuniq-text": lambda: Veuniq(records="text"),
    "rocksdb": RocksDbKeys,
    "berkeleydb": BerkeleyDb,
    "postgres-batched": lambda: Postgres("batched"),
    "postgres-single": lambda: Postgres("single"),
    "set": PythonSet,
}
KEEP_TEXT: Final = frozenset(
    ("drum", "drum+sync", "veuniq", "veuniq-text", "berkeleydb", "postgres-batched", "postgres-single")
)
"""Engines that are given the text of URLs, made before the clock starts."""
DEFER: Final = frozenset(("veuniq", "veuniq-text"))
"""Engines that answer some URLs in a later batch."""

MOST_STORED: Final = {
    "veuniq-text": 20_000_000,
    "berkeleydb": 4_000_000,
    "postgres-batched": 4_000_000,
    "postgres-single": 4_000_000,
    "set": 20_000_000,
}
"""Filling these further takes longer than measuring everything else, or more memory than a machine of 8 GB has."""
MOST_BATCH: Final = {"berkeleydb": 100_000, "postgres-single": 10_000}
"""These treat URLs one at a time: a larger batch changes nothing but the waiting."""
