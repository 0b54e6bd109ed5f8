"""One member of a stage's group on Kafka: polls, restores, commits. One thread owns it and every client below it.

The rules that keep a crawl whole stand in docs/protocol.md; the ones that live here:

- The group's metadata is taken in the rebalance callback and used for every commit of that epoch, never fetched at commit time.
- A rebalance of any kind voids what was gathered: the epoch grows and the retained partitions go back to the last commit.
- Only the first input is subscribed to; the same partitions of the others are assigned beside it, so that they stay together.
- A partition is assigned to the consumer when it is restored, with an explicit offset, and not before.
"""

import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import confluent_kafka as ck
from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from gregor.errors import Aborted, BrokerUnreachable, TopologyError, TransportError
from gregor.runtime.transport.kafka.abandonable_call import AbandonableCall, after
from gregor.runtime.transport.kafka.admin_queries import FINAL
from gregor.runtime.transport.kafka.broadcast import Broadcast
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.member import MemberFolder
from gregor.runtime.transport.kafka.reading import ends_now, read_range
from gregor.runtime.transport.kafka.records import record_of
from gregor.runtime.transport.kafka.restore import Changelog, PartitionRestore
from gregor.runtime.transport.kafka.restore_turns import RestoreTurns
from gregor.runtime.transport.kafka.transaction import Checkpointer
from gregor.runtime.transport.port import (
    Assigned,
    Assignment,
    Batch,
    Commit,
    Event,
    Position,
    Record,
    Restoring,
    Revoked,
    StageSpec,
    TopicPartition,
)
from gregor.runtime.transport.validity import check_commit

_log: Final = logging.getLogger("gregor.kafka.session")

MOST_REJOINS: Final = 5
REJOIN_WINDOW_S: Final = 60.0
REPORT_EVERY_S: Final = 5.0
CLOSING_S: Final = 5.0


