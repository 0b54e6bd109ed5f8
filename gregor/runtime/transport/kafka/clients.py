"""Every librdkafka client that gregor makes, each setting with its reason."""

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from gregor.config import Names, resolve
from gregor.config.sections import KafkaSection
from gregor.errors import BrokerUnreachable, ConfigError
from schemas.codec import LARGEST_RECORD

_log: Final = logging.getLogger("gregor.kafka")
_librdkafka: Final = logging.getLogger("gregor.kafka.client")
_librdkafka.setLevel(logging.CRITICAL)

LARGEST_MESSAGE: Final = LARGEST_RECORD + 64 * 1024
"""A record's value and the room for its key, facts and framing."""


MOST_FETCHED_BYTES: Final = 8 * 1024 * 1024
"""Of one partition at a time; a larger record comes nevertheless."""
FETCHED_AHEAD_BYTES: Final = 32 * 1024 * 1024


class Clients:
    """Makes clients for one crawl on one cluster."""

    def __init__(self, names: Names, kafka: KafkaSection) -> None:
        self.names = names
        self.kafka = kafka
        self._shared: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "client.id": f"gregor-{names.crawl}",
            # Back-to-back transactions wait this long when the coordinator is still busy with the last one: 100 ms by default.
            "retry.backoff.ms": 5,
            "reconnect.backoff.max.ms": 2_000,
            **resolve(kafka.security, os.environ),
        }

    def group_consumer(self, stage: str, member: str, on_error: Callable[[KafkaError], None]) -> Consumer:
        """A member of a stage's group: cooperative, static, read committed, never commits by itself."""
        return Consumer(
            {
                **self._shared,
                **_FETCHING,
                "group.id": self.names.group(stage),
                # A restart gets its partitions back at once, without a rebalance.
                "group.instance.id": self.names.transactional_id(stage, member),
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": int(self.kafka.session_timeout_s * 1000),
                "heartbeat.interval.ms": max(300, int(self.kafka.session_timeout_s * 1000) // 10),
                "isolation.level": "read_committed",
                "error_cb": on_error,
            },
            logger=_librdkafka,
        )

    def reader(self, isolation: str = "read_committed") -> Consumer:
        """A consumer outside of any group: positions are assigned, nothing is committed."""
        return self._unjoined("reader", isolation)

    def bounded_reader(self, ahead_bytes: int = FETCHED_AHEAD_BYTES) -> Consumer:
        """A reader of what is there already: it hears soon that it stands at the end. Sooner would only ask a broker more often that hides
        the rest behind an open transaction. It asks for no more than ``ahead_bytes`` before they are wanted."""
        ahead = {"max.partition.fetch.bytes": min(ahead_bytes, MOST_FETCHED_BYTES), "fetch.wait.max.ms": 10}
        return self._unjoined("reader", "read_committed", {**ahead, "queued.max.messages.kbytes": ahead_bytes // 1024})

    def read_only(self, stage: str) -> Consumer:
        """A consumer that may ask for a group's positions and never joins it."""
        return self._unjoined(stage, "read_committed")

    def _unjoined(self, group: str, isolation: str, settings: Mapping[str, Any] = {}) -> Consumer:
        joined = {"group.id": self.names.group(group), "isolation.level": isolation}
        return Consumer({**self._shared, **_FETCHING, **joined, **settings}, logger=_librdkafka)

    def producer(self, stage: str, member: str, on_error: Callable[[KafkaError], None] | None = None) -> Producer:
        """A transactional producer; its id is the member's, so that a restart aborts its own leftovers at once."""
        told = {"error_cb": on_error} if on_error else {}
        return Producer(
            {
                **self._shared,
                **_PRODUCING,
                "transactional.id": self.names.transactional_id(stage, member),
                "transaction.timeout.ms": int(self.kafka.transaction_timeout_s * 1000),
                **told,
            },
            logger=_librdkafka,
        )

    def plain_producer(self) -> Producer:
        """An idempotent producer without transactions, for a handful of records from outside of any stage."""
        return Producer({**self._shared, **_PRODUCING, "enable.idempotence": True}, logger=_librdkafka)

    def admin(self) -> AdminClient:
        return AdminClient(self._shared, logger=_librdkafka)

    def wait_for_broker(self) -> AdminClient:
        """An admin client, once any broker has answered; BrokerUnreachable after ``kafka.give_up_after_s``."""
        refusals: list[str] = []

        def note(error: KafkaError) -> None:
            if error.code() in _REFUSED:
                refusals.append(error.str())

        try:
            admin = AdminClient({**self._shared, "error_cb": note}, logger=_librdkafka)
        except KafkaException as error:
            # What of it is wrong, librdkafka says: a file that is not there, a value that it does not know.
            raise ConfigError(
                f"expected settings that librdkafka takes in kafka.security, found some that it refuses: {error.args[0].str()}",
                remedy="correct kafka.security",
            ) from error
        began = time.monotonic()
        patience = 0.5
        while True:
            left = began + self.kafka.give_up_after_s - time.monotonic()
            try:
                admin.list_topics(timeout=max(0.1, min(patience, left)))
                return admin
            except KafkaException as error:
                admin.poll(0)
                left = began + self.kafka.give_up_after_s - time.monotonic()
                if left <= 0:
                    if refusals:
                        raise BrokerUnreachable(
                            f"no Kafka broker at {self.kafka.bootstrap} let us in: {refusals[-1]}",
                            remedy="correct kafka.security",
                        ) from error
                    raise BrokerUnreachable(
                        f"no Kafka broker answered at {self.kafka.bootstrap} within {self.kafka.give_up_after_s:g} s"
                    ) from error
                _log.warning(
                    "no broker answers at %s, trying again for %.0f s (%s)",
                    self.kafka.bootstrap,
                    left,
                    error.args[0].str(),
                )
                time.sleep(min(patience, left))
                patience = min(patience * 2, 8.0)


_REFUSED: Final = frozenset((KafkaError._AUTHENTICATION, KafkaError._SSL))
"""Why a broker that is there may look as if it were not."""

_FETCHING: Final[dict[str, Any]] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # A position that does not exist any more is an error to be explained, never a silent jump.
    "auto.offset.reset": "error",
    # The end of a partition tells the position behind transaction markers, which are not records.
    "enable.partition.eof": True,
    "max.partition.fetch.bytes": MOST_FETCHED_BYTES,
    "fetch.max.bytes": 2 * MOST_FETCHED_BYTES,
    "queued.max.messages.kbytes": FETCHED_AHEAD_BYTES // 1024,
    "fetch.wait.max.ms": 100,
}

_PRODUCING: Final[dict[str, Any]] = {
    # The back-off doubles with each try up to this: with the default of a second a commit took 30 ms instead of 8.
    "retry.backoff.max.ms": 10,
    # With more, a record can be lost in a transaction that commits: a batch is refused (the leader moves), the next one, already on its
    # way, is the first that the broker hears of this producer and is taken, and its success counts for the one before it.
    "max.in.flight.requests.per.connection": 1,
    "message.max.bytes": LARGEST_MESSAGE,
    "compression.type": "lz4",
    # Everything of a checkpoint is produced at once and flushed: waiting for more would only wait.
    "linger.ms": 1,
    "batch.size": 1024 * 1024,
    "queue.buffering.max.messages": 1_000_000,
}
