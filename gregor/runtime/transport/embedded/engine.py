"""What the sessions of a folder share: one lock, the groups, the log, the offsets, and the one batch that changes them together.

Everything durable is changed by ``write``, under the lock. Memory follows only after RocksDB has said yes; when it has not said anything
intelligible, memory is thrown away and read again from the database, which is the only one who knows.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from rocksdict import WriteBatch

from gregor.errors import TopologyError, TransportError, UnknownOutcome
from gregor.runtime.state.store import META
from gregor.runtime.transport.embedded.backlog import Backlog
from gregor.runtime.transport.embedded.folder import Folder
from gregor.runtime.transport.embedded.groups import ConsumerGroup
from gregor.runtime.transport.embedded.layout import WRITTEN, pack_count, unpack_count
from gregor.runtime.transport.embedded.log import Log, Packed
from gregor.runtime.transport.embedded.offsets import Changes, OffsetTable
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Position, StageSpec, TopicPartition
from schemas.topics import TOPICS, Topic

MOST_REFUSALS: Final = 3
"""A database that does not recover by itself, as after a full disk, ends the process; the next start finds what was committed."""
_DISK: Final = "see that its disk is well and not full"


class LogEngine:
    """The open folder."""

    def __init__(
        self, folder: Folder, settings: EmbeddedSettings, stages: Mapping[str, StageSpec], clock: Callable[[], float]
    ) -> None:
        self.store = folder.store
        self.clock: Final = clock
        self.condition: Final = threading.Condition()
        self.partitions = settings.partitions
        self.session_timeout = settings.session_timeout
        self.stages = stages
        self.groups: dict[str, ConsumerGroup] = {}
        read = frozenset(topic for stage in stages.values() for topic in (*stage.inputs, *stage.broadcast))
        self.log = Log(folder.store, settings.partitions, read, settings.tail_bytes)
        self.offsets = OffsetTable(folder.store)
        self._backlogs = self._waiting(settings)
        self.closed = False
        self._write_counter = folder.write_counter
        self._refused = 0
        self._cause: Exception | None = None
        """Why the first of these batches was refused: after that the database only says that there was an error."""
        self._written = folder.commits
        self._synced = folder.commits
        self._syncing = threading.Lock()
        self._last_sync = clock()
        self._settings = settings
        self._trimmed_at: dict[TopicPartition, float] = {}
        self._trimmed = {
            topic.name: self._readers(topic)
            for topic in TOPICS
            if topic.trimmed_when_passed and topic.name not in settings.keep
        }

    def group(self, stage: StageSpec) -> ConsumerGroup:
        """Of as many partitions as its inputs have, which are split alike."""
        counts = {topic: self.log.partitions_of(topic) for topic in stage.inputs}
        if len(set(counts.values())) > 1:
            found = ", ".join(f"{topic} with {count}" for topic, count in counts.items())
            raise TopologyError(
                f"expected {stage.name} to read topics of one number of partitions, found {found}", remedy=""
            )
        return self.groups.setdefault(stage.name, ConsumerGroup(counts[stage.inputs[0]]))

    def holds_back(self, stage: StageSpec) -> bool:
        """Whether a stage gets no input at present, because what it writes waits for a reader."""
        return any(topic in self._backlogs and self._backlogs[topic].full for topic in stage.outputs)

    def check_open(self) -> None:
        if self.closed:
            raise TransportError("the transport is closed")

    def trim(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete records before these offsets, as far as they are there; the caller holds the lock."""
        log = self.log
        wanted = {at: min(offset, log.end(at)) for at, offset in before.items()}
        gone = {at: offset for at, offset in wanted.items() if offset > log.first(at)}
        if gone:
            self.write(self.store.begin(), (), None, gone)

    def write(
        self,
        batch: WriteBatch,
        packed: Packed,
        changes: Changes | None,
        trimmed: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        """The batch, the outputs, the changes of one stage and the deletions, all of them or none; the caller holds the lock.

        Raises UnknownOutcome when the database does not say which; what is in memory is then what the database holds. Raises
        TransportError when it keeps on doing so.
        """
        self.check_open()
        writer = self.store.writer(batch)
        ends = self.log.append(writer, packed)
        passed = {**(trimmed or {}), **(self._passed(changes) if changes is not None else {})}
        self.log.trim(writer, passed)
        self.log.write_ends(writer, ends, passed)
        if changes is not None:
            self.offsets.put(writer, changes)
        writer.put(META, WRITTEN, pack_count(self._written + 1))
        try:
            self.store.write(batch)
        except Exception as error:  # rocksdict raises bare Exception for everything
            self._refused += 1
            self._cause = self._cause or error
            if self._refused >= MOST_REFUSALS:
                raise TransportError(
                    f"{self.store.path} refused {self._refused} batches in a row: {self._cause}", remedy=_DISK
                ) from error
            self._read_again()
            raise UnknownOutcome(f"{self.store.path} refused a batch: {error}", remedy=_DISK) from error
        self._refused, self._cause = 0, None
        self._written += 1
        self._write_counter.written(self._written)
        self.log.written(packed, ends, passed)
        for chunk, _ in packed:
            if chunk.at.topic in self._backlogs:
                self._backlogs[chunk.at.topic].appended(chunk.at, chunk.end, chunk.bytes)
        if changes is not None:
            self.offsets.written(changes)
            for at in changes.positions:
                if at.topic in self._backlogs:
                    self._backlogs[at.topic].passed(at, self._slowest(at))
        self.condition.notify_all()

    def sync_when_due(self) -> None:
        """Called without the lock: others go on while the disk is busy."""
        if self._synced == self._written or self.clock() - self._last_sync < self._settings.sync_seconds:
            return
        if self._syncing.acquire(blocking=False):
            try:
                self._sync()
            finally:
                self._syncing.release()

    def close(self) -> None:
        with self._syncing, self.condition:
            if self.closed:
                return
            self.closed = True
            try:
                with self._ending():
                    self._sync()
            finally:
                self._write_counter.close()
                with self._ending(), self._told("could not be closed"):
                    self.store.close()
                self.condition.notify_all()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """Of a database that refuses batches everything has been said."""
        try:
            yield
        except TransportError:
            if not self._refused:
                raise

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """A database that cannot write, in one line; what was committed is in its log of writes, whatever it leaves undone."""
        try:
            yield
        except Exception as error:  # rocksdict raises bare Exception for everything
            with self.condition:
                # Whoever was refused first has noted why.
                cause = self._cause or error
            raise TransportError(f"{self.store.path} {what}: {cause}", remedy=_DISK) from error

    def _sync(self) -> None:
        written = self._written
        with self._told("could not be synced"):
            self.store.sync()
        self._write_counter.synced(written)
        self._synced = written
        self._last_sync = self.clock()

    def _read_again(self) -> None:
        self.log.load()
        self.offsets.load()
        self._backlogs = self._waiting(self._settings)
        found = self.store.view().get(META, WRITTEN)
        self._written = unpack_count(found)
        self._write_counter.written(self._written)
        self.condition.notify_all()

    def _waiting(self, settings: EmbeddedSettings) -> dict[str, Backlog]:
        """The topics that are bounded: somebody reads them here."""
        if not settings.most_unread_records or not settings.most_unread_bytes:
            return {}
        backlogs: dict[str, Backlog] = {}
        for topic in TOPICS:
            if not topic.waits_for_readers or not any(topic.name in stage.inputs for stage in self.stages.values()):
                continue
            backlog = backlogs[topic.name] = Backlog(settings.most_unread_records, settings.most_unread_bytes)
            for partition in range(self.log.partitions_of(topic.name)):
                at = TopicPartition(topic.name, partition)
                slowest = self._slowest(at)
                backlog.begin(at, slowest, self.log.sizes(at, slowest))
        return backlogs

    def _slowest(self, at: TopicPartition) -> int:
        """Where the slowest of the stages stands that run here; others, which may never run again, are not waited for."""
        readers = [name for name, stage in self.stages.items() if at.topic in stage.inputs]
        held = [self.offsets.position(name, at) or Position(self.log.first(at)) for name in readers]
        return min(one.offset for one in held)

    def _readers(self, topic: Topic) -> frozenset[str]:
        """Stages that must have passed a record before it may go, whether or not they have ever run."""
        return frozenset(
            name for name, stage in self.stages.items() if name in topic.read_by or topic.name in stage.inputs
        )

    def _passed(self, changes: Changes) -> dict[TopicPartition, int]:
        """What every reader has left behind, where that is worth a deletion."""
        passed: dict[TopicPartition, int] = {}
        now = self.clock()
        trimmed = self._trimmed.keys() & {at.topic for at in changes.positions}
        others = {topic: (self._trimmed[topic] | self.offsets.readers(topic)) - {changes.stage} for topic in trimmed}
        for at, position in changes.positions.items():
            if at.topic not in trimmed:
                continue
            held = [self.offsets.position(stage, at) or Position(0) for stage in others[at.topic]]
            slowest = min(one.offset for one in (position, *held))
            gone = slowest - self.log.first(at)
            due = now - self._trimmed_at.setdefault(at, now) >= self._settings.trim_seconds
            if gone >= self._settings.trim_records or (gone > 0 and due):
                passed[at] = slowest
                self._trimmed_at[at] = now
        return passed
