"""The records of one partition in the order in which the crawl took them in, cut into steps with a time each.

By checkpoints, a step is what one checkpoint of the crawl took in, then the orders that it made. Its time is that of the checkpoint
before: nothing in it was decided earlier, so that nothing which waits for a time becomes due later than it did.

By time, `discovered` and `fetched` are merged by the times at which their records were written. Records that belong to one moment are
one step. A discovery counts as written ``SKEW_MS`` before its time, since clocks differ: it always came before the results of its URLs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from gregor.inspect.replay.changelog_copy import ChangelogCopy
from gregor.inspect.replay.plan import ReplayPlan
from gregor.inspect.replay.sorted_orders import ORDERS, SortedOrders
from gregor.runtime.transport.port import LogReader, Record
from schemas.changelog import Checkpoint
from schemas.codec import Undecodable
from schemas.schedule import decode_order
from streams.frontier.replay.orders import number_of

SKEW_MS: Final = 2_000
STEP_MS: Final = 1_000
STEP_RECORDS: Final = 2_000
_REPEATED: Final = b'"attempt":'
"""In a record of results that are not the first ones of all their URLs."""


class ReplayStep(Struct, frozen=True):
    """One step."""

    now_ms: int
    records: Sequence[Record]
    checkpoint: Checkpoint | None = None
    """The crawl's own that the step ends with; None: it ends with none, or none is known."""


def replay_steps(
    log: LogReader, changelog: ChangelogCopy, plan: ReplayPlan, orders: SortedOrders | None = None
) -> Iterator[ReplayStep]:
    """By time as far as nothing better is known, then by checkpoints. ``orders``: of all partitions, where they cannot be told by their
    place in ``schedule``."""
    found, results = (
        _RecordStream(_read(log, topic, plan.partition, plan.start[topic], plan.end[topic]))
        for topic in ("discovered", "fetched")
    )
    steps = plan.steps
    if steps is None:
        yield from _by_time(found, results, plan.end)
        return
    if not plan.exact:
        yield from _by_time(found, results, steps.checkpoint.positions)
        yield ReplayStep(steps.checkpoint.now_ms, (), steps.checkpoint)
    made = orders.of(plan.partition) if orders is not None else _read(log, ORDERS, plan.partition, *plan.orders)
    yield from _by_checkpoints(changelog, plan, found, results, _RecordStream(made))


def _read(log: LogReader, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
    return log.read(topic, partition, start, end) if start < end else iter(())


class _RecordStream:
    """Records in their order, with the next one in sight."""

    def __init__(self, records: Iterator[Record]) -> None:
        self._records = records
        self.next: Record | None = next(self._records, None)

    def take(self) -> Record:
        record = self.next
        assert record is not None
        self.next = next(self._records, None)
        return record

    def below(self, end: int) -> Iterator[Record]:
        while self.next is not None and self.next.offset < end:
            yield self.take()


def _by_checkpoints(
    changelog: ChangelogCopy, plan: ReplayPlan, found: _RecordStream, results: _RecordStream, schedule: _RecordStream
) -> Iterator[ReplayStep]:
    last, steps = plan.last, plan.steps
    assert last is not None
    assert steps is not None
    made = steps.checkpoint.counters.get("orders", 0)
    orders = _Orders(schedule, plan.partition, made)
    now_ms = steps.checkpoint.now_ms
    for noted in changelog.checkpoints(steps.offset, last.offset):
        gathered: list[Record] = []
        for topic, stream in (("fetched", results), ("discovered", found)):
            for record in stream.below(noted.checkpoint.positions.get(topic, 0)):
                now_ms = now_ms or record.time_ms
                gathered.append(record)
                if len(gathered) >= STEP_RECORDS:
                    yield ReplayStep(now_ms, gathered)
                    gathered = []
        gathered += orders.below(noted.checkpoint.counters.get("orders", 0))
        yield ReplayStep(now_ms or noted.checkpoint.now_ms, gathered, noted.checkpoint)
        now_ms = noted.checkpoint.now_ms


class _Orders:
    """Those of ``schedule``, by their numbers."""

    def __init__(self, stream: _RecordStream, partition: int, made: int) -> None:
        self._stream = stream
        self._partition = partition
        self._made = made

    def below(self, last: int) -> Iterator[Record]:
        """The orders up to a number, each once."""
        while (record := self._stream.next) is not None:
            number = self._number(record)
            if number > last:
                return
            self._stream.take()
            if number > self._made:
                self._made = number
                yield record

    def _number(self, record: Record) -> int:
        """0: it is no order of this partition."""
        try:
            lease = decode_order(record.value).lease
        except Undecodable:
            return 0
        return number_of(lease) if lease.startswith(f"{self._partition}-") else 0


def _by_time(found: _RecordStream, results: _RecordStream, end: Mapping[str, int]) -> Iterator[ReplayStep]:
    gathered: list[Record] = []
    began = now_ms = 0
    answered = False
    while (stream := _earlier(found, results, end)) is not None:
        record = stream.take()
        when = _moment(record)
        again = answered and record.topic == "fetched" and _REPEATED in (record.value or b"")
        if gathered and (len(gathered) >= STEP_RECORDS or when - began >= STEP_MS or again):
            yield ReplayStep(now_ms, gathered)
            gathered, answered = [], False
        if not gathered:
            began, now_ms = when, max(now_ms, when)
        gathered.append(record)
        answered |= record.topic == "fetched"
    if gathered:
        yield ReplayStep(now_ms, gathered)


def _moment(record: Record) -> int:
    return record.time_ms - SKEW_MS if record.topic == "discovered" else record.time_ms


def _earlier(found: _RecordStream, results: _RecordStream, end: Mapping[str, int]) -> _RecordStream | None:
    """The topic whose next record was written first; None: both have reached the end."""
    left = [
        stream
        for stream in (found, results)
        if stream.next is not None and stream.next.offset < end.get(stream.next.topic, 0)
    ]
    return min(left, key=lambda stream: _moment(stream.next) if stream.next else 0, default=None)
