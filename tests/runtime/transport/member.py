"""A stage loop as naive as can be: keeps what a session said, so that a test can say what must have been said."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from gregor.errors import Aborted, Fenced, UnknownOutcome
from gregor.runtime.state.packed import Mutation, apply_deltas, pack_delta
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from gregor.runtime.transport.port import (
    Assigned,
    Assignment,
    Batch,
    CheckpointInfo,
    Commit,
    Event,
    Output,
    Position,
    Record,
    Revoked,
    Session,
    StageSpec,
    TopicPartition,
    Transport,
)
from tests.runtime.transport.harness import Harness

FAMILIES = ("seen", "counts")


def apply(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(FAMILIES, deltas, writer)


FRONTIER = StageSpec(
    name="frontier",
    inputs=("discovered", "fetched"),
    broadcast=("control",),
    outputs=("schedule", "verdicts", "dead-letters"),
    changelog="frontier-changelog",
    state=StateSpec(FAMILIES, apply),
)
"""Two co-partitioned inputs, a broadcast input and state."""
INPUTS = FRONTIER.inputs
EXTRACTOR = StageSpec(name="extractor", inputs=("pages",), outputs=("discovered", "items", "dead-letters"))
VIEWS = StageSpec(name="views", inputs=("verdicts",))
FETCHER = StageSpec(name="fetcher", inputs=("schedule",), broadcast=("control",), outputs=("fetched", "pages"))
STAGES = (FRONTIER, EXTRACTOR, VIEWS, FETCHER)


class Member:
    """One session and what is known of it."""

    def __init__(self, harness: Harness, stage: StageSpec, *, stoppable: bool = False) -> None:
        self.harness = harness
        self.stage = stage
        self.session: Session = harness.open(stage, stoppable=stoppable)
        self.epoch = 0
        self.owned: dict[int, Assignment] = {}
        self.positions: dict[TopicPartition, Position] = {}
        self.committed: dict[TopicPartition, Position] = {}
        self.gathered: list[Record] = []
        """Since the last commit or the last change of the group."""
        self.heard: list[Record] = []
        self.events: list[Event] = []

    def step(self, max_records: int = 1000, max_bytes: int = 1 << 20) -> Event:
        event = self.session.poll(max_records, max_bytes, self.harness.wait)
        self.events.append(event)
        self.epoch = event.epoch
        match event:
            case Revoked():
                self.drop()
                for partition in event.partitions:
                    self.owned.pop(partition, None)
                self.positions = {at: one for at, one in self.positions.items() if at.partition in self.owned}
                self.committed = dict(self.positions)
            case Assigned():
                self.owned.update(event.partitions)
                for partition, assignment in event.partitions.items():
                    for topic, position in assignment.positions.items():
                        at = TopicPartition(topic, partition)
                        self.positions[at] = self.committed[at] = position
            case Batch():
                self.gathered += event.records
                self.heard += event.broadcast
                self.positions.update({at: Position(offset) for at, offset in event.positions.items()})
        return event

    def drop(self) -> None:
        self.gathered.clear()
        self.positions = dict(self.committed)

    def commit(
        self,
        outputs: Sequence[Output] = (),
        mutations: Mapping[int, Sequence[Mutation]] | None = None,
        counters: Mapping[int, Mapping[str, int]] | None = None,
    ) -> None:
        """Everything gathered; after an exception nothing of it."""
        asked = self.proposal(outputs, mutations, counters)
        try:
            self.session.commit(asked)
        except BaseException:
            self.drop()
            raise
        self.committed = dict(asked.positions)
        self.gathered.clear()

    def proposal(
        self,
        outputs: Sequence[Output] = (),
        mutations: Mapping[int, Sequence[Mutation]] | None = None,
        counters: Mapping[int, Mapping[str, int]] | None = None,
    ) -> Commit:
        return Commit(
            epoch=self.epoch,
            outputs=outputs,
            positions=dict(self.positions),
            mutations=mutations or {},
            mark=CheckpointInfo(now_ms=1_700_000_000_000, counters=counters or {}),
        )

    def copy(self) -> list[Output]:
        """One verdict for each record gathered, which names where it came from."""
        return [Output("verdicts", r.partition, r.key or b"", name(r.topic, r.value)) for r in self.gathered]

    def __repr__(self) -> str:
        where = [f"{record.topic}[{record.partition}]@{record.offset}" for record in self.gathered[-50:]]
        positions = {f"{at.topic}[{at.partition}]": one.offset for at, one in self.positions.items()}
        return (
            f"{self.session.member}: epoch {self.epoch}, owns {sorted(self.owned)}, gathered {len(self.gathered)}, "
            f"last {where}, positions {positions}"
        )


def until(
    condition: Callable[[], object], members: Iterable[Member], *, work: Callable[[Member], object] | None = None
) -> None:
    """Polls the members in turn until the condition holds; ``work`` is done after each poll."""
    members = list(members)
    harness = members[0].harness
    deadline = time.monotonic() + harness.patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {harness.patience:g} s: {members}")
        for member in members:
            member.step()
            if work is not None:
                work(member)
        harness.tick()


def shared(members: Sequence[Member]) -> bool:
    """Every partition has exactly one owner, and nobody owns two more than another."""
    owned = Counter(partition for member in members for partition in member.owned)
    sizes = [len(member.owned) for member in members]
    return owned == Counter(range(members[0].harness.partitions)) and max(sizes) - min(sizes) <= 1


def settle(*members: Member) -> None:
    until(partial(shared, members), members)


def name(topic: str, value: bytes | None) -> bytes:
    return topic.encode() + b"/" + (value or b"")


def fill(transport: Transport, topics: Sequence[str], partitions: int, numbers: range) -> list[bytes]:
    """Numbered records into every partition of the topics; returns the names under which ``copy`` passes them on."""
    outputs = [
        Output(topic, partition, b"server-%d" % partition, b"%d-%d" % (partition, number))
        for topic in topics
        for number in numbers
        for partition in range(partitions)
    ]
    transport.append(outputs)
    return [name(output.topic, output.value) for output in outputs]


def values(transport: Transport, topic: str) -> Counter[bytes]:
    """Everything committed in a topic, with how often it is there."""
    return Counter(
        record.value or b""
        for partition, (first, _) in transport.ends(topic).items()
        for record in transport.read(topic, partition, first)
    )


def seen(number: int) -> Mutation:
    return Mutation(b"server", pack_delta([(0, b"key-%d" % number, b"value-%d" % number)]))


def processed(member: Member) -> None:
    """Pass on what was gathered, as a stage does; whatever a change of the group spoils comes again."""
    if member.gathered:
        try:
            member.commit(member.copy())
        except (Aborted, Fenced, UnknownOutcome):
            member.drop()


def owns_all(member: Member) -> bool:
    return len(member.owned) == member.harness.partitions


def together(members: list[Member]) -> bool:
    owned = Counter(partition for member in members for partition in member.owned)
    return owned == Counter(range(members[0].harness.partitions)) and all(member.owned for member in members)
