"""The Kafka transport keeps the contract, on a real broker."""

import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.errors import ForeignState, TransportError
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.packed import Mutation, pack_delta
from gregor.runtime.transport.kafka.broadcast import Broadcast
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.reading import read_range
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Assigned, InvalidCommit, Output, Revoked, Session, StageSpec, TopicPartition
from infra.kafka.cluster import KafkaCluster
from schemas.codec import LARGEST_RECORD
from schemas.topics import TOPICS
from tests.runtime.transport.contract import TransportContract
from tests.runtime.transport.embedded_folder import SMALL
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import EXTRACTOR, FAMILIES, FRONTIER, Member, fill, settle, until, values
from tests.runtime.transport.remote import RemoteSession


class ForgetfulProducer:
    """A producer whose next commit is answered by nobody; everything else is the real one's."""

    def __init__(self, producer: Any, happened: bool) -> None:
        self._producer = producer
        self._happened = happened

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def commit_transaction(self, timeout: float) -> None:
        if self._happened:
            self._producer.commit_transaction(timeout)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the answer was lost"))


class KafkaHarness(Harness):
    """Members are sessions of this process, or of processes of their own where they are to be stopped or killed."""

    def __init__(self, folder: Path, kafka: KafkaCluster) -> None:
        self._folder = folder
        self._names = Names(f"contract-{secrets.token_hex(4)}")
        self._kafka = KafkaSection(bootstrap=kafka.bootstrap, session_timeout_s=6.0, transaction_timeout_s=10.0)
        self._memory = SharedMemory(SMALL)
        self._sessions: dict[Session, tuple[StageSpec, int]] = {}
        self._make_topics()
        self._transport = self._start(0)

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def names(self) -> Names:
        return self._names

    @property
    def settings(self) -> KafkaSection:
        return self._kafka

    @property
    def transport(self) -> KafkaTransport:
        return self._transport

    def open(self, stage: StageSpec, *, stoppable: bool = False) -> Session:
        taken = {slot for one, slot in self._sessions.values() if one.name == stage.name}
        slot = next(number for number in range(100) if number not in taken)
        return self._open(stage, slot, stoppable)

    def reopen(self, session: Session) -> Session:
        stage, slot = self._sessions.pop(session)
        session.close(drain=False)
        return self._open(stage, slot, isinstance(session, RemoteSession))

    def restart(self) -> None:
        self._end_all()
        self._transport = self._start(0)

    def kill(self, session: Session) -> None:
        assert isinstance(session, RemoteSession)
        session.kill()

    def freeze(self, session: Session) -> None:
        assert isinstance(session, RemoteSession)
        session.signal(signal.SIGSTOP)

    def thaw(self, session: Session) -> None:
        assert isinstance(session, RemoteSession)
        session.signal(signal.SIGCONT)

    def lose_answer(self, session: Session, *, happened: bool) -> None:
        assert isinstance(session, KafkaSession)
        checkpointer = session._checkpointer
        checkpointer._producer = ForgetfulProducer(checkpointer._producer, happened)

    def tick(self) -> None:
        """A broker has a clock of its own."""

    def close(self) -> None:
        self._end_all()

    def _end_all(self) -> None:
        for session in self._sessions:
            if isinstance(session, RemoteSession):
                session.kill()
            elif isinstance(session, KafkaSession) and not session.closed:
                session.close(drain=False)
        self._sessions.clear()

    def _open(self, stage: StageSpec, slot: int, stoppable: bool) -> Session:
        session: Session = self._remote(stage, slot) if stoppable else self._start(slot).open(stage)
        self._sessions[session] = stage, slot
        return session

    def _remote(self, stage: StageSpec, slot: int) -> RemoteSession:
        return RemoteSession(stage, self._names, self._kafka, self._folder / str(slot))

    def _start(self, slot: int) -> KafkaTransport:
        return KafkaTransport(self._names, self._kafka, self._folder / str(slot), self._memory)

    def _make_topics(self) -> None:
        topics = [
            NewTopic(
                self._names.topic(topic.name),
                topic.partition_count(self.partitions),
                1,
                config={"cleanup.policy": topic.cleanup, "max.message.bytes": str(topic.max_message_bytes)},
            )
            for topic in TOPICS
        ]
        admin = Clients(self._names, self._kafka).admin()
        for made in admin.create_topics(topics).values():
            made.result()


