"""The observer of one worker's loop: keeps what it is told as plain numbers, for whoever asks from another thread.

The loop's thread alone writes. What others read is either one number, or a table that is replaced as a whole and never changed.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Final

from gregor.runtime.loops.observer import LoopSnapshot
from gregor.runtime.metrics.events import CounterFigures, Events
from gregor.runtime.metrics.metric_defs import (
    BATCH,
    CHECKPOINT_RECORDS,
    CHECKPOINT_SECONDS,
    CHECKPOINTS_FAILED,
    DEAD_LETTERS,
    HELD,
    IGNORED,
    OUTPUT_BYTES,
    OUTPUTS,
    PARTITIONS,
    REBALANCES,
    RECORDS,
    RESTORE_DONE,
    RESTORE_TOTAL,
    TURNED,
    URLS,
    Metric,
)
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures, Spread
from gregor.runtime.transport.port import Assignment, Commit, Output, Position, Record, TopicPartition

SEEN_EVERY_S: Final = 1.0

_topic: Final = attrgetter("topic")


class Recorder:
    """An Observer."""

    def __init__(self, counters: CounterFigures | None = None) -> None:
        self._turned = time.monotonic()
        self._next_look = 0.0
        self._pending: Counter[str] = Counter()
        self._letters: Counter[str] = Counter()
        self._records: Counter[str] = Counter()
        self._dead: Counter[str] = Counter()
        self._ignored: Counter[str] = Counter()
        self._outputs: Counter[str] = Counter()
        # A total is shown as 0 before it first grows: a growth from nothing is none to Prometheus.
        self._failed: Counter[str] = Counter(Aborted=0, Fenced=0, UnknownOutcome=0)
        self._rebalances: Counter[str] = Counter(changed=0, lost=0)
        self._urls = 0
        self._bytes = 0
        self._batches = Spread(BATCH.bounds)
        self._checkpoints = Spread(CHECKPOINT_RECORDS.bounds)
        self._seconds = Spread(CHECKPOINT_SECONDS.bounds)
        self._events = Events(counters)
        self._shown: Figures = {}
        self.state = "starting"
        """In words: starting, restoring, held, at work."""
        self.positions: Mapping[TopicPartition, int] = {}
        """Of the owned inputs, as last committed."""
        self.restoring: frozenset[int] = frozenset()
        """Partitions that are not at work yet."""

    @property
    def silent_s(self) -> float:
        """Seconds since the loop last came round."""
        return time.monotonic() - self._turned

    def figures(self) -> Figures:
        """Everything; from any thread."""
        turned = {TURNED: {NO_LABELS: time.time() - self.silent_s}}
        return {**self._shown, **turned}

    def turned(self) -> bool:
        now = self._turned = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + SEEN_EVERY_S
        return True

    def saw(self, moment: LoopSnapshot) -> None:
        restoring = moment.restoring
        self.restoring = frozenset(restoring)
        self.state = "held" if moment.held else "restoring" if restoring else "at work"
        self._shown = {
            **_totals(RECORDS, self._records),
            **_totals(DEAD_LETTERS, self._dead),
            **_totals(IGNORED, self._ignored),
            **_totals(OUTPUTS, self._outputs),
            **_totals(CHECKPOINTS_FAILED, self._failed),
            **_totals(REBALANCES, self._rebalances),
            URLS: {NO_LABELS: self._urls} if self._urls else {},
            OUTPUT_BYTES: {NO_LABELS: self._bytes},
            BATCH: {NO_LABELS: self._batches},
            CHECKPOINT_RECORDS: {NO_LABELS: self._checkpoints},
            CHECKPOINT_SECONDS: {NO_LABELS: self._seconds},
            HELD: {NO_LABELS: int(moment.held)},
            PARTITIONS: {("owned",): len(moment.owned), ("restoring",): len(restoring)},
            RESTORE_DONE: {(str(at),): one.next - one.first for at, one in restoring.items()},
            RESTORE_TOTAL: {(str(at),): one.end - one.first for at, one in restoring.items()},
            **self._events.figures(),
            **moment.figures,
        }

    def assigned(self, partition: int, assignment: Assignment) -> None:
        came = {TopicPartition(topic, partition): at.offset for topic, at in assignment.positions.items()}
        self.positions = {**self.positions, **came}
        for topic in assignment.positions:
            self._records[topic] += 0
            self._dead[topic] += 0
        self._events.begin(partition, assignment.counters)

    def revoked(self, partitions: frozenset[int], lost: bool) -> None:
        self._rebalances["lost" if lost else "changed"] += 1
        self.positions = {at: offset for at, offset in self.positions.items() if at.partition not in partitions}
        self._events.end(partitions)

    def took(self, records: Sequence[Record], letters: Sequence[Output]) -> None:
        self._batches.add(len(records))
        self._pending.update(map(_topic, records))
        for letter in letters:
            self._letters[letter.key.decode()] += 1

    def ignored(self, records: Mapping[str, int]) -> None:
        self._ignored.update(records)

    def committed(self, commit: Commit, urls: int, size: int, seconds: float) -> None:
        self._seconds.add(seconds)
        taken = self._pending.total()
        if taken:
            self._checkpoints.add(taken)
        self._records.update(self._pending)
        self._dead.update(self._letters)
        self._clear()
        self._outputs.update(map(_topic, commit.outputs))
        self._urls += urls
        self._bytes += size
        self.positions = _offsets(commit.positions)
        self._events.note(commit.mark.counters)

    def refused(self, reason: str) -> None:
        self._failed[reason] += 1

    def dropped(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._pending.clear()
        self._letters.clear()


def _totals(metric: Metric, counts: Counter[str]) -> Figures:
    return {metric: {(name,): count for name, count in counts.items()}}


def _offsets(positions: Mapping[TopicPartition, Position]) -> dict[TopicPartition, int]:
    return {at: position.offset for at, position in positions.items()}
