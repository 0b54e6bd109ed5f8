"""Questions to the cluster that change nothing: asked again while a broker is away or a new leader has not caught up."""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from gregor.errors import TransportError

Answer = TypeVar("Answer")

ANSWER_TIMEOUT_S: Final = 10.0
"""For one try."""
_RETRY_S: Final = 0.25
_SETTLE_S: Final = 0.5
_SETTLE_EVERY_S: Final = 0.005

FINAL: Final = frozenset(
    {
        KafkaError._FATAL,
        KafkaError._AUTHENTICATION,
        KafkaError._DESTROY,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_VERSION,
    }
)
"""Errors that do not pass by themselves. All others may, whatever librdkafka says of them: OFFSET_NOT_AVAILABLE, which a new leader
answers until its high watermark is known, is not among those that it repeats."""


def ask(what: str, question: Callable[[], Answer], patience_s: float) -> Answer:
    """The answer; TransportError, which names ``what`` was asked, when there is none within the patience."""
    give_up = time.monotonic() + patience_s
    while True:
        try:
            return question()
        except (KafkaException, TimeoutError) as error:
            cause = error.args[0] if error.args else None
            final = isinstance(cause, KafkaError) and cause.code() in FINAL
            if final or time.monotonic() > give_up:
                reason = cause.str() if isinstance(cause, KafkaError) else "no answer came in time"
                raise TransportError(f"{what} cannot be read: {reason}") from error
            time.sleep(_RETRY_S)


def partitions_of(client: Consumer | AdminClient, topic: str) -> list[int]:
    """Raises what the broker says of the topic; a client that never fetches learns of new leaders by this alone."""
    found = client.list_topics(topic, timeout=ANSWER_TIMEOUT_S).topics[topic]
    if found.error is not None:
        raise KafkaException(found.error)
    return sorted(found.partitions)


def ends_of(admin: AdminClient, topic: str, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Of each partition its first offset and the one behind what is decided."""
    low = _offsets(admin, topic, partitions, OffsetSpec.earliest(), IsolationLevel.READ_COMMITTED)
    high = _settled(admin, topic, partitions)
    return {partition: (low[partition], high[partition]) for partition in partitions}


def _settled(admin: AdminClient, topic: str, partitions: Sequence[int]) -> dict[int, int]:
    """A commit returns a moment before the broker has marked it in the topic, and whoever commits and then looks should see it:
    transactions that are under way are waited for, but not long."""
    written = _offsets(admin, topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)
    give_up = time.monotonic() + _SETTLE_S
    while True:
        stable = _offsets(admin, topic, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
        if time.monotonic() > give_up or all(stable[one] >= written[one] for one in partitions):
            return stable
        time.sleep(_SETTLE_EVERY_S)


def _offsets(
    admin: AdminClient, topic: str, partitions: Sequence[int], which: OffsetSpec, isolation: IsolationLevel
) -> dict[int, int]:
    """All partitions in one question."""
    asked = {TopicPartition(topic, one): which for one in partitions}
    answers = admin.list_offsets(asked, isolation_level=isolation, request_timeout=ANSWER_TIMEOUT_S)
    return {where.partition: answer.result(ANSWER_TIMEOUT_S).offset for where, answer in answers.items()}
