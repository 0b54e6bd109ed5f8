"""The session of a replay: member of no group, it delivers recorded steps and keeps what is decided in a store of its own."""

from collections.abc import Mapping, Sequence
from typing import Final

from gregor.inspect.replay.steps import ReplayStep
from gregor.runtime.state.store import StateSpec, Store
from gregor.runtime.transport.port import (
    Assigned,
    Assignment,
    Batch,
    Commit,
    Event,
    Position,
    TopicPartition,
)

_EPOCH: Final = 1


class ReplaySession:
    """Of one partition. ``give`` lays a step ready, the loop's next poll takes it; outputs go nowhere."""

    member: str = "replay"
    cheap_commit: bool = False

    def __init__(
        self, partition: int, store: Store, state: StateSpec, counters: Mapping[str, int], now_ms: int
    ) -> None:
        self._partition = partition
        self._store = store
        self._state = state
        self._ready: list[Event] = [
            Assigned(
                _EPOCH,
                {
                    partition: Assignment(
                        positions={"discovered": Position(0)}, ends={}, state=store.view(), counters=counters
                    )
                },
            )
        ]
        self.now_ms = now_ms

    def clock(self) -> int:
        """The time of the step that was laid ready last."""
        return self.now_ms

    def give(self, step: ReplayStep) -> None:
        self.now_ms = max(self.now_ms, step.now_ms)
        if step.records:
            self._ready.append(Batch(_EPOCH, step.records, {}))

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        return self._ready.pop(0) if self._ready else Batch(_EPOCH, (), {})

    def commit(self, commit: Commit) -> None:
        """The state alone: what a crawl would have written is not wanted."""
        batch = self._store.begin()
        deltas = [one.delta for one in commit.mutations.get(self._partition, ())]
        if deltas:
            self._state.apply(self._store.view(), deltas, self._store.writer(batch))
            self._store.write(batch)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """Nothing comes by itself."""

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """The same."""

    def close(self, drain: bool = True) -> None:
        """The store belongs to whoever opened it."""
