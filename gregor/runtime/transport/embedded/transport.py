"""The embedded transport as a whole: for one process, without a server, and with the same promises as Kafka."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import META, StateReader, Store
from gregor.runtime.transport.embedded.engine import LogEngine
from gregor.runtime.transport.embedded.folder import FolderIdentity, MakeStore, open_folder
from gregor.runtime.transport.embedded.layout import LOG, PASSING, state_prefix
from gregor.runtime.transport.embedded.log import cut
from gregor.runtime.transport.embedded.session import EmbeddedSession
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output, Position, Record, StageSpec, TopicPartition
from schemas.changelog import Checkpoint


class EmbeddedTransport:
    """One folder, open. Its methods may be called from any thread, a session's from one."""

    def __init__(self, engine: LogEngine) -> None:
        self._engine = engine
        self._sessions: list[EmbeddedSession] = []

    @classmethod
    def at(
        cls,
        folder: Path,
        settings: EmbeddedSettings,
        memory: SharedMemory,
        stages: Sequence[StageSpec],
        *,
        clock: Callable[[], float] = time.monotonic,
        make_store: MakeStore = Store,
    ) -> "EmbeddedTransport":
        """Open or make a folder for all ``stages`` that will be opened in it.

        Raises FolderInUse, ForeignState or CorruptState; a folder that cannot be read back is never taken for an empty one.
        """
        identity = FolderIdentity(crawl=settings.crawl, partitions=settings.partitions, placement=settings.placement)
        opened = open_folder(folder, identity, _families(stages), memory, make_store)
        try:
            return cls(LogEngine(opened, settings, {stage.name: stage for stage in stages}, clock))
        except BaseException:
            opened.write_counter.close()
            opened.store.close()
            raise

    def open(self, stage: StageSpec) -> EmbeddedSession:
        engine = self._engine
        with engine.condition:
            engine.check_open()
            if engine.stages.get(stage.name) != stage:
                raise ValueError(f"stage {stage.name!r} is not among those that the transport was opened for")
            self._sessions = [session for session in self._sessions if not session.closed]
            taken = {session.member for session in self._sessions}
            member = next(name for name in (f"{stage.name}-{n}" for n in count()) if name not in taken)
            session = EmbeddedSession(engine, stage, member)
            self._sessions.append(session)
            return session

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        self._engine.check_open()
        self._engine.log.partitions_of(topic)
        return self._engine.log.read(TopicPartition(topic, partition), start, end)

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        log = self._engine.log
        places = [TopicPartition(topic, partition) for partition in range(log.partitions_of(topic))]
        with self._engine.condition:
            return {at.partition: (log.first(at), log.end(at)) for at in places}

    def since(self, topic: str, time_ms: int) -> Mapping[int, int]:
        log = self._engine.log
        with self._engine.condition:
            self._engine.check_open()
            return {
                partition: log.since(TopicPartition(topic, partition), time_ms)
                for partition in range(log.partitions_of(topic))
            }

    def committed(self, stage: str, topics: Sequence[str]) -> Mapping[TopicPartition, Position]:
        with self._engine.condition:
            return self._engine.offsets.committed(stage, topics)

    def last_checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        """What the last commit of a stage with state says of a partition; on Kafka it is the changelog's last record."""
        with self._engine.condition:
            return self._engine.offsets.checkpoint(stage, partition)

    def state(self, stage: StageSpec, partition: int) -> StateReader | None:
        self._engine.check_open()
        return None if stage.state is None else self._engine.store.view(state_prefix(stage.name, partition))

    def trim(self, before: Mapping[TopicPartition, int]) -> None:
        engine = self._engine
        for topic in {at.topic for at in before}:
            engine.log.partitions_of(topic)
        with engine.condition:
            engine.trim(before)
        engine.sync_when_due()

    def append(self, outputs: Sequence[Output]) -> None:
        engine = self._engine
        packed = cut(outputs, time.time_ns() // 1_000_000)
        engine.log.check(packed)
        with engine.condition:
            engine.write(engine.store.begin(), packed, None)
        engine.sync_when_due()

    def close(self) -> None:
        for session in self._sessions:
            session.close()
        self._engine.close()


def _families(stages: Sequence[StageSpec]) -> list[str]:
    families = sorted({family for stage in stages if stage.state is not None for family in stage.state.families})
    for family in families:
        if family in (META, LOG, PASSING, "default"):
            raise ValueError(f"no stage may name a family of its state {family!r}")
    return families
