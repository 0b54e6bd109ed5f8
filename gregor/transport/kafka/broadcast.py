"""Broadcast inputs: everybody reads them from the beginning, outside of any group, to the end before the first batch."""

from collections.abc import Sequence

import confluent_kafka as ck
from confluent_kafka import KafkaError

from gregor.errors import TransportError
from gregor.transport.kafka.clients import Clients
from gregor.transport.kafka.records import record_of
from gregor.transport.port import Record


class Broadcast:
    """The broadcast inputs of one session."""

    def __init__(self, clients: Clients, topics: Sequence[str]) -> None:
        self._short = {clients.names.topic(name): name for name in topics}
        self._reader: ck.Consumer | None = None
        if topics:
            self._reader = clients.reader()
            # Topics with one partition each: they carry settings, not load.
            self._reader.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING) for topic in self._short])
        self._unread = set(self._short)

    def poll(self) -> list[Record]:
        """What is new; the first call waits until everything that was there has been read."""
        if self._reader is None:
            return []
        records = self._take(0)
        while self._unread:
            records += self._take(0.1)
        return records

    def _take(self, wait: float) -> list[Record]:
        assert self._reader is not None
        records = []
        for message in self._reader.consume(1000, wait):
            error = message.error()
            if error is None:
                records.append(record_of(message, self._short[message.topic()]))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(message.topic())
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or error.fatal():
                raise TransportError(f"a broadcast topic cannot be read: {error.str()}")
        return records

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