class TestKafka(TransportContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, kafka: KafkaCluster) -> Iterator[Harness]:
        harness = KafkaHarness(tmp_path, kafka)
        yield harness
        harness.close()


def test_a_read_goes_on_where_the_log_begins_when_it_is_trimmed_meanwhile(tmp_path: Path, kafka: KafkaCluster) -> None:
    """An owner truncates its changelog while somebody looks for the last checkpoint."""
    harness = KafkaHarness(tmp_path, kafka)
    try:
        transport = harness.transport
        fill(transport, ("verdicts",), 1, range(20))
        while (end := transport.ends("verdicts")[0][1]) < 20:
            # Committed, and visible when the broker has marked it so.
            continue
        transport.trim({TopicPartition("verdicts", 0): 12})
        clients, place = transport._clients, TopicPartition("verdicts", 0)
        reader = clients.reader()
        try:
            records = list(read_range(clients, reader, place, 3, end, transport.ends))
            # Somebody looked before, and went away before he was told that this is gone: the next one who looks is told so.
            reader.assign([ck.TopicPartition(clients.names.topic("verdicts"), 0, 3)])
            time.sleep(1)
            later = list(read_range(clients, reader, place, 14, end, transport.ends))
        finally:
            reader.close()
        assert [record.value for record in records] == [b"0-%d" % number for number in range(12, 20)]
        assert [record.value for record in later] == [b"0-%d" % number for number in range(14, 20)]
    finally:
        harness.close()


def sequences(transport: KafkaTransport, expected: Mapping[int, int]) -> dict[int, int]:
    """Those of the last checkpoints, once the expected ones are there: what is committed is visible when the broker has marked it."""
    while True:
        last = {partition: transport.last_checkpoint("frontier", partition) for partition in range(4)}
        found = {partition: one.sequence for partition, one in last.items() if one is not None}
        if all(found.get(partition, 0) >= number for partition, number in expected.items()):
            return found


def test_a_commit_leaves_the_changelog_of_a_partition_alone_of_which_nothing_changed(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    """Its last checkpoint still says how it stands, also to who restores it; every partition more costs the broker."""
    harness = KafkaHarness(tmp_path, kafka)
    try:
        transport = harness.transport
        member = Member(harness, FRONTIER)
        settle(member)
        member.commit()
        assert sequences(transport, {0: 1, 1: 1, 2: 1, 3: 1}) == {0: 1, 1: 1, 2: 1, 3: 1}
        for number in range(3):
            change = pack_delta([(FAMILIES.index("seen"), b"key", b"%d" % number)])
            member.commit(mutations={1: [Mutation(b"server", change)]})
            assert sequences(transport, {1: number + 2}) == {0: 1, 1: number + 2, 2: 1, 3: 1}
        member.commit(counters={2: {"admitted": 5}})
        assert sequences(transport, {2: 2}) == {0: 1, 1: 4, 2: 2, 3: 1}
        harness.restart()
        again = Member(harness, FRONTIER)
        settle(again)
        assert {partition: one.sequence for partition, one in again.owned.items()} == {0: 1, 1: 4, 2: 2, 3: 1}
    finally:
        harness.close()


def forget(harness: KafkaHarness, stage: StageSpec, kept: Mapping[TopicPartition, int]) -> None:
    """What a broker does with the positions of a group that is away for long, all but those that are kept."""
    names, admin = harness.names, Clients(harness.names, harness.settings).admin()
    group = names.group(stage.name)
    give_up = time.monotonic() + harness.patience
    while True:
        try:
            admin.delete_consumer_groups([group])[group].result(10)
            break
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                break
            # Until the session time-out its last member counts as one that will be back in a moment.
            assert time.monotonic() < give_up
            time.sleep(0.2)
    if kept:
        places = [ck.TopicPartition(names.topic(at.topic), at.partition, offset) for at, offset in kept.items()]
        admin.alter_consumer_group_offsets([ck.ConsumerGroupTopicPartitions(group, places)])[group].result(10)


@pytest.mark.parametrize("forgotten", [("fetched",), ("discovered", "fetched")], ids=["one input", "both inputs"])
def test_positions_that_the_broker_has_forgotten_are_those_of_the_last_checkpoint(
    tmp_path: Path, kafka: KafkaCluster, forgotten: tuple[str, ...]
) -> None:
    """The second input is not subscribed to, so that a broker forgets it under a frontier that runs, when no page comes for a week."""
    harness = KafkaHarness(tmp_path, kafka)
    try:
        fill(harness.transport, FRONTIER.inputs, harness.partitions, range(3))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == 6 * harness.partitions, [member])
        member.commit()
        committed = {at: one.offset for at, one in member.committed.items()}
        harness.restart()
        forget(harness, FRONTIER, {at: offset for at, offset in committed.items() if at.topic not in forgotten})
        again = Member(harness, FRONTIER)
        settle(again)
        assert {at: one.offset for at, one in again.committed.items()} == committed
    finally:
        harness.close()


