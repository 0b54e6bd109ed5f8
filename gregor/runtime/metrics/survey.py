"""What only the brokers know, asked every few seconds in a thread of its own: ends of the log, brokers in service, copies in sync.

Lag is taken from the ends themselves and not from what the consumer last fetched: one that is paused, or cannot read on because a
transaction hangs, would otherwise look as if it had nothing left to do.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import confluent_kafka as ck
from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from gregor.runtime.metrics.metric_defs import ANSWERED, BROKERS, LAG, STABLE, STABLE_LAG, UNDER_REPLICATED
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures, Labels
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.port import StageSpec, TopicPartition

_log: Final = logging.getLogger("gregor.runtime.metrics")

EVERY_S: Final = 5.0
ANSWER_S: Final = 10.0


class Survey:
    """Of the partitions in ``positions``, and of the changelog of those that are being restored, which nobody passes whose transaction
    hangs; ``start``, then ``figures`` from any thread, ``close``."""

    def __init__(
        self,
        clients: Clients,
        stage: StageSpec,
        positions: Callable[[], Mapping[TopicPartition, int]],
        restoring: Callable[[], Iterable[int]] = tuple,
        every_s: float = EVERY_S,
    ) -> None:
        self._clients = clients
        self._every_s = every_s
        self._positions = positions
        self._restoring = restoring
        self._topics = {name: clients.names.topic(name) for name in (*stage.inputs, stage.changelog) if name}
        self._changelog = stage.changelog
        self._shown: Figures = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="survey", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def figures(self) -> Figures:
        return self._shown

    def close(self) -> None:
        """Does not wait for brokers that do not answer."""
        self._ending.set()

    def _run(self) -> None:
        admin = self._clients.admin()
        while not self._ending.is_set():
            try:
                self._shown = self._look(admin)
            except (KafkaException, TimeoutError) as error:
                _log.info("the brokers did not answer about lag: %s", str(error) or "not in time")
                # Nothing is told of lag that nobody knows; only since when nobody does.
                self._shown = {metric: self._shown[metric] for metric in (ANSWERED,) if metric in self._shown}
            self._ending.wait(self._every_s)

    def _look(self, admin: AdminClient) -> Figures:
        positions = self._positions()
        places = set(positions)
        if self._changelog:
            partitions = {at.partition for at in positions}.union(self._restoring())
            places |= {TopicPartition(self._changelog, partition) for partition in partitions}
        # Topics first, by which a client that never fetches learns of leaders: with what it believed before a broker came back, it
        # would be refused by that one again and again.
        lacking = sum(_lacking(admin, topic) for topic in self._topics.values())
        # Committed ends first: the difference is then never negative, only a moment too large.
        stable = self._ends(admin, places, IsolationLevel.READ_COMMITTED)
        high = self._ends(admin, places, IsolationLevel.READ_UNCOMMITTED)
        return {
            LAG: _series((at, max(0, stable[at] - offset)) for at, offset in positions.items()),
            STABLE: _series(sorted(stable.items())),
            STABLE_LAG: _series((at, max(0, high[at] - stable[at])) for at in sorted(places)),
            BROKERS: {NO_LABELS: len(admin.describe_cluster().result(ANSWER_S).nodes)},
            UNDER_REPLICATED: {NO_LABELS: lacking},
            ANSWERED: {NO_LABELS: time.time()},
        }

    def _ends(
        self, admin: AdminClient, places: Iterable[TopicPartition], isolation: IsolationLevel
    ) -> dict[TopicPartition, int]:
        """All of them in one request to each broker."""
        asked = {ck.TopicPartition(self._topics[at.topic], at.partition): at for at in places}
        if not asked:
            return {}
        answers = admin.list_offsets(
            dict.fromkeys(asked, OffsetSpec.latest()), isolation_level=isolation, request_timeout=ANSWER_S
        )
        return {asked[where]: answer.result(ANSWER_S).offset for where, answer in answers.items()}


def _lacking(admin: AdminClient, topic: str) -> int:
    """Partitions with a copy that is not in sync."""
    partitions = admin.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions.values()
    return sum(len(one.isrs) < len(one.replicas) for one in partitions)


def _series(figures: Iterable[tuple[TopicPartition, int]]) -> dict[Labels, float]:
    return {(at.topic, str(at.partition)): figure for at, figure in figures}
