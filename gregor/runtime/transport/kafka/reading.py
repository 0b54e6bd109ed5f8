"""Bounded reads: what a topic holds now, from one offset to another, whatever brokers do meanwhile."""

import time
from collections.abc import Callable, Iterator, Mapping

import confluent_kafka as ck
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from gregor.errors import TransportError
from gregor.runtime.transport.kafka.admin_queries import FINAL, ask, ends_of, partitions_of
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.records import record_of
from gregor.runtime.transport.port import Record, TopicPartition

Ends = Mapping[int, tuple[int, int]]
"""Per partition its first offset and the offset after its last committed record."""


def ends_now(clients: Clients, admin: AdminClient, topic: str) -> Ends:
    full = clients.names.topic(topic)

    def look() -> Ends:
        # By the client that is asked for offsets, too: it believes in the leaders that it has heard of for a quarter of an hour.
        return ends_of(admin, full, partitions_of(admin, full))

    return ask(f"the ends of {topic}", look, clients.kafka.give_up_after_s)


def read_range(
    clients: Clients, reader: ck.Consumer, place: TopicPartition, at: int, end: int, ends: Callable[[str], Ends]
) -> Iterator[Record]:
    """Of ``[at, end)``, which the log has, or had: what is trimmed meanwhile is passed over. TransportError when no broker gives
    anything for kafka.give_up_after_s."""
    topic, partition = place
    patience = clients.kafka.give_up_after_s
    give_up = time.monotonic() + patience
    where = ck.TopicPartition(clients.names.topic(topic), partition, at)
    if at < end:
        reader.assign([where])
    while at < end:
        # A consume of many waits for all of them or its whole time.
        messages = reader.consume(1, 0.2) + reader.consume(999, 0)
        if time.monotonic() > give_up and not any(message.error() is None for message in messages):
            raise TransportError(f"{topic}[{partition}] cannot be read: no broker gave its records for {patience:g} s")
        before = at
        for message in messages:
            error = message.error()
            if error is None:
                if message.offset() < at:
                    # Read already, before an error had us begin again.
                    continue
                at = message.offset() + 1
                if message.offset() < end:
                    yield record_of(message, topic)
            elif error.code() == KafkaError._PARTITION_EOF:
                at = max(at, message.offset())
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                low, high = ends(topic)[partition]
                if at > high:
                    raise TransportError(f"{topic} cannot be read: {error.str()}")
                # Trimmed meanwhile; or there is nothing amiss, and the error is one of an earlier assignment of this reader:
                # librdkafka gives such errors no version by which it would know.
                where.offset = at = max(at, low)
                reader.assign([where])
            elif error.code() in FINAL:
                raise TransportError(f"{topic} cannot be read: {error.str()}")
        if at > before:
            # Whoever takes the records may take long over them.
            give_up = time.monotonic() + patience
