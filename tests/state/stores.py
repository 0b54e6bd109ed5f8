"""A small real store with three families whose deltas are plain puts and deletes."""

from collections.abc import Sequence

from gregor.state.options import StoreOptions
from gregor.state.packed import apply_deltas
from gregor.state.replay import Identity
from gregor.state.store import StateReader, StateSpec, StateWriter

FAMILIES = ("seen", "queue", "servers")
WHOLE = 2
IDENTITY = Identity(cluster="cluster-a", topic="topic-a", crawl="crawl", partition=3)
SMALL = StoreOptions(
    block_cache_bytes=1024 * 1024, write_buffer_bytes=4 * 1024 * 1024, memtable_bytes=1024 * 1024, background_jobs=1
)


def apply(_: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(FAMILIES, deltas, writer)


SPEC = StateSpec(FAMILIES, apply, whole={"seen": WHOLE})


def contents(reader: StateReader) -> dict[str, dict[bytes, bytes]]:
    """Everything that a store holds for a partition."""
    return {family: dict(reader.scan(family)) for family in FAMILIES}
