"""The loop of an asynchronous stage: orders run at once and finish out of order, their results are committed exactly once.

Nothing is dropped when the group changes or a commit is refused: an order that is still ours goes on, and its window recognises it when
the rewound input delivers it again. Only the orders of partitions that are gone are cancelled.
"""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from gregor.config.sections import MIB, CheckpointSection
from gregor.errors import CommitFailed
from gregor.runtime.loops.contract import Finished, OrderStage, Ticket
from gregor.runtime.loops.decode import decode_all, decode_broadcast
from gregor.runtime.loops.loop import POLL_BYTES, monotonic_ms, now_ms
from gregor.runtime.loops.policy import NONE, CommitThrottle, Pending, due
from gregor.runtime.loops.running import Loop
from gregor.runtime.loops.window import OrderWindow
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    CheckpointInfo,
    Commit,
    Output,
    Record,
    Revoked,
    Session,
    TopicPartition,
)

_log: Final = logging.getLogger("gregor.runtime.loops")

BUSY_WAIT_S: Final = 0.01
"""How long finished orders may go unnoticed: a poll cannot be woken by them."""
WORTH_A_COMMIT: Final = 2 * MIB
"""Bytes of results that take their readers longer than the commit takes."""
MOST_CHECKPOINTS: Final = 2
"""Results that wait to be committed, in full checkpoints: beyond them nothing is taken."""
LEAVING_S: Final = 8.0
"""How long a stop waits for orders in flight; below the 10 s that many who ask for one wait before they kill."""


