"""A changelog read slice by slice, by the member itself or by a process of its own."""

from typing import Final

import confluent_kafka as ck
from confluent_kafka import Consumer, KafkaError, KafkaException
from msgspec import Struct

SLICE_RECORDS: Final = 2_000
SLICE_BYTES: Final = 4 * 1024 * 1024
WAIT_S: Final = 0.05
_AT_ONCE: Final = 100


class ChangelogSlice(Struct, frozen=True):
    """What stood next in the log."""

    records: list[tuple[int, bytes | None]]
    """Offset and value."""
    next: int
    """Where the slice behind it begins; markers of transactions, which are no records, are passed too."""
    bytes: int
    error: KafkaException | None = None
    """What the consumer reported behind these records."""


def begin(reader: Consumer, topic: str, partition: int, at: int) -> None:
    """``reader`` is to serve this log alone from now on."""
    reader.assign([ck.TopicPartition(topic, partition, at)])


def read_slice(reader: Consumer, at: int) -> ChangelogSlice:
    """The records from ``at`` on that are there, some megabytes of them at the most; waits a moment for the first."""
    records: list[tuple[int, bytes | None]] = []
    size = 0
    error: KafkaException | None = None
    # A consume of many waits for all of them or its whole time.
    messages = reader.consume(1, WAIT_S)
    while messages:
        for message in messages:
            found = message.error()
            if found is None:
                records.append((message.offset(), message.value()))
                size += len(message)
                at = message.offset() + 1
            elif found.code() == KafkaError._PARTITION_EOF:
                at = max(at, message.offset())
            else:
                error = KafkaException(found)
        if error is not None or size >= SLICE_BYTES or len(records) >= SLICE_RECORDS:
            break
        messages = reader.consume(_AT_ONCE, 0)
    return ChangelogSlice(records, at, size, error)
