"""Broadcast inputs: everybody reads them from the beginning, outside of any group, to the end before the first assignment."""

import time
from collections.abc import Sequence
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaError

from gregor.errors import TransportError
from gregor.runtime.transport.kafka.admin_queries import FINAL
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.records import record_of
from gregor.runtime.transport.port import Record

AT_ONCE: Final = 5_000
"""A table of sites may hold millions of rows; nobody wants them all in memory as records."""


class Broadcast:
    """The broadcast inputs of one session."""

    def __init__(self, clients: Clients, topics: Sequence[str]) -> None:
        self._short = {clients.names.topic(name): name for name in topics}
        self._reader: ck.Consumer | None = None
        if topics:
            self._reader = clients.reader()
            # Topics with one partition each.
            self._reader.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING) for topic in self._short])
        self._unread = set(self._short)
        self._patience_s = max(clients.kafka.give_up_after_s, clients.kafka.transaction_timeout_s)
        self._give_up = time.monotonic() + self._patience_s

    @property
    def unread(self) -> bool:
        """Whether something that was there at the beginning is still to be read."""
        return bool(self._unread)

    def poll(self, wait: float = 0.0) -> list[Record]:
        """What is new, about AT_ONCE records at the most; waits for it until everything that was there has been read, and ``wait``
        seconds at the most. TransportError when that gets no further for kafka.give_up_after_s."""
        if self._reader is None:
            return []
        deadline = time.monotonic() + wait
        records = self._take(0.0)
        while self._unread and len(records) < AT_ONCE and (left := deadline - time.monotonic()) > 0:
            records += self._take(left)
        if records:
            self._give_up = time.monotonic() + self._patience_s
        elif self._unread and time.monotonic() > self._give_up:
            missing = ", ".join(sorted(self._unread))
            raise TransportError(f"{missing} cannot be read: no broker gave its records for {self._patience_s:g} s")
        return records

    def _take(self, wait: float) -> list[Record]:
        assert self._reader is not None
        records = []
        # A consume of many waits for all of them or its whole time.
        for message in self._reader.consume(1, wait) + self._reader.consume(999, 0):
            error = message.error()
            if error is None:
                records.append(record_of(message, self._short[message.topic()]))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(message.topic())
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART or error.code() in FINAL or error.fatal():
                raise TransportError(f"{message.topic()} cannot be read: {error.str()}")
        return records

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
