"""One member of a group on the embedded transport. Outside it is given what everybody was told before, batch by batch.

                poll                 poll                  poll, again and again
outside ──────────────► Assigned ─────────────► Batch ◄──────────────────────────┐
                           ▲                      │                              │
                           │ poll                 ├── commit ────────────────────┘
                        Revoked ◄─────────────────┘ the group's epoch is another than the session's
"""

import time
from collections.abc import Iterator, Sequence

from gregor.errors import Aborted, CorruptState, Fenced, TransportError, UnknownOutcome
from gregor.runtime.transport.embedded.cursor import ReadCursor, Room, take
from gregor.runtime.transport.embedded.engine import LogEngine
from gregor.runtime.transport.embedded.layout import state_prefix
from gregor.runtime.transport.embedded.log import cut
from gregor.runtime.transport.embedded.offsets import Changes
from gregor.runtime.transport.port import (
    Assigned,
    Assignment,
    Batch,
    Commit,
    Event,
    InvalidCommit,
    Position,
    Record,
    Revoked,
    StageSpec,
    TopicPartition,
)
from gregor.runtime.transport.validity import check_commit


class EmbeddedSession:
    """Used by one thread; what it shares with other sessions is behind the engine's lock."""

    cheap_commit: bool = True

    def __init__(self, engine: LogEngine, stage: StageSpec, member: str) -> None:
        self._engine = engine
        self._stage = stage
        self._member = member
        self._group = engine.group(stage)
        self._epoch = 0
        self._told = 0
        """The last epoch that was told by Revoked; the session's own follows with Assigned."""
        self._owned: frozenset[int] = frozenset()
        self._anew = False
        """Whether everything that is owned has to be assigned again."""
        self._cursors: list[ReadCursor] = []
        self._turn = 0
        self._paused: set[TopicPartition] = set()
        self._broadcast = [
            ReadCursor(TopicPartition(topic, partition), engine.log.first(TopicPartition(topic, partition)))
            for topic in stage.broadcast
            for partition in range(engine.log.partitions_of(topic))
        ]
        self._broadcast_ends = {cursor.at: engine.log.end(cursor.at) for cursor in self._broadcast}
        self._has_heard = self._has_heard_all()
        """Whether all that everybody was told before is known here; nothing is assigned until then."""
        self.closed = False

    @property
    def member(self) -> str:
        return self._member

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        patience = time.monotonic() + wait
        room = Room(max_records, max_bytes)
        try:
            while True:
                with self._engine.condition:
                    self._check_open()
                    event = self._event() if self._has_heard else None
                    seen = self._engine.log.appends
                batch = event or self._batch(room)
                if batch is not None:
                    return batch
                self._engine.sync_when_due()
                with self._engine.condition:
                    left = patience - time.monotonic()
                    if left <= 0:
                        return Batch(self._epoch, (), {})
                    if self._engine.log.appends == seen and self._group.epoch == self._epoch:
                        self._engine.condition.wait(left)
        finally:
            with self._engine.condition:
                self._group.seen(self._member, self._engine.clock())

    def commit(self, commit: Commit) -> None:
        engine, stage = self._engine, self._stage
        with engine.condition:
            self._fence(commit.epoch)
            self._check(commit)
        batch = engine.store.begin()
        if stage.state is not None:
            for partition, mutations in commit.mutations.items():
                prefix = state_prefix(stage.name, partition)
                deltas = [mutation.delta for mutation in mutations]
                stage.state.apply(engine.store.view(prefix), deltas, engine.store.writer(batch, prefix))
        packed = cut(commit.outputs, commit.mark.now_ms)
        engine.log.check(packed)
        with engine.condition:
            self._fence(commit.epoch)
            try:
                engine.write(batch, packed, self._changes(commit))
            except UnknownOutcome:
                self._anew = True
                self._group.disturb()
                raise
        engine.sync_when_due()

    def read(self, topic: str, partition: int) -> Iterator[Record]:
        at = TopicPartition(topic, partition)
        self._engine.log.partitions_of(topic)
        return self._engine.log.read(at, self._engine.log.first(at), None)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.update(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)

    def close(self, drain: bool = True) -> None:
        with self._engine.condition:
            if self.closed:
                return
            self.closed = True
            if drain:
                self._group.leave(self._member)
                self._engine.condition.notify_all()

    def _event(self) -> Event | None:
        """What the group has to tell before any record; the caller holds the lock."""
        group, now = self._group, self._engine.clock()
        if self._member not in group:
            self._anew = True
            group.join(self._member, now)
            self._engine.condition.notify_all()
        group.waits(self._member)
        if group.expel_silent(self._member, now, self._engine.session_timeout):
            self._engine.condition.notify_all()
        if group.epoch == self._epoch:
            return None
        if self._epoch and group.epoch != self._told:
            return self._revoked(group.epoch, group.owners[self._member])
        return self._assigned(group.epoch, group.owners[self._member])

    def _revoked(self, epoch: int, owned: frozenset[int]) -> Revoked:
        gone = self._owned if self._anew else self._owned - owned
        self._told = epoch
        self._owned -= gone
        self._anew = False
        return Revoked(epoch, gone, lost=bool(gone))

    def _assigned(self, epoch: int, owned: frozenset[int]) -> Assigned:
        gained = owned - self._owned
        self._epoch, self._owned, self._anew = epoch, owned, False
        self._cursors = [ReadCursor(at, self._start(at).offset) for at in self._inputs()]
        self._paused = {at for at in self._paused if at.partition in owned and at.partition not in gained}
        return Assigned(epoch, {partition: self._assignment(partition) for partition in sorted(gained)})

    def _assignment(self, partition: int) -> Assignment:
        engine, stage = self._engine, self._stage
        inputs = [TopicPartition(topic, partition) for topic in stage.inputs]
        last = engine.offsets.checkpoint(stage.name, partition)
        return Assignment(
            positions={at.topic: self._start(at) for at in inputs},
            ends={at.topic: engine.log.end(at) for at in inputs},
            state=engine.store.view(state_prefix(stage.name, partition)) if stage.state is not None else None,
            counters=last.counters if last else {},
            sequence=last.sequence if last else 0,
        )

    def _batch(self, room: Room) -> Batch | None:
        """The next records; None when there are none. Called without the lock."""
        log = self._engine.log
        heard, _ = take(log, self._broadcast, room)
        if not self._has_heard:
            self._has_heard = self._has_heard_all()
            return Batch(self._epoch, (), {}, heard)
        try:
            cursors = self._cursors[self._turn :] + self._cursors[: self._turn]
            self._turn = (self._turn + 1) % max(1, len(cursors))
            if self._engine.holds_back(self._stage):
                cursors = []
            if self._paused:
                cursors = [cursor for cursor in cursors if cursor.at not in self._paused]
            records, positions = take(log, cursors, room)
        except CorruptState:
            # A member that was expelled while it was reading finds that its records were passed and trimmed.
            with self._engine.condition:
                if self._member in self._group and self._group.epoch == self._epoch:
                    raise
            return None
        return Batch(self._epoch, records, positions, heard) if records or heard else None

    def _has_heard_all(self) -> bool:
        return all(cursor.position >= self._broadcast_ends[cursor.at] for cursor in self._broadcast)

    def _fence(self, epoch: int) -> None:
        self._check_open()
        if not self._epoch:
            raise InvalidCommit(f"{self._member} commits before its first assignment")
        if self._member not in self._group:
            raise Fenced(f"{self._member} was silent for too long and its partitions belong to others")
        if epoch != self._group.epoch:
            raise Aborted(f"{self._member} commits in epoch {epoch}, and its group is in {self._group.epoch}")

    def _check(self, commit: Commit) -> None:
        check_commit(commit, self._stage, self._owned)
        for at, position in commit.positions.items():
            if not 0 <= position.offset <= self._engine.log.end(at):
                raise InvalidCommit(f"position {position.offset} of {at.topic}[{at.partition}] is not within the log")

    def _changes(self, commit: Commit) -> Changes:
        offsets, stage = self._engine.offsets, self._stage
        moved = offsets.changes(stage.name, commit.positions)
        touched: set[int] = set()
        if stage.state is not None:
            touched.update(commit.mutations, commit.mark.counters, (at.partition for at in moved))
        checkpoints = {
            partition: offsets.next_checkpoint(stage.name, partition, self._member, commit.mark, commit.positions)
            for partition in touched & self._owned
        }
        return Changes(stage.name, moved, checkpoints)

    def _inputs(self) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for partition in sorted(self._owned) for topic in self._stage.inputs]

    def _start(self, at: TopicPartition) -> Position:
        """What was committed; without, the first record that is there."""
        return self._engine.offsets.position(self._stage.name, at) or Position(self._engine.log.first(at))

    def _check_open(self) -> None:
        if self.closed:
            raise TransportError(f"the session {self._member} is closed")
        self._engine.check_open()