class KafkaSession:
    """Use KafkaTransport.open."""

    cheap_commit: bool = False

    def __init__(
        self, clients: Clients, stage: StageSpec, folder: MemberFolder, changelog: Changelog | None, topic_id: str = ""
    ) -> None:
        """``topic_id``: of the first input, for the note that positions in it were committed; empty: there is a changelog for that."""
        self._clients = clients
        self._stage = stage
        self._folder = folder
        self._unnoted = topic_id
        self._inputs = {name: clients.names.topic(name) for name in stage.inputs}
        self._short = {topic: name for name, topic in self._inputs.items()}
        self._epoch = 0
        self._events: deque[Event] = deque()
        self._arriving = RestoreTurns(clients, self._inputs, changelog)
        self._owned: dict[int, PartitionRestore] = {}
        self._retired: list[PartitionRestore] = []
        """Not ours any more, but open until the stage has heard of it."""
        self._positions: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, Position] = {}
        self._average_bytes = 1024.0
        self._down_since: float | None = None
        self._quiet_until = 0.0
        self.closed = False
        self._checkpointer = Checkpointer(clients, stage, folder.id)
        self._broadcast = Broadcast(clients, stage.broadcast)
        self._reader = clients.reader("read_uncommitted")
        self._broken: KafkaError | None = None
        self._rejoined: list[float] = []
        self._consumer: Consumer = self._join()

    @property
    def member(self) -> str:
        return self._folder.id

    @property
    def folder(self) -> Path:
        return self._folder.path

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        if self._broken is not None:
            self._rejoin(self._broken)
        if self._events:
            return self._events.popleft()
        self._close_retired()
        if self._broadcast.unread:
            return self._hear(wait)
        ready = self._arriving.advance(self._consumer, self._reader)
        if ready:
            return Assigned(self._epoch, {restore.partition: self._own(restore) for restore in ready})
        messages = self._consume(max_records, max_bytes, self._arriving.waits(wait))
        # Told once, as a message, and perhaps in the same call as a change of the group.
        self._broken = next((error for one in messages if (error := one.error()) and _is_fatal(error)), self._broken)
        if self._events:
            # The group changed while these were fetched, before some of them perhaps and after others: all of them come again. The
            # rewind waits until here, because a message fetched again must not be among those that are dropped.
            self._drop(messages)
            self._rewind()
            return self._events.popleft()
        return self._batch(messages)

    def commit(self, commit: Commit) -> None:
        if commit.epoch != self._epoch:
            raise Aborted(
                f"the group changed since epoch {commit.epoch}, it is now in {self._epoch}; nothing was written"
            )
        check_commit(commit, self._stage, self._owned.keys())
        replicas = {partition: one.replica for partition, one in self._owned.items() if one.replica is not None}
        try:
            self._checkpointer.commit(commit, replicas)
        except Aborted:
            self._rewind()
            raise
        except TransportError:
            self._start_over()
            raise
        self._committed.update(commit.positions)
        if self._unnoted:
            self._folder.note_commit(self._unnoted)
            self._unnoted = ""

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._consumer.pause(self._kafka_partitions(partitions))

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._consumer.resume(self._kafka_partitions(partitions))

    def read(self, topic: str, partition: int) -> Iterator[Record]:
        """By clients of its own, which last as long as it does."""
        admin, reader = self._clients.admin(), self._clients.bounded_reader()
        ends = partial(ends_now, self._clients, admin)
        try:
            first, end = ends(topic)[partition]
            yield from read_range(self._clients, reader, TopicPartition(topic, partition), first, end, ends)
        finally:
            reader.close()

    def restoring(self) -> Mapping[int, Restoring]:
        return self._arriving.progress()

    def close(self, drain: bool = True) -> None:
        """A static member keeps its place until the session time-out, whatever ``drain`` says; its transactions end at once."""
        if self.closed:
            return
        self.closed = True
        self._checkpointer.close()
        with suppress(KafkaException):
            # An assignment that waits to be acknowledged is acknowledged first: met inside of the consumer's close, it can wait for ever.
            self._consumer.consume(1, 0)
        leave(self._consumer)
        # Whatever it may still call means nobody.
        self._consumer = None
        self._arriving.close()
        for one in self._owned.values():
            one.close()
        self._close_retired()
        self._reader.close()
        self._broadcast.close()
        self._folder.close()

    def _join(self) -> Consumer:
        consumer = self._clients.group_consumer(self._stage.name, self._folder.id, self._on_error)
        if not self._broadcast.unread:
            self._subscribe(consumer)
        return consumer

    def _hear(self, wait: float) -> Batch:
        """Before the group is asked for anything: a stage acts on an assignment at once, and what it was told holds from then on."""
        heard = self._broadcast.poll(wait)
        if not self._broadcast.unread:
            self._subscribe(self._consumer)
        return Batch(self._epoch, (), {}, heard)

    def _subscribe(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._inputs[self._stage.inputs[0]]],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _on_error(self, error: KafkaError) -> None:
        if _is_fatal(error):
            self._broken = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN and time.monotonic() > self._quiet_until:
            # A broker that is away is reported ten times a second, and all of it at once when nothing was polled for a while.
            self._quiet_until = time.monotonic() + REPORT_EVERY_S
            _log.info("the consumer reports: %s", error.str())

    def _rejoin(self, error: KafkaError) -> None:
        """A consumer that cannot go on is replaced; a static member can be fenced by its own retry when a coordinator dies."""
        now = time.monotonic()
        self._rejoined = [at for at in self._rejoined if now - at < REJOIN_WINDOW_S]
        if len(self._rejoined) >= MOST_REJOINS:
            raise TransportError(
                f"the consumer failed {MOST_REJOINS} times within {REJOIN_WINDOW_S:g} s: {error.str()}",
                remedy=f"see whether another process uses a copy of {self._folder.path}",
            )
        self._rejoined.append(now)
        _log.warning("the consumer is replaced: %s", error.str())
        held = frozenset(self._owned)
        old, self._consumer = self._consumer, None
        leave(old)
        self._arriving.give_up_all()
        self._retired += self._owned.values()
        for table in (self._owned, self._positions, self._committed):
            table.clear()
        self._broken = None
        self._consumer = self._join()
        self._epoch += 1
        self._events.append(Revoked(self._epoch, held, lost=True))

    def _on_assign(self, consumer: Consumer, partitions: list[ck.TopicPartition]) -> None:
        # Nothing is fetched before it is restored: acknowledge now, assign with offsets later.
        consumer.incremental_assign([])
        if consumer is not self._consumer:
            return
        self._new_epoch(frozenset(), lost=False)
        for one in partitions:
            self._arriving.add(one.partition)

    def _on_revoke(self, consumer: Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._leave(consumer, partitions, lost=False)

    def _on_lost(self, consumer: Consumer, partitions: list[ck.TopicPartition]) -> None:
        self._leave(consumer, partitions, lost=True)

    def _leave(self, consumer: Consumer, partitions: list[ck.TopicPartition], lost: bool) -> None:
        gone = {one.partition for one in partitions}
        held = gone & self._owned.keys()
        consumer.incremental_unassign(self._all_inputs(held))
        if consumer is not self._consumer:
            return
        for partition in gone:
            if partition in self._owned:
                self._retired.append(self._owned.pop(partition))
            else:
                self._arriving.give_up(partition)
            for name in self._stage.inputs:
                self._positions.pop(TopicPartition(name, partition), None)
                self._committed.pop(TopicPartition(name, partition), None)
        self._new_epoch(frozenset(held), lost)

    def _new_epoch(self, gone: frozenset[int], lost: bool) -> None:
        if self.closed:
            return
        self._epoch += 1
        self._checkpointer.group_metadata = self._consumer.consumer_group_metadata()
        self._events.append(Revoked(self._epoch, gone, lost))

    def _rewind(self) -> None:
        """Everything retained goes back to its last commit."""
        for where, position in self._committed.items():
            # What has not moved was perhaps never fetched, and librdkafka seeks only where it fetches.
            if self._positions[where] != position.offset:
                try:
                    self._consumer.seek(ck.TopicPartition(self._inputs[where.topic], where.partition, position.offset))
                except KafkaException as error:
                    self._broken = error.args[0]
                    return
                self._positions[where] = position.offset

    def _drop(self, messages: Sequence[Message]) -> None:
        """The consumer has moved past these: without a rewind they would be lost, and an end of a partition is not told twice."""
        for message in messages:
            where = TopicPartition(self._short.get(message.topic(), ""), message.partition())
            position = _position_after(message)
            if where in self._positions and position is not None:
                self._positions[where] = position

    def _close_retired(self) -> None:
        """Everybody has heard that these are gone; until then a stage may still read them."""
        for one in self._retired:
            one.close()
        self._retired.clear()

    def _start_over(self) -> None:
        """After an unknown outcome nothing remembered counts: every partition comes as if newly assigned."""
        held = frozenset(self._owned)
        self._consumer.incremental_unassign(self._all_inputs(held))
        for partition, one in self._owned.items():
            self._retired.append(one)
            self._arriving.add(partition)
        self._owned.clear()
        self._positions.clear()
        self._committed.clear()
        self._epoch += 1
        self._events.append(Revoked(self._epoch, held, lost=True))
        self._checkpointer.renew()

    def _own(self, restore: PartitionRestore) -> Assignment:
        partition = restore.partition
        self._owned[partition] = restore
        for name, position in restore.positions.items():
            where = TopicPartition(name, partition)
            self._positions[where] = position.offset
            self._committed[where] = position
        self._consumer.incremental_assign(
            [ck.TopicPartition(self._inputs[name], partition, at.offset) for name, at in restore.positions.items()]
        )
        # librdkafka remembers a pause of a partition that was given up meanwhile.
        self._consumer.resume(self._all_inputs([partition]))
        starts = ", ".join(f"{name} at {at.offset} of {restore.ends[name]}" for name, at in restore.positions.items())
        _log.info("partition %d begins: %s", partition, starts)
        return restore.assignment()

    def _consume(self, max_records: int, max_bytes: int, wait: float) -> list[Message]:
        # consume(n, t) waits the whole of t unless n arrive: wait for one, then take what is there.
        messages: list[Message] = self._consumer.consume(1, wait)
        if not messages:
            self._check_outage()
            return messages
        self._down_since = None
        left = max_bytes - _size(messages[0])
        while left > 0 and len(messages) < max_records:
            asked = min(max_records - len(messages), max(1, int(left / self._average_bytes)), 10_000)
            more = self._consumer.consume(asked, 0)
            if not more:
                break
            size = sum(map(_size, more))
            self._average_bytes += 0.2 * (size / len(more) - self._average_bytes)
            left -= size
            messages += more
        return messages

    def _batch(self, messages: Sequence[Message]) -> Batch:
        records: list[Record] = []
        moved: dict[TopicPartition, int] = {}
        for message in messages:
            error = message.error()
            if error is None:
                record = record_of(message, self._short[message.topic()])
                records.append(record)
                moved[TopicPartition(record.topic, record.partition)] = record.offset + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                moved[TopicPartition(self._short[message.topic()], message.partition())] = message.offset()
            elif not self._is_old(message, error):
                self._refuse(error)
        self._positions.update(moved)
        return Batch(self._epoch, records, moved, self._broadcast.poll())

    def _is_old(self, message: Message, error: KafkaError) -> bool:
        """A fetch that an earlier assignment asked for, and that came too late for a log trimmed since: librdkafka tells of it after the
        next assignment too. The present one reads from its position on."""
        where = TopicPartition(self._short.get(message.topic(), ""), message.partition())
        at = self._positions.get(where)
        return error.code() == KafkaError._AUTO_OFFSET_RESET and (at is None or message.offset() < at)

    def _refuse(self, error: KafkaError) -> None:
        """What passes by itself is noted; the rest ends the session."""
        code = error.code()
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopologyError(f"a topic of crawl {self._clients.names.crawl!r} is missing: {error.str()}")
        if code == KafkaError._AUTO_OFFSET_RESET:
            raise TransportError(f"the log does not reach back to the group's position any more: {error.str()}")
        if code in FINAL and not _is_fatal(error):
            # What is fatal to the consumer alone is answered by another one.
            raise TransportError(f"the broker refused: {error.str()}", remedy="give this user the rights of a worker")
        _log.warning("the consumer reports: %s", error.str())

    def _check_outage(self) -> None:
        """A cluster that is gone for longer than the configuration allows ends the process."""
        now = time.monotonic()
        if self._down_since is None:
            self._down_since = now
        elif now - self._down_since > self._clients.kafka.give_up_after_s:
            try:
                self._reader.list_topics(timeout=5)
            except ck.KafkaException as error:
                raise BrokerUnreachable(
                    f"no Kafka broker answered at {self._clients.kafka.bootstrap} for "
                    f"{self._clients.kafka.give_up_after_s:g} s"
                ) from error
            self._down_since = now

    def _all_inputs(self, partitions: Any) -> list[ck.TopicPartition]:
        return [ck.TopicPartition(topic, one) for one in partitions for topic in self._inputs.values()]

    def _kafka_partitions(self, partitions: Sequence[TopicPartition]) -> list[ck.TopicPartition]:
        return [ck.TopicPartition(self._inputs[one.topic], one.partition) for one in partitions]


def leave(consumer: Consumer) -> None:
    """Close a member's consumer. When the group changes at that moment, librdkafka may wait in there for an answer of its own that
    never comes (confluentinc/librdkafka issue 4884): it is left behind then."""
    closing = AbandonableCall()
    try:
        closing.call(consumer.close, after(CLOSING_S))
    except TimeoutError:
        _log.warning("a consumer did not close within %g s and is left behind", CLOSING_S)
    else:
        closing.close()


def _is_fatal(error: KafkaError) -> bool:
    return error.code() == KafkaError._FATAL or bool(error.fatal())


def _position_after(message: Message) -> int | None:
    """Where a message leads to; None: nowhere."""
    error = message.error()
    if error is None:
        return int(message.offset()) + 1
    return int(message.offset()) if error.code() == KafkaError._PARTITION_EOF else None


def _size(message: Message) -> int:
    return len(message)
