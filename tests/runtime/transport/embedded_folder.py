"""A folder for tests of the embedded transport alone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import StageSpec
from tests.runtime.transport.member import STAGES

ROOT = Path(__file__).parents[3]
SMALL = StoreOptions(block_cache_bytes=8 << 20, write_buffer_bytes=8 << 20, memtable_bytes=1 << 20)
SETTINGS = EmbeddedSettings(crawl="test", partitions=2, session_timeout=10.0)


@contextmanager
def opened(
    folder: Path,
    settings: EmbeddedSettings = SETTINGS,
    stages: Sequence[StageSpec] = STAGES,
    clock: Callable[[], float] = lambda: 0.0,
) -> Iterator[EmbeddedTransport]:
    transport = EmbeddedTransport.at(folder, settings, SharedMemory(SMALL), stages, clock=clock)
    try:
        yield transport
    finally:
        transport.close()
