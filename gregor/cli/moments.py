"""Points in a crawl's topics as a command line names them: a time, or offsets of partitions."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gregor.errors import UsageError
from gregor.runtime.transport.port import LogReader, TopicPartition


def milliseconds(text: str) -> int:
    """Of a time such as 2026-11-16 or 2026-11-16T15:41:00Z; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"expected a time such as 2026-11-16T15:41:00Z, found {text!r}") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def offsets_at(
    log: LogReader, topics: Sequence[str], when: str | None, given: Sequence[str]
) -> dict[TopicPartition, int]:
    """By time in every partition, and where TOPIC:PARTITION:OFFSET names one by that."""
    places: dict[TopicPartition, int] = {}
    if when is not None:
        at = milliseconds(when)
        places = {TopicPartition(topic, one): at_ for topic in topics for one, at_ in log.since(topic, at).items()}
    for text in given:
        parts = text.split(":")
        if len(parts) != 3 or parts[0] not in topics or not (parts[1].isdecimal() and parts[2].isdecimal()):
            raise UsageError(f"expected TOPIC:PARTITION:OFFSET with a topic of {' and '.join(topics)}, found {text!r}")
        partitions = log.ends(parts[0])
        if int(parts[1]) not in partitions:
            raise UsageError(f"expected a partition of {min(partitions)} to {max(partitions)}, found {text!r}")
        places[TopicPartition(parts[0], int(parts[1]))] = int(parts[2])
    return places
