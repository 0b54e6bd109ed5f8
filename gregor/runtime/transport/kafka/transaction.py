"""One checkpoint as one Kafka transaction, and what follows from each way in which it can end.

    1  begin, produce outputs and changelog, flush     crash: aborted by the next start of this member
    2  send the positions under the group's generation crash: the same; a zombie is refused here
    3  commit                                          crash: the coordinator finishes it, the next owner replays the changelog
    4  apply to RocksDB, one WriteBatch a partition    crash: the tail of the changelog is replayed at the next start

Outcomes: retriable calls are repeated; "requires abort" is aborted and nothing happened; everything else leaves the outcome open, and
only a new producer under the same id (its start ends the old transaction one way or the other) lets anybody go on.

A broker that dies is the one case in which step 2 may wait for ever: librdkafka keeps the dead one for the group's coordinator and asks
nobody else (confluentinc/librdkafka issue 5511), with a lone broker after every death. Who has lost a broker since positions were last
taken therefore waits for a moment only, then goes on with a new producer; nobody has asked to commit, so that nothing happened.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from gregor.errors import Aborted, BrokerUnreachable, Fenced, StateError, TransportError, UnknownOutcome
from gregor.runtime.state.changelog import Replica
from gregor.runtime.transport.kafka.abandonable_call import AbandonableCall
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.records import headers_of
from gregor.runtime.transport.port import Commit, Output, StageSpec
from gregor.runtime.transport.validity import check_changelog
from schemas.changelog import Checkpoint

_log: Final = logging.getLogger("gregor.kafka.transaction")

ChangelogRecords = Mapping[int, list[tuple[bytes, bytes]]]

LOST_BROKER_S: Final = 2.0
"""For the answer to positions when a broker was lost: hundreds of times what it takes, and what a coordinator that lives is worth."""


class Checkpointer:
    """Owns the member's transactional producer."""

    def __init__(self, clients: Clients, stage: StageSpec, member: str) -> None:
        self._clients = clients
        self._stage = stage
        self._member = member
        self._topics = {
            name: clients.names.topic(name) for name in (*stage.inputs, *stage.outputs, stage.changelog) if name
        }
        self._timeout = clients.kafka.transaction_timeout_s
        self._admin: AdminClient | None = clients.admin() if stage.changelog else None
        self.group_metadata: Any = None
        """Of the epoch that commits belong to; set by the session in the rebalance callback."""
        self._aside = AbandonableCall()
        self._lost_at: float | None = None
        """When the producer lost a broker; None: it has lost none since positions were last sent."""
        self._producer: Producer = self._new_producer()

    def commit(self, commit: Commit, replicas: Mapping[int, Replica]) -> None:
        records = self._changelog_records(commit, replicas)
        try:
            ends = self._transact(commit, records)
        except KafkaException as error:
            raise self._ended(error) from error
        except TimeoutError as error:
            self._aside = AbandonableCall()
            _log.warning(
                "no broker answers whether it takes the positions: the checkpoint is done again with a new producer"
            )
            self.renew()
            raise Aborted("no broker answered in time whether it takes the positions, nothing was written") from error
        for partition, logged in records.items():
            replica = replicas[partition]
            try:
                replica.apply_live(logged, ends[partition])
            except Exception as error:
                # It is committed: going on without it would decide on an old state. The next start replays the tail.
                raise StateError(
                    f"the state of partition {partition} cannot be written: {error}",
                    remedy="make room on the disk and start again: nothing is lost, the changelog holds what is missing",
                ) from error
            self._truncate(partition, replica)

    def renew(self) -> None:
        """Destroy the producer and begin anew; the old one's transaction is decided when this returns."""
        del self._producer
        self._producer = self._new_producer()

    def close(self) -> None:
        self._aside.close()
        # It is not there when a new one could not be made.
        vars(self).pop("_producer", None)

    def _changelog_records(self, commit: Commit, replicas: Mapping[int, Replica]) -> ChangelogRecords:
        """Of the partitions of which anything has changed; of the others the last checkpoint still says how they stand, and each
        partition that a transaction does not write to saves the broker the work for it."""
        records: dict[int, list[tuple[bytes, bytes]]] = {}
        for partition, replica in replicas.items():
            mutations = commit.mutations.get(partition, ())
            checkpoint = self._checkpoint(commit, partition)
            if mutations or not replica.stands_as(checkpoint):
                records[partition] = replica.prepare(mutations, checkpoint)
                check_changelog(partition, records[partition])
        return records

    def _checkpoint(self, commit: Commit, partition: int) -> Checkpoint:
        return Checkpoint(
            sequence=0,
            positions={
                where.topic: at.offset for where, at in commit.positions.items() if where.partition == partition
            },
            now_ms=commit.mark.now_ms,
            config_version=commit.mark.config_version,
            counters=dict(commit.mark.counters.get(partition, {})),
            member=self._member,
        )

    def _transact(self, commit: Commit, records: ChangelogRecords) -> dict[int, int]:
        """The whole transaction; gives the offset after each partition's checkpoint record."""
        ends: dict[int, int] = {}

        def note(error: KafkaError | None, message: Message) -> None:
            if error is None:
                ends[message.partition()] = message.offset() + 1

        self._producer.begin_transaction()
        for output in commit.outputs:
            self._produce(output)
        if records:
            changelog = self._topics[self._stage.changelog]
            for partition, entries in records.items():
                for key, value in entries[:-1]:
                    self._send(changelog, partition, key, value)
                key, value = entries[-1]
                self._send(changelog, partition, key, value, on_delivery=note)
        # Before send_offsets: otherwise every back-to-back transaction waits a whole retry back-off in there.
        self._producer.flush(self._timeout)
        positions = [
            ck.TopicPartition(self._topics[where.topic], where.partition, at.offset, at.metadata)
            for where, at in commit.positions.items()
        ]
        self._send_offsets(positions)
        patiently(2 * self._timeout, lambda: self._producer.commit_transaction(self._timeout))
        return ends

    def _send_offsets(self, positions: list[ck.TopicPartition]) -> None:
        producer, metadata = self._producer, self.group_metadata
        began = time.monotonic()
        lost_before, self._lost_at = self._lost_at is not None, None

        def send() -> None:
            patiently(self._timeout, lambda: producer.send_offsets_to_transaction(positions, metadata, self._timeout))

        def in_vain() -> bool:
            # Tells of brokers that were lost meanwhile.
            producer.poll(0)
            lost_at = began if lost_before else self._lost_at
            # Later than its time-out the broker aborts a transaction anyway.
            give_up = began + self._timeout if lost_at is None else lost_at + LOST_BROKER_S
            return time.monotonic() > give_up

        self._aside.call(send, in_vain)

    def _produce(self, output: Output) -> None:
        self._send(self._topics[output.topic], output.partition, output.key, output.value, headers=headers_of(output))

    def _send(self, topic: str, partition: int, key: bytes, value: bytes, **more: Any) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition, **more)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _ended(self, error: KafkaException) -> Exception:
        """What a failed transaction means for the session."""
        cause = error.args[0]
        _log.warning("a checkpoint did not come through: %s", cause.str())
        if cause.txn_requires_abort():
            try:
                patiently(2 * self._timeout, lambda: self._producer.abort_transaction(self._timeout))
            except KafkaException as failed:
                return UnknownOutcome(f"a transaction could not be aborted: {failed.args[0].str()}")
            return Aborted(f"the broker refused the transaction, nothing was written: {cause.str()}")
        if cause.code() in FENCED:
            return Fenced(f"another process uses the id of this member: {cause.str()}")
        return UnknownOutcome(f"whether the transaction was committed is not known: {cause.str()}")

    def _on_error(self, error: KafkaError) -> None:
        if self._lost_at is None and error.code() in LOST:
            self._lost_at = time.monotonic()

    def _new_producer(self) -> Producer:
        self._lost_at = None
        producer = self._clients.producer(self._stage.name, self._member, self._on_error)
        give_up = time.monotonic() + self._clients.kafka.give_up_after_s
        while True:
            try:
                producer.init_transactions(self._timeout)
                return producer
            except KafkaException as error:
                if not error.args[0].retriable():
                    name = self._clients.names.transactional_id(self._stage.name, self._member)
                    raise TransportError(
                        f"the broker refuses transactions of {name!r}: {error.args[0].str()}",
                        remedy="let this user write under transactional ids that begin with the crawl's name",
                    ) from error
                if time.monotonic() > give_up:
                    raise BrokerUnreachable(
                        f"no transaction coordinator answered at {self._clients.kafka.bootstrap} within "
                        f"{self._clients.kafka.give_up_after_s:g} s"
                    ) from error

    def _truncate(self, partition: int, replica: Replica) -> None:
        """Delete what a finished snapshot cycle made superfluous; if that fails, the next cycle deletes it too."""
        before = replica.truncate_before()
        if before is not None and self._admin is not None:
            where = ck.TopicPartition(self._topics[self._stage.changelog], partition, before)
            self._admin.delete_records([where])
            replica.truncated(before)


def patiently(seconds: float, call: Callable[[], None]) -> None:
    """Repeat a transactional call that may be repeated; raises what it raised last."""
    give_up = time.monotonic() + seconds
    while True:
        try:
            call()
            return
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > give_up:
                raise


LOST: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})
FENCED: Final = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
