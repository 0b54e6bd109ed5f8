"""The loop of a batch stage: poll, decide, checkpoint. It owns positions and epochs; the stage knows of neither."""

import logging
import time
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from gregor.config.sections import Checkpoint
from gregor.errors import CommitFailed
from gregor.stage.contract import BatchStage, Work
from gregor.stage.decode import decode_all, decode_broadcast
from gregor.stage.policy import NONE, due, next_due_ms
from gregor.stage.running import Loop
from gregor.transport.port import (
    Assigned,
    Batch,
    Commit,
    Mark,
    Output,
    Position,
    Revoked,
    Session,
    TopicPartition,
)

_log: Final = logging.getLogger("gregor.stage")

POLL_RECORDS: Final = 5_000
POLL_BYTES: Final = 8 * 1024 * 1024


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class StageLoop(Loop):
    """Runs one batch stage in one session."""

    def __init__(
        self,
        stage: BatchStage,
        session: Session,
        policy: Checkpoint,
        *,
        config_version: str = "",
        clock: Callable[[], int] = now_ms,
    ) -> None:
        super().__init__(session, stage)
        self._stage = stage
        self._policy = policy
        self._config_version = config_version
        self._clock = clock
        self._epoch = 0
        self._positions: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._outputs: list[Output] = []
        self._pending = NONE

    def step(self, wait: float) -> None:
        """One event and what follows from it."""
        match self._session.poll(POLL_RECORDS, POLL_BYTES, self._wait(wait)):
            case Revoked() as event:
                self._epoch = event.epoch
                self._stage.revoked(event.partitions)
                self._drop()
                for where in [one for one in self._positions if one.partition in event.partitions]:
                    del self._positions[where], self._committed[where]
            case Assigned() as event:
                self._epoch = event.epoch
                self._arrive(event)
            case Batch() as event:
                self._take(event)
        self._add(self._stage.tick(self._clock()))
        if due(self._policy, self._pending, self._clock()):
            self.checkpoint()

    def checkpoint(self) -> None:
        """Commit everything that is pending, if anything is."""
        if not (self._pending.decided or self._pending.moved) or not self._positions:
            return
        self._outputs += self._stage.prepare()
        commit = Commit(
            epoch=self._epoch,
            outputs=self._outputs,
            positions={where: Position(offset) for where, offset in self._positions.items()},
            mutations=self._stage.mutations(),
            mark=Mark(now_ms=self._clock(), config_version=self._config_version, counters=self._stage.counters()),
        )
        try:
            self._session.commit(commit)
        except CommitFailed as error:
            # The session says in its next events what became of the partitions.
            _log.warning("a checkpoint was dropped, its input comes again: %s", error)
            self._drop()
        else:
            self._stage.committed()
            self._committed.update(self._positions)
            self._outputs, self._pending = [], NONE
            self.commits += 1

    def _wait(self, longest: float) -> float:
        """Seconds to the next thing that the clock alone brings about."""
        dues = [at for at in (next_due_ms(self._policy, self._pending), self._stage.next_due_ms()) if at is not None]
        if not dues:
            return longest
        return min(longest, max(0.0, (min(dues) - self._clock()) / 1000))

    def _arrive(self, event: Assigned) -> None:
        for partition, assignment in event.partitions.items():
            self._stage.assigned(partition, assignment)
            for topic, position in assignment.positions.items():
                where = TopicPartition(topic, partition)
                self._positions[where] = self._committed[where] = position.offset
        self._note(moved=True)

    def _take(self, batch: Batch) -> None:
        now = self._clock()
        if batch.broadcast:
            self._stage.instruct(decode_broadcast(batch.broadcast, self._stage.decoders))
        if batch.records:
            received, letters = decode_all(batch.records, self._stage.decoders, self._stage.spec.name, now)
            self._add(Work(letters))
            self._add(self._stage.process(received, now))
            self._note(decided=True)
        if batch.positions:
            self._positions.update(batch.positions)
            self._note(moved=True)

    def _add(self, work: Work) -> None:
        if work.outputs or work.urls:
            self._outputs += work.outputs
            size = sum(len(output.value) for output in work.outputs)
            self._note(decided=True, urls=work.urls, size=size)

    def _note(self, *, decided: bool = False, moved: bool = False, urls: int = 0, size: int = 0) -> None:
        now = self._clock()
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
        self._positions = dict(self._committed)
        self._outputs, self._pending = [], NONE
