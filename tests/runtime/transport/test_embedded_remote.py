"""Sessions that reach the embedded log through a socket keep the contract too; stages with a state stay beside the log."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.errors import Aborted, CommitFailed
from gregor.runtime.transport.embedded.remote.service import Service
from gregor.runtime.transport.embedded.remote.session import RemoteSession
from gregor.runtime.transport.embedded.remote.wire import (
    Answer,
    Frames,
    Gone,
    Records,
    SessionError,
    pack_commit,
    pack_event,
    unpack_commit,
    unpack_event,
)
from gregor.runtime.transport.port import (
    Batch,
    CheckpointInfo,
    Commit,
    Output,
    Position,
    Record,
    Revoked,
    Session,
    StageSpec,
    TopicPartition,
)
from tests.runtime.transport.contract import TransportContract
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import EXTRACTOR, STAGES, Member, until


class RemoteHarness(EmbeddedHarness):
    """Members of stages without a state speak through a socket to a thread beside the log."""

    def __init__(self, folder: Path, *, read_ahead: bool = False) -> None:
        self._read_ahead = read_ahead
        self.stopped: list[str] = []
        self.services: dict[Session, Service] = {}
        self._threads: list[threading.Thread] = []
        super().__init__(folder)

    def open(self, stage: StageSpec, *, stoppable: bool = False) -> Session:
        session = super().open(stage)
        return session if stage.state is not None else self._serve(session)

    def reopen(self, session: Session) -> Session:
        if isinstance(session, RemoteSession):
            session.close(drain=False)
            self._end(session)
            stage = next(stage for stage in STAGES if session.member.startswith(f"{stage.name}-"))
            return self.open(stage)
        return super().reopen(session)

    def _end(self, session: RemoteSession) -> None:
        """The process of the session is gone, and its service has noticed."""
        session.hang_up()
        self._threads[list(self.services).index(session)].join()

    def close(self) -> None:
        super().close()
        for session in self.services:
            assert isinstance(session, RemoteSession)
            session.hang_up()
        for thread in self._threads:
            thread.join()

    def _serve(self, session: Session) -> RemoteSession:
        ours, theirs = socket.socketpair()
        service = Service(session, ours)
        thread = threading.Thread(target=service.run, daemon=True)
        thread.start()
        remote = RemoteSession(
            theirs, session.member, lambda: self.stopped.append(session.member), read_ahead=self._read_ahead
        )
        self.services[remote] = service
        self._threads.append(thread)
        return remote


class TestRemote(TransportContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[Harness]:
        harness = RemoteHarness(tmp_path / "crawl")
        yield harness
        harness.close()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[RemoteHarness]:
    harness = RemoteHarness(tmp_path / "crawl", read_ahead=True)
    yield harness
    harness.close()


def test_a_stage_is_told_to_stop_and_its_last_commit_still_counts(harness: RemoteHarness) -> None:
    harness.transport.append([Output("pages", 0, b"", b"one")])
    member = Member(harness, EXTRACTOR)
    until(lambda: member.gathered, [member])
    harness.services[member.session].stop()
    until(lambda: harness.stopped, [member])
    member.commit([Output("items", 0, b"", b"made of one")])
    member.session.close()
    assert [record.value for record in harness.transport.read("items", 0, 0)] == [b"made of one"]
    assert harness.services[member.session].finished


def test_what_a_dead_stage_had_not_committed_comes_to_the_next_one(harness: RemoteHarness) -> None:
    harness.transport.append([Output("pages", 0, b"", b"one")])
    dead = Member(harness, EXTRACTOR)
    until(lambda: dead.gathered, [dead])
    assert isinstance(dead.session, RemoteSession)
    dead.session.hang_up()
    heir = Member(harness, EXTRACTOR)
    until(lambda: heir.gathered, [heir])
    assert [record.value for record in heir.gathered] == [b"one"]
    assert not harness.services[dead.session].finished


def test_what_was_read_ahead_of_a_change_of_the_group_is_not_committed_twice(harness: RemoteHarness) -> None:
    harness.transport.append([Output("pages", n % 4, b"", b"%d" % n) for n in range(400)])
    first = Member(harness, EXTRACTOR)
    until(lambda: first.gathered, [first])
    second = Member(harness, EXTRACTOR)

    def passed() -> list[bytes | None]:
        return [r.value for partition in range(4) for r in harness.transport.read("items", partition, 0)]

    def work(member: Member) -> None:
        if member.gathered:
            try:
                member.commit([Output("items", r.partition, b"", r.value or b"") for r in member.gathered])
            except CommitFailed:
                member.drop()

    until(lambda: len(passed()) >= 400, [first, second], work=work)
    assert sorted(passed(), key=lambda value: int(value or b"")) == [b"%d" % n for n in range(400)]
    assert first.owned.keys() | second.owned.keys() == {0, 1, 2, 3}


def test_a_stage_that_could_not_finish_says_why_and_is_not_taken_for_finished(harness: RemoteHarness) -> None:
    """A loop that fails closes its session without drain on the way out; what it says afterwards is heard."""
    member = Member(harness, EXTRACTOR)
    until(lambda: member.owned, [member])
    service = harness.services[member.session]
    assert isinstance(member.session, RemoteSession)
    member.session.close(drain=False)
    assert not service.finished
    member.session.fail("expected room, found none", "make some", 2)
    assert service.failure is not None
    assert (service.failure.message, service.failure.remedy, service.failure.exit_code) == (
        "expected room, found none",
        "make some",
        2,
    )


def test_what_is_told_only_once_outlives_a_refused_commit() -> None:
    """Between a batch and its commit the group changes, and the poll that reads ahead hears of it."""
    record = Record("pages", 0, 0, b"", b"one", None, 0)
    told = Record("control", 0, 0, b"seeds", b"{}", None, 0)
    for ahead in (Gone(2, [0], True), Records(1, [record], [("pages", 0, 2)], [told])):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            script = threading.Thread(target=_play, args=(Frames(ours), record, ahead))
            script.start()
            session = RemoteSession(theirs, "extractor-0", lambda: None, read_ahead=True)
            assert isinstance(session.poll(10, 10, 0.0), Batch)
            with pytest.raises(Aborted):
                session.commit(Commit(epoch=1, positions={}, mark=CheckpointInfo(now_ms=0)))
            event = session.poll(10, 10, 0.0)
            script.join()
        if isinstance(ahead, Gone):
            assert event == Revoked(2, frozenset({0}), True)
        else:
            assert event == Batch(1, [], {}, [told])


def _play(frames: Frames, record: Record, ahead: Answer) -> None:
    """The log's side: a batch, what is read ahead of the next one, and a refusal of the commit."""
    for answer in (Records(1, [record], [("pages", 0, 1)], []), ahead, SessionError("Aborted", "the group changed")):
        assert frames.question() is not None
        frames.send(answer)