def test_a_stage_without_a_changelog_does_not_begin_anew_when_the_broker_has_forgotten_its_positions(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    harness = KafkaHarness(tmp_path, kafka)
    try:
        fill(harness.transport, ("pages",), harness.partitions, range(3))
        member = Member(harness, EXTRACTOR)
        until(lambda: len(member.gathered) == 3 * harness.partitions, [member])
        harness.restart()
        member = Member(harness, EXTRACTOR)
        until(lambda: len(member.gathered) == 3 * harness.partitions, [member])
        member.commit()
        harness.restart()
        forget(harness, EXTRACTOR, {})
        with pytest.raises(TransportError, match=r"found none: .*offsets\.retention\.minutes; .*--to-latest"):
            Member(harness, EXTRACTOR)
        forget(harness, EXTRACTOR, {TopicPartition("pages", 0): 2})
        again = Member(harness, EXTRACTOR)
        until(lambda: len(again.gathered) == 1 + 3 * (harness.partitions - 1), [again])
    finally:
        harness.close()


def test_a_position_that_is_not_that_of_the_last_checkpoint_is_refused(tmp_path: Path, kafka: KafkaCluster) -> None:
    harness = KafkaHarness(tmp_path, kafka)
    try:
        fill(harness.transport, FRONTIER.inputs, harness.partitions, range(3))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == 6 * harness.partitions, [member])
        member.commit()
        harness.restart()
        forget(harness, FRONTIER, {TopicPartition("discovered", 2): 1})
        with pytest.raises(ForeignState, match="partition 2: expected the changelog's last checkpoint to stand at"):
            settle(Member(harness, FRONTIER))
    finally:
        harness.close()


def test_a_member_whose_consumer_is_fenced_goes_on_with_another(tmp_path: Path, kafka: KafkaCluster) -> None:
    harness = KafkaHarness(tmp_path, kafka)
    session = harness.open(EXTRACTOR)

    def until_event(kind: type[Assigned] | type[Revoked], copy: ck.Consumer | None = None) -> Any:
        give_up = time.monotonic() + harness.patience
        while time.monotonic() < give_up:
            if copy is not None:
                copy.poll(0)
            if isinstance(event := session.poll(10, 1000, 0.05), kind) and getattr(event, "lost", True):
                return event
        raise AssertionError(f"waited in vain for {kind}")

    try:
        held = until_event(Assigned).partitions.keys()
        # Somebody with a copy of its folder.
        copy = harness.transport._clients.group_consumer(EXTRACTOR.name, session.member, lambda error: None)
        copy.subscribe([harness.names.topic(EXTRACTOR.inputs[0])])
        assert until_event(Revoked, copy).partitions >= held
        copy.close()
        assert until_event(Assigned).partitions
    finally:
        harness.close()