class OrderLoop(Loop):
    """Runs one asynchronous stage in one session; its one input carries orders."""

    def __init__(
        self,
        stage: OrderStage,
        session: Session,
        policy: CheckpointSection,
        *,
        config_version: str = "",
        clock: Callable[[], int] = now_ms,
        stopwatch: Callable[[], int] = monotonic_ms,
    ) -> None:
        super().__init__(session, stage)
        self._stage = stage
        self._policy = policy
        self._config_version = config_version
        self._clock = clock
        self._stopwatch = stopwatch
        self._topic = stage.spec.inputs[0]
        self._epoch = 0
        self._windows: dict[int, OrderWindow] = {}
        self._redelivered_below: dict[int, int] = {}
        self._finished: list[Finished] = []
        self._pending = NONE
        self._commit_throttle = CommitThrottle(policy.apart_ms)
        self._paused: set[int] = set()

    @property
    def owned(self) -> Sequence[int]:
        return sorted(self._windows)

    def step(self, wait: float) -> None:
        """One event, and what has finished meanwhile."""
        busy = self._busy or self._pending is not NONE
        self._throttle()
        room = self._stage.room()
        match self._session.poll(max(1, room), POLL_BYTES, min(wait, BUSY_WAIT_S) if busy else wait):
            case Revoked() as event:
                self._epoch = event.epoch
                self._leave(event.partitions)
                self._observer.revoked(event.partitions, event.lost)
            case Assigned() as event:
                self._epoch = event.epoch
                self._arrive(event)
            case Batch() as event:
                self._take(event)
        self._gather()
        if due(self._policy, self._pending, self._stopwatch()):
            self.checkpoint()

    @property
    def _busy(self) -> bool:
        return any(window.busy for window in self._windows.values())

    def checkpoint(self) -> None:
        """Commit the results of everything that has finished, with the windows that say so; the rest comes again elsewhere."""
        self._gather()
        if self._pending is NONE or not self._windows:
            return
        commit = Commit(
            epoch=self._epoch,
            outputs=[output for one in self._finished for output in one.outputs],
            positions={
                TopicPartition(self._topic, partition): window.position() for partition, window in self._windows.items()
            },
            mark=CheckpointInfo(now_ms=self._clock(), config_version=self._config_version),
        )
        began = time.perf_counter()
        try:
            self._session.commit(commit)
        except CommitFailed as error:
            # Finished work stays; it is committed with the next checkpoint if its partition is still ours.
            _log.warning("a checkpoint did not come through: %s", error)
            self._observer.refused(type(error).__name__)
        else:
            self._observer.committed(commit, 0, self._pending.bytes, time.perf_counter() - began)
            if self._pending.wanted_ms is not None:
                self._commit_throttle.committed(self._stopwatch())
            self._finished, self._pending = [], NONE
            self.commits += 1

    def drain(self) -> None:
        """Orders in flight end with what they have, so that nothing of it is done again; what takes too long comes again elsewhere."""
        self._stage.leave()
        give_up = time.monotonic() + LEAVING_S
        while any(window.busy for window in self._windows.values()) and time.monotonic() < give_up:
            self.step(BUSY_WAIT_S)
        self.checkpoint()

    def _arrive(self, event: Assigned) -> None:
        for partition, assignment in event.partitions.items():
            self._windows[partition] = OrderWindow(assignment.positions[self._topic])
            self._redelivered_below[partition] = assignment.ends[self._topic]
            self._paused.discard(partition)
            self._observer.assigned(partition, assignment)
        self._note(decided=False, size=0)

    def _leave(self, partitions: frozenset[int]) -> None:
        for partition in partitions & self._windows.keys():
            window = self._windows.pop(partition)
            self._stage.cancel([Ticket(partition, offset) for offset in window.in_flight])
        self._finished = [one for one in self._finished if one.ticket.partition in self._windows]

    def _take(self, batch: Batch) -> None:
        if batch.broadcast:
            self.hear(batch.broadcast)
            heard, ignored = decode_broadcast(batch.broadcast, self._stage.decoders)
            self._observer.ignored(ignored)
            self._stage.on_broadcast(heard)
        taken = [record for record in batch.records if self._windows[record.partition].accept(record.offset)]
        if taken:
            now = self._clock()
            self._observer.took(taken, [letter for record in taken for letter in self._start(record, now)])
        for where, offset in batch.positions.items():
            self._windows[where.partition].passed(offset)
            self._note(decided=False, size=0)

    def _start(self, record: Record, now: int) -> Sequence[Output]:
        """The order goes on its way; one that cannot be read is finished, and its letter is given."""
        received, letters = decode_all([record], self._stage.decoders, self._stage.spec.name, now)
        ticket = Ticket(record.partition, record.offset)
        if letters:
            self._windows[record.partition].finish(record.offset)
            self._finished.append(Finished(ticket, letters))
            self._note(decided=True, size=len(letters[0].value))
        for one in received:
            redelivered = record.offset < self._redelivered_below[record.partition]
            self._stage.start(ticket, one.value, redelivered)
        return letters

    def _gather(self) -> None:
        for one in self._stage.finished():
            window = self._windows.get(one.ticket.partition)
            if window is not None and window.finish(one.ticket.offset):
                self._finished.append(one)
                self._note(decided=True, size=sum(len(output.value) for output in one.outputs))
        if self._pending.decided and self._pending.wanted_ms is None and self._awaited:
            self._pending = replace(self._pending, wanted_ms=self._commit_throttle.earliest_ms(self._stopwatch()))

    @property
    def _awaited(self) -> bool:
        """Nothing more can finish before new orders come, which may well wait for these results; or they are enough to work on for
        whoever reads them, while the rest is on its way."""
        return self._pending.bytes >= WORTH_A_COMMIT or not self._busy

    def _throttle(self) -> None:
        """Deliver no orders that cannot be taken: the stage is full, or the partition's window is, or results pile up here because
        no checkpoint comes through. When one does, all of them leave in it, and it has to be done within a transaction's time."""
        no_room = self._stage.room() <= 0 or self._pending.bytes >= MOST_CHECKPOINTS * self._policy.max_bytes
        wanted = {partition for partition, window in self._windows.items() if no_room or window.full}
        stop = [TopicPartition(self._topic, one) for one in wanted - self._paused]
        go = [TopicPartition(self._topic, one) for one in (self._paused - wanted) & self._windows.keys()]
        if stop:
            self._session.pause(stop)
        if go:
            self._session.resume(go)
        self._paused = wanted

    def _note(self, *, decided: bool, size: int) -> None:
        now = self._stopwatch()
        old = self._pending
        self._pending = Pending(
            bytes=old.bytes + size,
            since_ms=now if old is NONE or (decided and not old.decided) else old.since_ms,
            last_ms=now if decided else old.last_ms,
            decided=old.decided or decided,
            moved=True,
            wanted_ms=old.wanted_ms,
        )
