"""One partition as its owner lives with it: a real store, its changelog, and the engine above."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import Store
from schemas.changelog import Checkpoint
from streams.frontier.storage.uniqueness.blocks import BlockLayout
from streams.frontier.storage.uniqueness.engine import Checked, UniquenessEngine, UrlBatch
from streams.frontier.storage.uniqueness.state import FAMILIES, uniqueness_state

SMALL = BlockLayout(block_entries=6)
Log = list[tuple[int, bytes | None]]
Row = tuple[int, int, int, int, int]
"""Server hash, fingerprint, depth, priority, count."""


def found(rows: Sequence[Row]) -> UrlBatch:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return UrlBatch(
        np.array(columns[0], np.uint64),
        np.array(columns[1], np.uint64),
        np.array(columns[2], np.uint16),
        np.array(columns[3], np.uint8),
        np.array(columns[4], np.uint32),
    )


class Partition:
    """``log`` is what a broker would hold; ``first`` the offset it begins at once it was truncated."""

    def __init__(
        self,
        folder: Path,
        layout: BlockLayout = SMALL,
        count_unit: int = 1,
        cache_bytes: int = 4000,
        recent_entries: int = 20,
    ) -> None:
        """The cache has room for some dozen blocks, so that they come and go; few entries wait for theirs."""
        self.folder = folder
        self.layout = layout
        self.count_unit = count_unit
        self.cache_bytes = cache_bytes
        self.recent_entries = recent_entries
        self.log: Log = []
        self._open()

    def _open(self) -> None:
        options = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20, memtable_bytes=1 << 18)
        self.store = Store(self.folder, FAMILIES, SharedMemory(options))
        identity = StoreIdentity(cluster="c", topic="t", crawl="x", partition=0)
        self.replica = Replica.open(self.store, uniqueness_state(self.layout), identity)
        self.state = self.replica.reader
        self.begin()

    def begin(self) -> None:
        """An engine on the state as it is."""
        self.engine = UniquenessEngine(self.state, self.count_unit, self.cache_bytes, self.recent_entries)

    def check(self, rows: Sequence[Row]) -> Checked:
        return self.engine.check(found(rows))

    def commit(self, more: Sequence[Mutation] = ()) -> None:
        records = self.replica.prepare([*self.engine.deltas(), *more], Checkpoint(sequence=0, positions={}))
        at = len(self.log)
        self.log += [(at + i, value) for i, (_, value) in enumerate(records)]
        self.replica.apply_live(records, len(self.log))
        self.engine.committed()

    def restart(self) -> None:
        self.store.close()
        self._open()

    def truncated_log(self) -> Log:
        """What is left when everything that no restore needs is deleted."""
        before = self.replica.truncate_before() or 0
        return [(offset, value) for offset, value in self.log if offset >= before]

    def contents(self) -> dict[str, dict[bytes, bytes]]:
        return {family: dict(self.state.scan(family)) for family in FAMILIES}

    def close(self) -> None:
        self.store.close()


def restored(folder: Path, log: Log, layout: BlockLayout = SMALL) -> Partition:
    """A partition made from nothing but a log."""
    partition = Partition(folder, layout)
    partition.replica.replay(log, log[-1][0] + 1 if log else 0)
    partition.begin()
    return partition
