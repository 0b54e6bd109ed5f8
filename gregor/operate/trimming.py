"""What of the topics may be deleted: records that every reader has passed and that are older than the window for replays.

Never trimmed: compacted topics (their latest records are the crawl's settings and archive), the changelog (a finished snapshot cycle
frees it, and nothing else may), items (they belong to the user) and dead letters. Required readers of a topic are the stages that read
it by the topology; any other group that once committed a position there holds the topic back too.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from gregor.errors import UsageError
from gregor.runtime.transport.port import LogReader, TopicPartition
from schemas.topics import BY_NAME, TOPICS

TRIMMABLE: Final = ("discovered", "schedule", "fetched", "pages", "verdicts", "sites-found")
_SAMPLE: Final = 200
"""Records whose size stands for all that would go."""


class TopicPlan(Struct, frozen=True):
    """What of one topic would go."""

    topic: str
    before: dict[int, int]
    """Partition to the offset before which records go; partitions of which nothing goes are left out."""
    records: int
    """Offsets freed; on Kafka the markers of transactions are among them."""
    bytes: int
    """Of keys, values and headers, from a sample of the records; compression is not counted."""
    kept: int
    """Offsets that stay."""
    held_by: tuple[str, ...]
    """Readers that have not passed everything that is old enough to go."""


def plan(
    reader: LogReader, topics: Sequence[str], required: Mapping[str, Iterable[str]], before_ms: int
) -> list[TopicPlan]:
    """What may go of each topic: passed by all, and written before ``before_ms``. ``required``: topic to stages that must have passed."""
    for topic in topics:
        if topic not in TRIMMABLE:
            raise UsageError(f"expected topics among {', '.join(TRIMMABLE)}, found {topic!r}")
    return [_plan_topic(reader, topic, frozenset(required.get(topic, ())), before_ms) for topic in topics]


def readers_of(stages: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Topic to the stages that read it as an input; ``stages``: name to inputs."""
    return {topic.name: frozenset(name for name, inputs in stages.items() if topic.name in inputs) for topic in TOPICS}


def places(plans: Iterable[TopicPlan]) -> dict[TopicPartition, int]:
    return {TopicPartition(one.topic, partition): offset for one in plans for partition, offset in one.before.items()}


def _plan_topic(reader: LogReader, topic: str, required: frozenset[str], before_ms: int) -> TopicPlan:
    others = {str(name) for name in BY_NAME[topic].read_by if name not in ("cli", "everybody")} - required
    positions = {stage: reader.committed(stage, [topic]) for stage in sorted(required | others)}
    # A reader that the topology does not have (views, an archiver that is not wanted) counts once it has read anything.
    waiting = {stage: at for stage, at in positions.items() if stage in required or at}
    ends = reader.ends(topic)
    old = reader.since(topic, before_ms)
    before: dict[int, int] = {}
    slow: set[str] = set()
    for partition, (first, end) in ends.items():
        allowed = wanted = min(old.get(partition, first), end)
        for stage, held in waiting.items():
            position = held.get(TopicPartition(topic, partition))
            passed = position.offset if position is not None else first
            if passed < wanted:
                slow.add(stage)
                allowed = min(allowed, passed)
        if allowed > first:
            before[partition] = allowed
    records = sum(offset - ends[partition][0] for partition, offset in before.items())
    total = sum(end - first for first, end in ends.values())
    size = records * _mean_size(reader, topic, before, ends)
    return TopicPlan(topic, before, records, int(size), total - records, tuple(sorted(slow)))


def _mean_size(reader: LogReader, topic: str, before: Mapping[int, int], ends: Mapping[int, tuple[int, int]]) -> float:
    sizes = [
        len(record.key or b"") + len(record.value or b"") + len(record.header or b"")
        for partition, offset in islice(before.items(), 4)
        for record in islice(reader.read(topic, partition, ends[partition][0], offset), _SAMPLE)
    ]
    return sum(sizes) / len(sizes) if sizes else 0.0
