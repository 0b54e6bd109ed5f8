"""How Faust reads for the views: committed records only, from where the fold is, and nothing is ever committed.

Faust reads committed records only for ``processing_guarantee="exactly_once"``, which also makes a transactional producer for every
partition. What decides is the isolation level that its driver gives to aiokafka's consumer when it makes one; it is made here instead.

Positions are the fold's own. Faust would take those that it committed to the broker, and it commits past a record that is not yet
processed where transaction markers leave gaps between offsets.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import aiokafka  # type: ignore[import-untyped]
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # type: ignore[import-untyped]
from faust.transport.drivers.aiokafka import (
    AIOKafkaConsumerThread,
    Consumer,
    Transport,
    credentials_to_aiokafka_auth,
    server_list,
)
from faust.types import TP, AppT
from yarl import URL

MIB: Final = 1024 * 1024


class CommittedTransport(Transport):
    """Faust's transport with our consumer in it, and what both sides know of how far they are."""

    def __init__(self, brokers: Iterable[URL], app: AppT) -> None:
        super().__init__(list(brokers), app)
        self.folded: dict[TP, int] = {}
        """The offset after the last record that was folded."""
        self.fetched: dict[TP, int] = {}
        """The offset after the last record that was handed on to be folded."""


class _Thread(AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Transport) -> aiokafka.AIOKafkaConsumer:
        conf = self.app.conf
        return aiokafka.AIOKafkaConsumer(
            client_id=conf.broker_client_id,
            group_id=conf.id,
            bootstrap_servers=server_list(transport.url, transport.default_port),
            partition_assignment_strategy=[RoundRobinPartitionAssignor],
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=MIB,
            fetch_max_bytes=16 * MIB,
            fetch_max_wait_ms=500,
            request_timeout_ms=int(conf.broker_request_timeout * 1000),
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
            **credentials_to_aiokafka_auth(conf.broker_credentials, conf.ssl_context),
        )


class _Consumer(Consumer):
    def _new_consumer_thread(self) -> AIOKafkaConsumerThread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        return True

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """After a rebalance; a partition of which nothing was folded begins at its beginning."""
        folded = cast(CommittedTransport, self.transport).folded
        known = {tp: folded[tp] for tp in self.assignment() if tp in folded}
        if known:
            await self.seek_wait(known)
        return known

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:
        records = await super()._getmany(active_partitions, timeout)
        fetched = cast(CommittedTransport, self.transport).fetched
        fetched.update({TP(tp.topic, tp.partition): batch[-1].offset + 1 for tp, batch in records.items() if batch})
        return records

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Faust would complain of partitions in which nothing happens, which is nothing to complain of."""


CommittedTransport.Consumer = _Consumer