def test_a_member_that_ends_while_it_is_being_assigned_does_end(tmp_path: Path, kafka: KafkaCluster) -> None:
    harness = KafkaHarness(tmp_path, kafka)
    try:
        for _ in range(6):
            session = harness.open(EXTRACTOR)
            # It has joined by then, and does not hear what it got.
            time.sleep(1)
            closing = threading.Thread(target=session.close, daemon=True)
            closing.start()
            closing.join(harness.patience)
            assert not closing.is_alive()
    finally:
        harness.close()


def test_a_change_of_the_state_that_no_record_holds_is_refused_with_its_size(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    """A broker would refuse it every time, and the stage would restore, decide and commit the same for ever."""
    harness = KafkaHarness(tmp_path, kafka)
    try:
        member = Member(harness, FRONTIER)
        settle(member)
        large = pack_delta([(FAMILIES.index("seen"), b"key", bytes(LARGEST_RECORD))])
        with pytest.raises(InvalidCommit, match=rf"{len(large)} bytes for b'server' in the changelog of partition 1"):
            member.commit([Output("verdicts", 0, b"k", b"v")], {1: [Mutation(b"server", large)]})
        member.commit(mutations={1: [Mutation(b"server", pack_delta([(FAMILIES.index("seen"), b"key", b"small")]))]})
        assert sequences(harness.transport, {1: 1})[1] == 1
        assert values(harness.transport, "verdicts") == Counter()
    finally:
        harness.close()


def test_broadcast_inputs_that_no_broker_gives_are_waited_for_from_poll_to_poll_and_not_for_ever() -> None:
    nobody = KafkaSection(bootstrap="127.0.0.1:9", give_up_after_s=0.3, transaction_timeout_s=1.0)
    broadcast = Broadcast(Clients(Names("nobody"), nobody), ("control",))
    assert broadcast.poll(0.1) == [], "whoever is asked to stop meanwhile hears of it"
    assert broadcast.unread
    with pytest.raises(TransportError, match=r"nobody\.control cannot be read: no broker gave its records for 1 s"):
        list(iter(lambda: broadcast.poll(0.1), None))
    broadcast.close()


class SlowTransport(KafkaTransport):
    """Whose first transaction lasts longer than the broker allows."""

    transactions = 0

    def _produce(self, producer: Any, outputs: Sequence[Output]) -> None:
        super()._produce(producer, outputs)
        producer.flush()
        self.transactions += 1
        if self.transactions == 1:
            time.sleep(4)


def test_what_the_broker_aborted_because_it_took_too_long_is_written_again_and_once(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    harness = KafkaHarness(tmp_path, kafka)
    settings = KafkaSection(bootstrap=kafka.bootstrap, transaction_timeout_s=1.0)
    transport = SlowTransport(harness.names, settings, tmp_path / "slow", SharedMemory(SMALL))
    transport.append([Output("discovered", 0, b"k", b"%d" % number) for number in range(3)])
    assert transport.transactions == 2
    assert [record.value for record in transport.read("discovered", 0, 0)] == [b"0", b"1", b"2"]
    transport.close()
    harness.close()


@pytest.mark.parametrize("stage", [EXTRACTOR, FRONTIER], ids=lambda stage: stage.name)
def test_the_folder_of_a_member_is_that_of_one_crawl(tmp_path: Path, kafka: KafkaCluster, stage: StageSpec) -> None:
    harness, other = KafkaHarness(tmp_path, kafka), KafkaHarness(tmp_path, kafka)
    harness.reopen(harness.open(stage)).close()
    with pytest.raises(ForeignState, match=f"expected .*crawl {other.names.crawl!r}.*found .*{harness.names.crawl!r}"):
        other.open(stage)
    harness.open(stage).close()
