"""A clock that is set back makes nobody wait: what is pending is committed, and what was held is tried, after the time that has passed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from gregor.config.sections import CheckpointSection
from gregor.runtime.loops.contract import NOTHING, Decode, Received, SinkUnavailable, Work
from gregor.runtime.loops.loop import RETRY_MS, StageLoop
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Assignment, Output, StageSpec
from tests.runtime.loops.test_haste import FETCHER, Clock, Slow, steps
from tests.runtime.transport.embedded_folder import opened

COPIER = StageSpec(name="extractor", inputs=("pages",), outputs=("items",))
POLICY = CheckpointSection(idle_ms=30, max_interval_s=1.0)
HOUR_MS = 3_600_000


class Copier:
    """Passes pages on; while its disk is full it finishes nothing."""

    spec: StageSpec = COPIER
    decoders: Mapping[str, Decode] = {"pages": lambda record: record.value}

    def __init__(self) -> None:
        self.full = False
        self.asked = 0

    def assigned(self, partition: int, assignment: Assignment) -> None: ...

    def revoked(self, partitions: frozenset[int]) -> None: ...

    def on_broadcast(self, received: Sequence[Received]) -> None: ...

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        return Work([Output("items", one.record.partition, b"", one.value) for one in received])

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def prepare(self) -> Sequence[Output]:
        self.asked += 1
        if self.full:
            raise SinkUnavailable("there is no room")
        return ()

    def committed(self) -> None: ...

    def dropped(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def transport(tmp_path: Path) -> Iterator[EmbeddedTransport]:
    with opened(tmp_path, stages=(COPIER, FETCHER)) as transport:
        yield transport


def test_what_is_pending_is_committed_after_the_idle_time(transport: EmbeddedTransport) -> None:
    clock, stopwatch, stage = Clock(), Clock(), Copier()
    loop = StageLoop(stage, transport.open(COPIER), POLICY, clock=clock, stopwatch=stopwatch)
    transport.append([Output("pages", 0, b"", b"page")])
    steps(loop)
    assert loop.commits == 0
    clock.now_ms -= HOUR_MS
    stopwatch.now_ms += POLICY.idle_ms
    steps(loop)
    assert loop.commits == 1


def test_results_of_orders_are_committed_after_the_idle_time(transport: EmbeddedTransport) -> None:
    clock, stopwatch, stage = Clock(), Clock(), Slow()
    loop = OrderLoop(stage, transport.open(FETCHER), POLICY, clock=clock, stopwatch=stopwatch)
    transport.append([Output("schedule", 0, b"", b"order %d" % number) for number in range(2)])
    steps(loop, lambda: len(stage.running) == 2)
    stage.done = stage.running[:1]
    steps(loop)
    assert loop.commits == 0
    clock.now_ms -= HOUR_MS
    stopwatch.now_ms += POLICY.idle_ms
    steps(loop)
    assert loop.commits == 1


def test_a_stage_that_is_held_is_asked_again_in_a_second(transport: EmbeddedTransport) -> None:
    clock, stopwatch, stage = Clock(), Clock(), Copier()
    loop = StageLoop(stage, transport.open(COPIER), POLICY, clock=clock, stopwatch=stopwatch)
    stage.full = True
    transport.append([Output("pages", 0, b"", b"page")])
    steps(loop)
    stopwatch.now_ms += POLICY.idle_ms
    steps(loop)
    assert loop.held
    assert stage.asked == 1
    clock.now_ms -= HOUR_MS
    stage.full = False
    stopwatch.now_ms += RETRY_MS
    steps(loop)
    assert len(list(transport.read("items", 0, 0))) == 1
