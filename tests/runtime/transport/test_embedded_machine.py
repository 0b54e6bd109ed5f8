"""Any sequence of appends, polls, commits, deaths and restarts leaves the embedded transport as a naive model says."""

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gregor.errors import Aborted, Fenced, UnknownOutcome
from gregor.runtime.state.packed import Mutation, pack_delta
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.session import EmbeddedSession
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    CheckpointInfo,
    Commit,
    Output,
    Position,
    Revoked,
    StageSpec,
    TopicPartition,
)
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.member import FETCHER, FRONTIER

STAGE = st.sampled_from([FRONTIER, FETCHER])
TOPICS = ("discovered", "fetched", "schedule", "verdicts")
PARTITIONS = 2


class SmallHarness(EmbeddedHarness):
    """Few partitions; next to nothing stays in memory and everything passed is trimmed at once."""

    partitions = PARTITIONS

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, tail_bytes=6000, trim_records=1)


class Reader:
    """What the model knows of one session."""

    def __init__(self, session: EmbeddedSession, stage: StageSpec) -> None:
        self.session = session
        self.stage = stage
        self.version = -1
        """Of the group, as last told by Assigned."""
        self.told = -1
        """Of the group, as last told at all: what Revoked leaves may be committed before Assigned adds to it."""
        self.epoch = 0
        self.owned: set[int] = set()
        self.cursors: dict[TopicPartition, int] = {}
        self.gathered: list[tuple[int, bytes]] = []


class TransportMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.harness = SmallHarness(self.folder / "crawl")
        self.log: dict[TopicPartition, list[bytes]] = defaultdict(list)
        self.committed: dict[str, dict[TopicPartition, Position]] = defaultdict(dict)
        self.state: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        self.sessions: list[Reader] = []
        self.members: dict[str, dict[Reader, float]] = defaultdict(dict)
        self.version: dict[str, int] = defaultdict(int)
        self.number = 0

    @property
    def transport(self) -> EmbeddedTransport:
        return self.harness.transport

    def teardown(self) -> None:
        self.harness.close()
        shutil.rmtree(self.folder)

    def value(self) -> bytes:
        self.number += 1
        return b"%d" % self.number

    @rule(
        topic=st.sampled_from(("discovered", "fetched")),
        partition=st.integers(0, PARTITIONS - 1),
        count=st.integers(1, 30),
    )
    def append(self, topic: str, partition: int, count: int) -> None:
        values = [self.value() for _ in range(count)]
        self.transport.append([Output(topic, partition, b"", value) for value in values])
        self.log[TopicPartition(topic, partition)] += values

    @precondition(lambda self: len(self.sessions) < 5)
    @rule(stage=STAGE)
    def open(self, stage: StageSpec) -> None:
        self.sessions.append(Reader(self.transport.open(stage), stage))

    @rule(seconds=st.sampled_from([1.0, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.harness.now += seconds

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), most=st.integers(1, 40))
    def poll(self, data: st.DataObject, most: int) -> None:
        reader = data.draw(st.sampled_from(self.sessions))
        stage, now = reader.stage.name, self.harness.now
        members = self.members[stage]
        if reader not in members:
            self.version[stage] += 1
        members[reader] = now
        silent = [one for one, seen in members.items() if now - seen > self.harness.session_timeout]
        for one in silent:
            del members[one]
        self.version[stage] += bool(silent)
        event = reader.session.poll(most, 1 << 20, 0.0)
        match event:
            case Batch():
                assert reader.version == self.version[stage]
                self.deliver(reader, event, most)
            case Revoked():
                assert reader.version != self.version[stage]
                assert event.partitions <= reader.owned
                reader.told = self.version[stage]
                reader.owned -= event.partitions
                self.rewind(reader)
            case Assigned():
                reader.version = reader.told = self.version[stage]
                assert not event.partitions.keys() & reader.owned
                reader.owned |= event.partitions.keys()
                self.rewind(reader)
                for partition, assignment in event.partitions.items():
                    for topic, position in assignment.positions.items():
                        at = TopicPartition(topic, partition)
                        assert position == self.committed[stage].get(at, Position(0))
                        assert assignment.ends[topic] == len(self.log[at])
                    if assignment.state is not None:
                        assert dict(assignment.state.scan("seen")) == self.state[partition]
        reader.epoch = event.epoch
        self.nobody_shares(stage)

    def rewind(self, reader: Reader) -> None:
        inputs = [TopicPartition(topic, p) for p in reader.owned for topic in reader.stage.inputs]
        reader.cursors = {at: self.committed[reader.stage.name].get(at, Position(0)).offset for at in inputs}
        reader.gathered = []

    def deliver(self, reader: Reader, batch: Batch, most: int) -> None:
        assert len(batch.records) <= most
        for record in batch.records:
            at = TopicPartition(record.topic, record.partition)
            assert record.offset == reader.cursors[at]
            assert record.value == self.log[at][record.offset]
            reader.cursors[at] += 1
            reader.gathered.append((record.partition, record.value))
        assert batch.positions == {at: reader.cursors[at] for at in batch.positions}
        left = sum(len(self.log[at]) - cursor for at, cursor in reader.cursors.items())
        assert len(batch.records) == most or left == 0

    def nobody_shares(self, stage: str) -> None:
        current = [one for one in self.members[stage] if one.told == self.version[stage]]
        owned = [partition for one in current for partition in one.owned]
        assert len(owned) == len(set(owned))

    @precondition(lambda self: any(one.owned for one in self.sessions))
    @rule(data=st.data(), fault=st.sampled_from([None, None, None, None, True, False]))
    def commit(self, data: st.DataObject, fault: bool | None) -> None:
        reader = data.draw(st.sampled_from([one for one in self.sessions if one.owned]))
        stage = reader.stage.name
        topic = "schedule" if reader.stage is FRONTIER else "fetched"
        outputs = [Output(topic, partition, b"", value) for partition, value in reader.gathered]
        positions = {at: Position(offset, f"{offset:x}") for at, offset in reader.cursors.items()}
        state = (
            {p: {value: b"x" for q, value in reader.gathered if q == p} for p in reader.owned}
            if reader.stage is FRONTIER
            else {}
        )
        mutations = {
            p: [Mutation(b"", pack_delta([(0, key, value) for key, value in new.items()]))] for p, new in state.items()
        }
        asked = Commit(
            epoch=reader.epoch, outputs=outputs, positions=positions, mutations=mutations, mark=CheckpointInfo(now_ms=0)
        )
        if reader not in self.members[stage] or reader.told != self.version[stage]:
            with pytest.raises(Fenced if reader not in self.members[stage] else Aborted):
                reader.session.commit(asked)
            return
        if fault is None:
            reader.session.commit(asked)
        else:
            self.harness.lose_answer(reader.session, happened=fault)
            with pytest.raises(UnknownOutcome):
                reader.session.commit(asked)
            self.version[stage] += 1
        if fault is not False:
            for output in outputs:
                self.log[TopicPartition(topic, output.partition)].append(output.value)
            self.committed[stage] |= positions
            for partition, new in state.items():
                self.state[partition] |= new
        reader.gathered = []

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        reader = data.draw(st.sampled_from(self.sessions))
        reader.session.close()
        self.sessions.remove(reader)
        if self.members[reader.stage.name].pop(reader, None) is not None:
            self.version[reader.stage.name] += 1

    @rule()
    def restart(self) -> None:
        self.harness.restart()
        self.sessions.clear()
        self.members.clear()

    @invariant()
    def everything_committed_is_there_and_nothing_else(self) -> None:
        for topic in TOPICS:
            for partition, (first, end) in self.transport.ends(topic).items():
                at = TopicPartition(topic, partition)
                assert end == len(self.log[at])
                found = [(record.offset, record.value) for record in self.transport.read(topic, partition, 0)]
                assert found == list(enumerate(self.log[at]))[first:]
                passed = self.committed["fetcher"].get(at, Position(0)).offset if topic == "schedule" else 0
                assert first <= passed

    @invariant()
    def groups_stand_where_they_committed(self) -> None:
        for stage in (FRONTIER, FETCHER):
            assert self.transport.committed(stage.name, stage.inputs) == self.committed[stage.name]


TransportMachine.TestCase.settings = settings(max_examples=12, stateful_step_count=40, deadline=None)
TestTransport = TransportMachine.TestCase