def test_batches_and_commits_larger_than_any_buffer_pass_each_other(harness: RemoteHarness) -> None:
    large = bytes(4_000_000)
    harness.transport.append([Output("pages", 0, b"%d" % number, large) for number in range(6)])
    member = Member(harness, EXTRACTOR)
    committed = 0
    while committed < 6:
        member.step(max_bytes=1)
        if member.gathered:
            committed += len(member.gathered)
            member.commit([Output("items", 0, b"", large)] * 3)
    assert [record.key for record in harness.transport.read("pages", 0, 0)] == [b"%d" % number for number in range(6)]


WHERE = st.builds(TopicPartition, st.text(max_size=10), st.integers(0, 9))
RECORD = st.builds(
    Record,
    topic=st.text(max_size=10),
    partition=st.integers(0, 9),
    offset=st.integers(0, 2**50),
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=20),
    header=st.none() | st.binary(max_size=20),
    time_ms=st.integers(0, 2**45),
)
OUTPUT = st.builds(
    Output,
    topic=st.text(max_size=10),
    partition=st.integers(0, 9),
    key=st.binary(max_size=20),
    value=st.binary(max_size=20),
    header=st.none() | st.binary(max_size=20),
)


@given(
    st.builds(Batch, st.integers(0, 9), st.lists(RECORD), st.dictionaries(WHERE, st.integers(0, 99)), st.lists(RECORD))
)
def test_a_batch_arrives_as_it_was_sent(batch: Batch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Frames(ours).send(pack_event(batch))
        answer = Frames(theirs).answer()
    assert isinstance(answer, Records)
    assert unpack_event(answer) == batch


@given(st.lists(OUTPUT), st.dictionaries(WHERE, st.builds(Position, st.integers(0, 99), st.text(max_size=9))))
def test_a_commit_arrives_as_it_was_asked_for(outputs: list[Output], positions: dict[TopicPartition, Position]) -> None:
    commit = Commit(epoch=3, outputs=outputs, positions=positions, mark=CheckpointInfo(now_ms=7, config_version="v"))
    assert unpack_commit(pack_commit(commit)) == commit
