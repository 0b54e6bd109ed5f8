"""Sessions of the embedded transport: what is only theirs, beyond the contract."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from rocksdict import WriteBatch

from gregor.errors import Aborted, Fenced, TransportError, UnknownOutcome
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    CheckpointInfo,
    Commit,
    InvalidCommit,
    Output,
    Position,
    Record,
    Session,
    TopicPartition,
)
from schemas.codec import LARGEST_RECORD
from tests.runtime.transport.embedded_folder import SETTINGS, SMALL, opened
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.member import EXTRACTOR, STAGES, VIEWS, Member, settle

ARCHIVER = replace(EXTRACTOR, name="archiver", outputs=())


@pytest.fixture
def harness(tmp_path: Path) -> EmbeddedHarness:
    return EmbeddedHarness(tmp_path)


def test_who_was_expelled_is_fenced_and_who_is_only_out_of_date_is_aborted(harness: EmbeddedHarness) -> None:
    first, second = Member(harness, EXTRACTOR), Member(harness, EXTRACTOR)
    settle(first, second)
    harness.now += harness.session_timeout + 1
    second.step()
    with pytest.raises(Fenced):
        first.commit()
    first.step()
    with pytest.raises(Aborted):
        second.commit()


def test_the_only_member_may_be_silent_for_ever(harness: EmbeddedHarness) -> None:
    member = Member(harness, EXTRACTOR)
    settle(member)
    harness.now += 100 * harness.session_timeout
    member.commit([Output("items", 0, b"", b"late")])
    assert isinstance(member.step(), Batch)


def test_a_place_that_was_kept_is_given_away_after_the_time_out(harness: EmbeddedHarness) -> None:
    first, second = Member(harness, EXTRACTOR), Member(harness, EXTRACTOR)
    settle(first, second)
    first.session.close(drain=False)
    assert isinstance(second.step(), Batch)
    assert len(second.owned) == harness.partitions // 2
    harness.now += harness.session_timeout + 1
    settle(second)
    assert len(second.owned) == harness.partitions


def test_a_closed_session_and_a_closed_transport_refuse(harness: EmbeddedHarness) -> None:
    first, second = Member(harness, EXTRACTOR), Member(harness, VIEWS)
    settle(first)
    settle(second)
    first.session.close()
    with pytest.raises(TransportError):
        first.step()
    with pytest.raises(TransportError):
        first.commit()
    harness.close()
    with pytest.raises(TransportError):
        second.step()
    with pytest.raises(TransportError):
        harness.transport.append([])


def test_a_database_that_keeps_refusing_ends_the_transport(harness: EmbeddedHarness) -> None:
    member = Member(harness, EXTRACTOR)
    for _ in range(2):
        settle(member)
        harness.lose_answer(member.session, happened=False)
        with pytest.raises(UnknownOutcome):
            member.commit()
        member.step()
    settle(member)
    harness.lose_answer(member.session, happened=False)
    with pytest.raises(TransportError) as caught:
        member.commit()
    assert not isinstance(caught.value, UnknownOutcome)
    harness.close()


def test_a_record_that_no_broker_would_take_is_refused(harness: EmbeddedHarness) -> None:
    harness.transport.append([Output("pages", 0, b"", bytes(LARGEST_RECORD))])
    with pytest.raises(InvalidCommit):
        harness.transport.append([Output("pages", 0, b"k", bytes(LARGEST_RECORD))])


def test_a_group_that_comes_late_begins_with_the_first_record_that_is_left(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trim_records=1)
    with opened(tmp_path, settings, (EXTRACTOR,)) as transport:
        transport.append([Output("pages", 0, b"", b"%d" % n) for n in range(10)])
        commit_pages(transport.open(EXTRACTOR), 6)
        assert transport.ends("pages")[0] == (6, 10)
    with opened(tmp_path, settings, (EXTRACTOR, ARCHIVER)) as transport:
        session = transport.open(ARCHIVER)
        event = session.poll(100, 1 << 20, 0.0)
        assert isinstance(event, Assigned)
        assert event.partitions[0].positions["pages"].offset == 6
        batch = session.poll(100, 1 << 20, 0.0)
        assert isinstance(batch, Batch)
        assert [record.value for record in batch.records] == [b"6", b"7", b"8", b"9"]


class WatchedStore(Store):
    """Lets somebody look after a batch was written and before anybody was told."""

    look: Callable[[], None] | None = None

    def write(self, batch: WriteBatch, sync: bool = False) -> None:
        super().write(batch, sync)
        if self.look is not None:
            self.look()


def test_what_is_being_committed_is_not_readable_yet(tmp_path: Path) -> None:
    stores: list[WatchedStore] = []

    def make_store(path: Path, families: Sequence[str], memory: SharedMemory) -> WatchedStore:
        stores.append(WatchedStore(path, families, memory))
        return stores[0]

    transport = EmbeddedTransport.at(
        tmp_path, replace(SETTINGS, tail_bytes=1), SharedMemory(SMALL), STAGES, make_store=make_store
    )
    reader = transport.open(VIEWS)
    reader.poll(1, 1, 0.0)
    transport.append([Output("verdicts", 0, b"", b"before")])
    polled: list[Record] = []
    read: list[Record] = []

    def look() -> None:
        batch = reader.poll(100, 1 << 20, 0.0)
        assert isinstance(batch, Batch)
        polled.extend(batch.records)
        read.extend(transport.read("verdicts", 0, 0))

    stores[0].look = look
    transport.append([Output("verdicts", 0, b"", b"after")])
    stores[0].look = None
    assert [record.value for record in polled] == [record.value for record in read] == [b"before"]
    batch = reader.poll(100, 1 << 20, 0.0)
    assert isinstance(batch, Batch)
    assert [record.value for record in batch.records] == [b"after"]
    transport.close()


def test_two_readers_of_one_chunk_in_memory_read_the_same(tmp_path: Path) -> None:
    with opened(tmp_path, stages=(EXTRACTOR, ARCHIVER)) as transport:
        sessions = [transport.open(EXTRACTOR), transport.open(ARCHIVER)]
        for session in sessions:
            session.poll(1, 1, 0.0)
        transport.append([Output("pages", 0, b"k", b"%d" % n, b"h") for n in range(100)])
        batches = [session.poll(1000, 1 << 20, 0.0) for session in sessions]
        stored = list(transport.read("pages", 0, 0))
        for batch in batches:
            assert isinstance(batch, Batch)
            assert list(batch.records) == stored


def commit_pages(session: Session, offset: int) -> None:
    event = session.poll(1, 1, 0.0)
    while not isinstance(event, Batch):
        event = session.poll(1, 1, 0.0)
    positions = {TopicPartition("pages", p): Position(0) for p in range(SETTINGS.partitions)}
    positions[TopicPartition("pages", 0)] = Position(offset)
    session.commit(Commit(epoch=event.epoch, positions=positions, mark=CheckpointInfo(now_ms=0)))
