"""A disk that is full is named as the cause, whoever meets it next: after its first error the database only says that there was one."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from rocksdict import WriteBatch

from gregor.errors import TransportError, UnknownOutcome
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.engine import MOST_REFUSALS
from gregor.runtime.transport.port import Output
from tests.runtime.transport.embedded_folder import SETTINGS, SMALL
from tests.runtime.transport.member import STAGES

FULL = "No space left on device"


class FullStore(Store):
    """Full from a moment on."""

    said: str = ""

    def write(self, batch: WriteBatch, sync: bool = False) -> None:
        if self.said:
            said, self.said = self.said, "Writer has previous error"
            raise OSError(said)
        super().write(batch, sync)

    def sync(self) -> None:
        if self.said:
            raise OSError(self.said)
        super().sync()


def test_a_full_disk_stays_the_cause_of_all_that_follows(tmp_path: Path) -> None:
    stores: list[FullStore] = []

    def make(path: Path, families: Sequence[str], memory: SharedMemory) -> FullStore:
        stores.append(FullStore(path, families, memory))
        return stores[-1]

    now = [0.0]
    transport = EmbeddedTransport.at(
        tmp_path / "log", SETTINGS, SharedMemory(SMALL), STAGES, clock=lambda: now[0], make_store=make
    )
    record = [Output("discovered", 0, b"k", b"v")]
    transport.append(record)
    stores[0].said = FULL
    with pytest.raises(UnknownOutcome, match=FULL):
        transport.append(record)
    now[0] = SETTINGS.sync_seconds + 1
    with pytest.raises(TransportError, match=f"could not be synced: {FULL}"):
        transport._engine.sync_when_due()
    for _ in range(MOST_REFUSALS - 2):
        with pytest.raises(UnknownOutcome):
            transport.append(record)
    with pytest.raises(TransportError, match=f"in a row: {FULL}"):
        transport.append(record)
    transport.close()
