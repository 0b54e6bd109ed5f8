"""From where to where one partition can be replayed: by the topics that are left, and by the changelog's checkpoints."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from gregor.inspect.replay.changelog_copy import ChangelogCopy, Noted
from gregor.inspect.replay.sorted_orders import ORDERS, SortedOrders
from gregor.run.topology import FRONTIER
from gregor.runtime.transport.port import LogReader, TopicPartition
from schemas.changelog import Checkpoint
from schemas.codec import Undecodable
from schemas.schedule import decode_order
from streams.frontier.replay.orders import number_of

INPUTS: Final = FRONTIER.spec.inputs
STAGE: Final = FRONTIER.spec.name
STATE: Final = FRONTIER.state

Ends = Mapping[str, Mapping[int, tuple[int, int]]]
"""Of topics, by partition: the first offset, and the one behind the last."""
Limits = Mapping[TopicPartition, int]
"""Offsets in the frontier's inputs; a partition that is not named has none."""


FIRST: Final = Noted(-1, Checkpoint(sequence=0, positions=dict.fromkeys(INPUTS, 0)))
"""Before the first checkpoint of a crawl."""


class ReplayPlan(Struct, frozen=True, kw_only=True):
    """What is replayed of one partition, and what it can be compared with."""

    partition: int
    begin: Noted | None
    """The crawl's own checkpoint that the replay goes on from; None: it begins with nothing."""
    start: Mapping[str, int]
    """First offset of each input."""
    end: Mapping[str, int]
    """Offset behind the last of each input."""
    last: Noted | None
    """The checkpoint that the replay ends with; None: the changelog does not have it."""
    comparable: bool
    """Whether the crawl's state at the end is known."""
    counters: Mapping[str, int]
    """The crawl's own at the end; empty: not known."""
    steps: Noted | None
    """The checkpoint from which on every step of the crawl is known, checkpoints and orders; None: none is."""
    exact: bool
    """Whether they are known from the beginning."""
    knows_all: bool
    """Whether every discovery before the end is replayed, or part of the state that it begins with."""
    results_all: bool
    """The same of results."""
    orders: tuple[int, int]
    """What ``schedule`` still has."""
    config_version: str
    """Of the crawl's last checkpoint."""
    notes: tuple[str, ...]
    """What is missing."""

    @property
    def records(self) -> int:
        """Offsets between start and end."""
        return sum(max(0, self.end[topic] - self.start[topic]) for topic in INPUTS)


def plan(
    log: LogReader,
    ends: Ends,
    changelog: ChangelogCopy,
    partition: int,
    since: Limits,
    until: Limits,
    orders: SortedOrders | None = None,
) -> ReplayPlan | None:
    """None: the crawl has decided nothing in this partition. ``orders``: where those of a partition stand in all of ``schedule``."""
    first = {topic: ends[topic][partition][0] for topic in INPUTS}
    wanted = _of(since, partition)
    found = _Search(changelog, first, wanted, _of(until, partition))
    newest = found.newest or log.last_checkpoint(STAGE, partition)
    if newest is None:
        return None
    begin, last = found.begin, found.last
    end = {topic: newest.positions.get(topic, 0) for topic in INPUTS}
    present = last is None and all(end[topic] <= offset for topic, offset in _of(until, partition).items())
    for topic, offset in _of(until, partition).items():
        end[topic] = min(end[topic], offset)
    if last is not None:
        end = {topic: last.checkpoint.positions.get(topic, 0) for topic in INPUTS}
    if begin is not None:
        start = {topic: begin.checkpoint.positions.get(topic, 0) for topic in INPUTS}
    else:
        start = {topic: max(first[topic], wanted.get(topic, 0)) for topic in INPUTS}
    steps = begin or (FIRST if found.from_the_first else found.earliest)
    if last is None or steps is None:
        steps = None
    elif orders is not None:
        made, end_number = (one.checkpoint.counters.get("orders", 0) for one in (steps, last))
        steps = steps if orders.are_left(partition, made, end_number) else None
    elif not _orders_left(log, partition, ends[ORDERS][partition], steps):
        steps = None
    return ReplayPlan(
        partition=partition,
        begin=begin,
        start=start,
        end=end,
        last=last,
        comparable=changelog.is_whole_at(last) if last else present,
        counters=last.checkpoint.counters if last else newest.counters if present else {},
        steps=steps,
        exact=steps is not None and steps in (begin, FIRST),
        knows_all=begin is not None or not start["discovered"],
        results_all=begin is not None or not any(start.values()),
        orders=ends[ORDERS][partition],
        config_version=newest.config_version,
        notes=() if begin else tuple(_gaps(partition, start)),
    )


def _of(limits: Limits, partition: int) -> dict[str, int]:
    return {at.topic: offset for at, offset in limits.items() if at.partition == partition and at.topic in INPUTS}


class _Search:
    """One pass over the checkpoints of a partition."""

    def __init__(
        self, changelog: ChangelogCopy, first: Mapping[str, int], since: Mapping[str, int], until: Mapping[str, int]
    ) -> None:
        self.begin: Noted | None = None
        self.earliest: Noted | None = None
        """The first one that is there."""
        self.last: Noted | None = None
        self.newest: Checkpoint | None = None
        self.from_the_first = False
        """Whether the partition's very first checkpoint is there."""
        trimmed = any(first.values())
        for noted in changelog.checkpoints():
            positions = noted.checkpoint.positions
            self.newest = noted.checkpoint
            if any(positions.get(topic, 0) > offset for topic, offset in until.items()):
                continue
            self.last = noted
            self.earliest = self.earliest or noted
            self.from_the_first |= noted.checkpoint.sequence == 1 and not trimmed
            usable = changelog.is_whole_at(noted) and all(
                positions.get(topic, 0) >= offset for topic, offset in first.items()
            )
            early = all(positions.get(topic, 0) <= offset for topic, offset in since.items())
            if usable and (early if since else trimmed and self.begin is None):
                self.begin = noted


def _gaps(partition: int, start: Mapping[str, int]) -> Iterator[str]:
    for topic, offset in start.items():
        if offset:
            yield f"{topic}[{partition}] begins at offset {offset:,}: what stood before is not known"
    if any(start.values()):
        yield f"partition {partition}: the crawl's state at that point is not known; the replay began with an empty one"


def _orders_left(log: LogReader, partition: int, left: tuple[int, int], steps: Noted) -> bool:
    """Whether every order that was made after a checkpoint still stands in ``schedule``."""
    start, end = left
    made = steps.checkpoint.counters.get("orders", 0)
    if not start:
        return True
    for record in log.read(ORDERS, partition, start, end):
        try:
            return number_of(decode_order(record.value).lease) <= made + 1
        except Undecodable:
            return False
    return False
