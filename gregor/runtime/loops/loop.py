"""The loop of a batch stage: poll, decide, checkpoint. It owns positions and epochs; the stage knows of neither."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from gregor.config.sections import CheckpointSection
from gregor.errors import CommitFailed
from gregor.runtime.loops.contract import BatchStage, Drains, ReadsFirst, SinkUnavailable, Work
from gregor.runtime.loops.decode import decode_all, decode_broadcast, foreign_letters
from gregor.runtime.loops.policy import NONE, CommitThrottle, due, next_due_ms
from gregor.runtime.loops.running import Loop
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    CheckpointInfo,
    Commit,
    Output,
    Position,
    Revoked,
    Session,
    TopicPartition,
)

_log: Final = logging.getLogger("gregor.runtime.loops")

POLL_RECORDS: Final = 5_000
POLL_BYTES: Final = 8 * 1024 * 1024
RETRY_MS: Final = 1000
"""How often a stage that cannot finish its checkpoint is asked again."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def _no_note(where: TopicPartition) -> str:
    return ""


class StageLoop(Loop):
    """Runs one batch stage in one session.

    ``notes`` gives what is committed beside a position, and comes back with the assignment: for a stage that has to know what of
    its work outside of Kafka belongs to that position. ``clock`` tells the time to the stage and may be set back; what the loop itself
    waits for goes by the ``stopwatch``.
    """

    def __init__(
        self,
        stage: BatchStage,
        session: Session,
        policy: CheckpointSection,
        *,
        config_version: str = "",
        clock: Callable[[], int] = now_ms,
        stopwatch: Callable[[], int] = monotonic_ms,
        notes: Callable[[TopicPartition], str] = _no_note,
    ) -> None:
        super().__init__(session, stage)
        self._stage = stage
        self._policy = policy
        self._config_version = config_version
        self._clock = clock
        self._stopwatch = stopwatch
        self._notes = notes
        self._held_until_ms: int | None = None
        """While the stage cannot finish its checkpoint: when to ask again. Its inputs are paused."""
        self._epoch = 0
        self._positions: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._reads_first = stage if isinstance(stage, ReadsFirst) else None
        self._ends: dict[TopicPartition, int] = {}
        """Where inputs ended when they were assigned, until a commit has passed it."""
        self._outputs: list[Output] = []
        self._letters: list[Output] = []
        """Of what a restore passed over, until a commit has them: no input brings them again."""
        self._pending = NONE
        self._commit_throttle = CommitThrottle(policy.apart_ms)

    @property
    def held(self) -> bool:
        return self._held_until_ms is not None

    @property
    def owned(self) -> Sequence[int]:
        return sorted({where.partition for where in self._positions})

    def step(self, wait: float) -> None:
        """One event and what follows from it."""
        match self._session.poll(POLL_RECORDS, POLL_BYTES, self._wait(wait)):
            case Revoked() as event:
                self._epoch = event.epoch
                self._stage.revoked(event.partitions)
                self._observer.revoked(event.partitions, event.lost)
                self._drop()
                for where in [one for one in self._positions if one.partition in event.partitions]:
                    del self._positions[where], self._committed[where]
                    self._ends.pop(where, None)
                # With nothing left to finish, whether there is room is found out by the next checkpoint.
                self._go_on()
            case Assigned() as event:
                self._epoch = event.epoch
                self._arrive(event)
            case Batch() as event:
                self._take(event)
        if self._reads_first is not None:
            self._reads_first.unread({where for where, end in self._ends.items() if self._positions[where] < end})
        self._add(self._stage.tick(self._clock()))
        if self._is_due():
            self.checkpoint()

    def checkpoint(self) -> None:
        """Commit everything that is pending, if anything is."""
        if not (self._pending.decided or self._pending.moved) or not self._positions:
            return
        began = time.perf_counter()
        try:
            self._outputs += self._stage.prepare()
        except SinkUnavailable as error:
            self._hold(error)
            return
        self._go_on()
        commit = Commit(
            epoch=self._epoch,
            outputs=[*self._letters, *self._outputs],
            positions={where: Position(offset, self._notes(where)) for where, offset in self._positions.items()},
            mutations=self._stage.mutations(),
            mark=CheckpointInfo(
                now_ms=self._clock(), config_version=self._config_version, counters=self._stage.counters()
            ),
        )
        try:
            self._session.commit(commit)
        except CommitFailed as error:
            # The session says in its next events what became of the partitions.
            _log.warning("a checkpoint was dropped, its input comes again: %s", error)
            self._observer.refused(type(error).__name__)
            self._drop()
        else:
            self._stage.committed()
            if self._letters:
                self._observer.took((), self._letters)
            self._observer.committed(commit, self._pending.urls, self._pending.bytes, time.perf_counter() - began)
            self._committed.update(self._positions)
            self._ends = {where: end for where, end in self._ends.items() if self._committed[where] < end}
            if self._pending.wanted_ms is not None:
                self._commit_throttle.committed(self._stopwatch())
            self._outputs, self._letters, self._pending = [], [], NONE
            self.commits += 1

    def drain(self) -> None:
        if isinstance(self._stage, Drains):
            self._add(self._stage.drain(self._clock()))
            self.checkpoint()

    def _is_due(self) -> bool:
        now = self._stopwatch()
        if self._held_until_ms is not None:
            return now >= self._held_until_ms
        return due(self._policy, self._pending, now)

    def _hold(self, reason: SinkUnavailable) -> None:
        """Take nothing more, but keep polling, so that the place in the group is kept."""
        if self._held_until_ms is None:
            _log.warning("%s takes no more input: %s", self._stage.spec.name, reason)
            self._session.pause(list(self._positions))
        self._held_until_ms = self._stopwatch() + RETRY_MS

    def _go_on(self) -> None:
        if self._held_until_ms is not None:
            self._held_until_ms = None
            _log.warning("%s takes input again", self._stage.spec.name)
            self._session.resume(list(self._positions))

    def _wait(self, longest: float) -> float:
        """Seconds to the next thing that time alone brings about."""
        now = self._stopwatch()
        if self._held_until_ms is not None:
            return min(longest, max(0.0, (self._held_until_ms - now) / 1000))
        committing, ticking = next_due_ms(self._policy, self._pending), self._stage.next_due_ms()
        left = [committing - now] if committing is not None else []
        left += [ticking - self._clock()] if ticking is not None else []
        return min(longest, max(0.0, min(left) / 1000)) if left else longest

    def _arrive(self, event: Assigned) -> None:
        for partition, assignment in event.partitions.items():
            self._stage.assigned(partition, assignment)
            self._observer.assigned(partition, assignment)
            self._letters += foreign_letters(assignment, self._stage.spec, partition, self._clock())
            for topic, position in assignment.positions.items():
                where = TopicPartition(topic, partition)
                self._positions[where] = self._committed[where] = position.offset
                self._ends[where] = assignment.ends.get(topic, 0)
                if self._held_until_ms is not None:
                    # An assignment begins unpaused.
                    self._session.pause([where])
        self._note(moved=True)

    def _take(self, batch: Batch) -> None:
        now = self._clock()
        if batch.broadcast:
            self.hear(batch.broadcast)
            heard, ignored = decode_broadcast(batch.broadcast, self._stage.decoders)
            self._observer.ignored(ignored)
            self._stage.on_broadcast(heard)
        if batch.records:
            received, letters = decode_all(batch.records, self._stage.decoders, self._stage.spec.name, now)
            self._observer.took(batch.records, letters)
            self._add(Work(letters))
            self._add(self._stage.process(received, now))
            self._note(decided=True)
        if batch.positions:
            self._positions.update(batch.positions)
            self._note(moved=True)

    def _add(self, work: Work) -> None:
        if work.outputs or work.urls or work.bytes:
            self._outputs += work.outputs
            size = work.bytes + sum(len(output.value) for output in work.outputs)
            self._note(decided=True, urls=work.urls, size=size)
            if work.urgent and self._pending.wanted_ms is None:
                self._pending = replace(self._pending, wanted_ms=self._commit_throttle.earliest_ms(self._stopwatch()))

    def _note(self, *, decided: bool = False, moved: bool = False, urls: int = 0, size: int = 0) -> None:
        now = self._stopwatch()
        pending = self._pending
        first = not (pending.decided or pending.moved)
        self._pending = replace(
            pending,
            urls=pending.urls + urls,
            bytes=pending.bytes + size,
            since_ms=now if first or (decided and not pending.decided) else pending.since_ms,
            last_ms=now if decided else pending.last_ms,
            decided=pending.decided or decided,
            moved=pending.moved or moved,
        )

    def _drop(self) -> None:
        self._stage.dropped()
        self._observer.dropped()
        self._positions = dict(self._committed)
        self._outputs, self._pending = [], NONE
