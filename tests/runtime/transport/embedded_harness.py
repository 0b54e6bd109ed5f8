"""The embedded engine under the contract: its members, its clock and its disk."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from rocksdict import WriteBatch

from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Session, StageSpec
from tests.runtime.transport.embedded_folder import SMALL
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import STAGES


class FaultyStore(Store):
    """A database that once writes, or does not, and does not say which."""

    fault: bool | None = None
    """Whether the next batch is written before the answer is lost; None: no fault."""

    def write(self, batch: WriteBatch, sync: bool = False) -> None:
        fault, self.fault = self.fault, None
        if fault is None or fault:
            super().write(batch, sync)
        if fault is not None:
            raise OSError("the disk did not answer")


class EmbeddedHarness(Harness):
    """Members are sessions of one process; the clock stands still unless somebody is dead or frozen."""

    wait = 0.0
    session_timeout = 10.0

    def __init__(self, folder: Path, **settings: int) -> None:
        self._folder = folder
        self._settings = replace(
            EmbeddedSettings(crawl="contract", partitions=self.partitions, session_timeout=self.session_timeout),
            **settings,
        )
        self._memory = SharedMemory(SMALL)
        self.now = 0.0
        self._silent: set[Session] = set()
        self._stores: list[FaultyStore] = []
        self._transport = self._start()

    @property
    def transport(self) -> EmbeddedTransport:
        return self._transport

    def open(self, stage: StageSpec, *, stoppable: bool = False) -> Session:
        return self._transport.open(stage)

    def reopen(self, session: Session) -> Session:
        session.close(drain=False)
        stage = next(stage for stage in STAGES if session.member.startswith(f"{stage.name}-"))
        return self._transport.open(stage)

    def restart(self) -> None:
        self._transport.close()
        self._transport = self._start()

    def kill(self, session: Session) -> None:
        self._silent.add(session)

    def freeze(self, session: Session) -> None:
        self._silent.add(session)

    def thaw(self, session: Session) -> None:
        self._silent.remove(session)

    def lose_answer(self, session: Session, *, happened: bool) -> None:
        self._stores[-1].fault = happened

    def tick(self) -> None:
        if self._silent:
            self.now += 1.0

    def close(self) -> None:
        self._transport.close()

    def _start(self) -> EmbeddedTransport:
        return EmbeddedTransport.at(
            self._folder, self._settings, self._memory, STAGES, clock=lambda: self.now, make_store=self._make_store
        )

    def _make_store(self, path: Path, families: Sequence[str], memory: SharedMemory) -> FaultyStore:
        self._stores.append(FaultyStore(path, families, memory))
        return self._stores[-1]
