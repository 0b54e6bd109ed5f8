"""The reading half of the port on the folder of an embedded crawl, whether a process holds it or not.

It shows one moment of the crawl, log, positions and states together; ``catch_up`` shows a later one.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gregor.errors import ForeignState
from gregor.runtime.state.read_only import ReadOnlyStore
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.embedded.folder import FolderIdentity, identity_of
from gregor.runtime.transport.embedded.layout import FORMAT, state_prefix
from gregor.runtime.transport.embedded.log import Log
from gregor.runtime.transport.embedded.offsets import OffsetTable
from gregor.runtime.transport.port import Position, Record, StageSpec, TopicPartition
from schemas.changelog import Checkpoint


class ReadOnlyLog:
    """A crawl's folder, looked at. Raises ForeignState when it is none, CorruptState when it cannot be read."""

    def __init__(self, folder: Path) -> None:
        identity = identity_of(folder)
        if identity is None or identity.format != FORMAT:
            found = "none" if identity is None else f"format {identity.format}"
            raise ForeignState(
                f"expected the log of a crawl in format {FORMAT} in {folder}, found {found}",
                remedy="name the folder that was given to `gregor crawl`",
            )
        self.identity: FolderIdentity = identity
        self._store = ReadOnlyStore(folder / "db")
        self._log = Log(self._store, identity.partitions, frozenset(), 0)
        self._offsets = OffsetTable(self._store)

    def catch_up(self) -> None:
        self._store.catch_up()
        self._log.load()
        self._offsets.load()

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        self._log.partitions_of(topic)
        return self._log.read(TopicPartition(topic, partition), start, end)

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        log = self._log
        places = [TopicPartition(topic, partition) for partition in range(log.partitions_of(topic))]
        return {at.partition: (log.first(at), log.end(at)) for at in places}

    def since(self, topic: str, time_ms: int) -> Mapping[int, int]:
        log = self._log
        return {
            partition: log.since(TopicPartition(topic, partition), time_ms)
            for partition in range(log.partitions_of(topic))
        }

    def committed(self, stage: str, topics: Sequence[str]) -> Mapping[TopicPartition, Position]:
        return self._offsets.committed(stage, topics)

    def last_checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        return self._offsets.checkpoint(stage, partition)

    def state(self, stage: StageSpec, partition: int) -> StateReader | None:
        if stage.state is None or not self._store.families.issuperset(stage.state.families):
            return None
        return self._store.view(state_prefix(stage.name, partition))

    def close(self) -> None:
        self._store.close()
