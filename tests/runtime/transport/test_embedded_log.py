"""The embedded log: chunks, the tail in memory, trimming, waking."""

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gregor.errors import CorruptState, TopologyError
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.layout import (
    CHUNK_BYTES,
    chunk_key,
    ends_key,
    last_offset,
    pack_chunks,
    pack_position,
    position_key,
    unpack_chunk,
    unpack_ends_key,
    unpack_position,
    unpack_position_key,
)
from gregor.runtime.transport.embedded.log import Chunk, Tail, cut
from gregor.runtime.transport.port import (
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
from tests.runtime.transport.embedded_folder import SETTINGS, opened
from tests.runtime.transport.member import EXTRACTOR, FETCHER, STAGES, VIEWS

AT = TopicPartition("pages", 1)
ARCHIVER = replace(EXTRACTOR, name="archiver", outputs=())
OUTPUTS = st.builds(
    Output,
    topic=st.sampled_from(["pages", "discovered"]),
    partition=st.integers(0, 1),
    key=st.binary(max_size=20),
    value=st.binary(max_size=200) | st.integers(0, 2 * CHUNK_BYTES).map(bytes),
    header=st.none() | st.binary(max_size=20),
)


@given(st.lists(OUTPUTS, min_size=1), st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_chunks_come_back_as_they_were_packed(outputs: list[Output], first: int, time_ms: int) -> None:
    records: list[Record] = []
    for count, size, data in pack_chunks(outputs, time_ms):
        mine = unpack_chunk(AT, first + len(records) + count - 1, data)
        assert len(mine) == count
        assert size == sum(len(r.key or b"") + len(r.value or b"") + len(r.header or b"") for r in mine)
        records += mine
    assert [(r.key, r.value, r.header) for r in records] == [(o.key, o.value, o.header) for o in outputs]
    assert {r.time_ms for r in records} == {time_ms}
    assert [r.offset for r in records] == list(range(first, first + len(outputs)))


@given(OUTPUTS, st.data())
def test_a_chunk_of_another_length_is_corrupt(output: Output, data: st.DataObject) -> None:
    ((_, _, packed),) = pack_chunks([output], 0)
    cut_at = data.draw(st.integers(0, len(packed) - 1))
    for broken in (packed[:cut_at], packed + b"x"):
        with pytest.raises(CorruptState):
            unpack_chunk(AT, 100, broken)


@given(st.integers(0, 65535), st.integers(0, 1 << 60), st.integers(0, 1 << 60))
def test_keys_sort_as_their_offsets(partition: int, one: int, other: int) -> None:
    at = TopicPartition("frontier-changelog", partition)
    assert (chunk_key(at, one) < chunk_key(at, other)) == (one < other)
    assert last_offset(chunk_key(at, one)) == one
    assert unpack_ends_key(ends_key(at)) == at
    assert unpack_position_key(position_key("fetcher", at)) == ("fetcher", at)


@given(st.integers(0, 1 << 60), st.text())
def test_positions_come_back(offset: int, metadata: str) -> None:
    assert unpack_position(pack_position(Position(offset, metadata))) == Position(offset, metadata)


@given(st.lists(OUTPUTS))
def test_cutting_keeps_every_output_in_its_place(outputs: list[Output]) -> None:
    chunks = [chunk for chunk, _ in cut(outputs, 0)]
    for at in {chunk.at for chunk in chunks}:
        mine = [record for chunk in chunks if chunk.at == at for record in chunk.records]
        wanted = [o for o in outputs if (o.topic, o.partition) == at]
        assert [(r.key, r.value, r.header) for r in mine] == [(o.key, o.value, o.header) for o in wanted]
        for chunk in chunks:
            assert chunk.bytes < CHUNK_BYTES + max(len(o.key + o.value + (o.header or b"")) for o in outputs)


def test_the_tail_forgets_the_oldest_beyond_its_limit() -> None:
    tail = Tail(10_000)
    for start in range(0, 100, 10):
        chunk = Chunk(AT, [Output("pages", 1, b"", bytes(30))] * 10, 300, 0)
        chunk.place(start)
        tail.add(chunk)
        assert tail.bytes <= 10_000
    assert tail.find(AT, 90) is not None
    assert tail.find(AT, 60) is None


def pages(transport: EmbeddedTransport, start: int, count: int) -> None:
    transport.append([Output("pages", 0, b"k", b"%d" % n) for n in range(start, start + count)])


def commit(session: Session, offset: int, topic: str = "pages") -> None:
    event = session.poll(1, 1, 0.0)
    while not isinstance(event, Batch):
        event = session.poll(1, 1, 0.0)
    positions = {TopicPartition(topic, p): Position(offset if p == 0 else 0) for p in range(SETTINGS.partitions)}
    session.commit(Commit(epoch=event.epoch, positions=positions, mark=CheckpointInfo(now_ms=0)))


def test_a_reader_behind_the_tail_reads_from_the_database(tmp_path: Path) -> None:
    with opened(tmp_path, replace(SETTINGS, tail_bytes=1)) as transport:
        for start in range(0, 3000, 100):
            pages(transport, start, 100)
        session = transport.open(EXTRACTOR)
        session.poll(1, 1, 0.0)
        event = session.poll(5000, 1 << 30, 0.0)
        assert isinstance(event, Batch)
        assert [record.value for record in event.records] == [b"%d" % n for n in range(3000)]


def test_passed_records_are_trimmed_behind_the_slowest_reader(tmp_path: Path) -> None:
    stages = (EXTRACTOR, ARCHIVER)
    with opened(tmp_path, replace(SETTINGS, trim_records=100), stages) as transport:
        pages(transport, 0, 500)
        extractor, archiver = transport.open(EXTRACTOR), transport.open(ARCHIVER)
        commit(extractor, 400)
        assert transport.ends("pages")[0] == (0, 500), "the archiver has passed nothing"
        commit(archiver, 50)
        assert transport.ends("pages")[0] == (0, 500), "not worth a deletion"
        commit(archiver, 250)
        assert transport.ends("pages")[0] == (250, 500)
        assert [r.value for r in transport.read("pages", 0, 0)] == [b"%d" % n for n in range(250, 500)]
        commit(archiver, 500)
        assert transport.ends("pages")[0] == (400, 500)
    with opened(tmp_path, SETTINGS, stages) as transport:
        assert transport.ends("pages")[0] == (400, 500)
        assert [r.value for r in transport.read("pages", 0, 0)] == [b"%d" % n for n in range(400, 500)]
        session = transport.open(EXTRACTOR)
        session.poll(1, 1, 0.0)
        event = session.poll(1, 1, 0.0)
        assert isinstance(event, Batch)
        assert [record.value for record in event.records] == [b"400"]


def test_few_passed_records_are_trimmed_after_a_while(tmp_path: Path) -> None:
    now = 0.0
    with opened(tmp_path, SETTINGS, clock=lambda: now) as transport:
        pages(transport, 0, 10)
        session = transport.open(EXTRACTOR)
        commit(session, 3)
        assert transport.ends("pages")[0] == (0, 10)
        now += SETTINGS.trim_seconds
        commit(session, 4)
        assert transport.ends("pages")[0] == (4, 10)


def test_a_reader_that_once_committed_holds_its_records_when_it_does_not_run(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trim_records=1)
    with opened(tmp_path, settings, (EXTRACTOR, ARCHIVER)) as transport:
        pages(transport, 0, 10)
        commit(transport.open(ARCHIVER), 2)
    with opened(tmp_path, settings, (EXTRACTOR,)) as transport:
        commit(transport.open(EXTRACTOR), 9)
        assert transport.ends("pages")[0] == (2, 10)


def test_topics_to_keep_and_topics_that_last_are_not_trimmed(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trim_records=1, keep=frozenset({"pages"}))
    with opened(tmp_path, settings) as transport:
        pages(transport, 0, 10)
        transport.append([Output("verdicts", 0, b"", b"")] * 10)
        transport.append([Output("schedule", 0, b"", b"")] * 10)
        commit(transport.open(EXTRACTOR), 10)
        commit(transport.open(VIEWS), 10, "verdicts")
        commit(transport.open(FETCHER), 10, "schedule")
        assert transport.ends("pages")[0] == transport.ends("verdicts")[0] == (0, 10)
        assert transport.ends("schedule")[0] == (10, 10)


def test_offsets_go_on_after_everything_was_trimmed(tmp_path: Path) -> None:
    settings = replace(SETTINGS, trim_records=1)
    with opened(tmp_path, settings) as transport:
        pages(transport, 0, 10)
        commit(transport.open(EXTRACTOR), 10)
    with opened(tmp_path, settings) as transport:
        pages(transport, 10, 1)
        assert [(r.offset, r.value) for r in transport.read("pages", 0, 0)] == [(10, b"10")]


def test_a_waiting_poll_is_woken_by_what_another_session_commits(tmp_path: Path) -> None:
    with opened(tmp_path) as transport:
        reader, writer = transport.open(VIEWS), transport.open(EXTRACTOR)
        reader.poll(1, 1, 0.0)
        writer.poll(1, 1, 0.0)
        event = writer.poll(1, 1, 0.0)
        got: list[Batch] = []

        def wait() -> None:
            # Far longer than the guard of the test run: only being woken ends it.
            event = reader.poll(10, 1 << 20, 3600.0)
            assert isinstance(event, Batch)
            got.append(event)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        positions = {TopicPartition("pages", p): Position(0) for p in range(SETTINGS.partitions)}
        outputs = [Output("verdicts", 0, b"", b"wake")]
        writer.commit(Commit(epoch=event.epoch, outputs=outputs, positions=positions, mark=CheckpointInfo(now_ms=5)))
        thread.join()
        assert [(r.value, r.time_ms) for r in got[0].records] == [(b"wake", 5)]


def test_a_waiting_poll_is_woken_by_a_change_of_its_group(tmp_path: Path) -> None:
    with opened(tmp_path) as transport:
        first, second = transport.open(VIEWS), transport.open(VIEWS)
        first.poll(1, 1, 0.0)
        events: list[object] = []
        thread = threading.Thread(target=lambda: events.append(first.poll(1, 1, 3600.0)), daemon=True)
        thread.start()
        second.poll(1, 1, 0.0)
        thread.join()
        assert type(events[0]).__name__ == "Revoked"


def test_appends_to_what_does_not_exist_write_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as transport:
        good = Output("pages", 0, b"", b"")
        with pytest.raises(InvalidCommit):
            transport.append([good, Output("pages", SETTINGS.partitions, b"", b"")])
        with pytest.raises(TopologyError):
            transport.append([good, Output("pagers", 0, b"", b"")])
        assert transport.ends("pages")[0] == (0, 0)


def test_a_stage_that_was_not_announced_cannot_be_opened(tmp_path: Path) -> None:
    with opened(tmp_path, stages=STAGES) as transport, pytest.raises(ValueError, match="not among those"):
        transport.open(ARCHIVER)
