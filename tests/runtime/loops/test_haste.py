"""What somebody waits for is committed at once: the clock stands still in these tests, so that no input is ever idle for long."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gregor.config import load
from gregor.runtime.loops.contract import Decode, Finished, Received, Ticket
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.orders import WORTH_A_COMMIT, OrderLoop
from gregor.runtime.loops.policy import AT_ONCE
from gregor.runtime.loops.running import Loop
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Output, StageSpec
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered
from streams.frontier.stage import SPEC as FRONTIER
from streams.frontier.stage import FrontierStage
from tests.runtime.transport.embedded_folder import SETTINGS, opened

CONFIG = load(None, {}, {"crawl.scope": "any", "robots.obey": False, "fetch.orders_in_flight": 1000}).config
FETCHER = StageSpec(name="fetcher", inputs=("schedule",), outputs=("fetched",))


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms


class Slow:
    """An OrderStage whose orders are done when the test says so."""

    spec: StageSpec = FETCHER
    decoders: Mapping[str, Decode] = {"schedule": lambda record: record.value}

    def __init__(self) -> None:
        self.running: list[Ticket] = []
        self.done: list[Ticket] = []
        self.result = b"done"

    def on_broadcast(self, received: Sequence[Received]) -> None: ...

    def room(self) -> int:
        return 100

    def start(self, ticket: Ticket, order: Any, redelivered: bool) -> None:
        self.running.append(ticket)

    def cancel(self, tickets: Sequence[Ticket]) -> None: ...

    def finished(self) -> Sequence[Finished]:
        done, self.done = self.done, []
        return [Finished(ticket, [Output("fetched", ticket.partition, b"", self.result)]) for ticket in done]

    def leave(self) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def transport(tmp_path: Path) -> Iterator[EmbeddedTransport]:
    with opened(tmp_path, stages=(FRONTIER, FETCHER)) as transport:
        yield transport


def steps(loop: Loop, condition: Callable[[], bool] = lambda: False) -> None:
    """Many more than anything takes, or until the condition holds."""
    for _ in range(50):
        loop.step(0.0)
        if condition():
            return


def test_the_first_orders_leave_at_once_and_after_many_the_next_ones_a_little_apart(
    transport: EmbeddedTransport,
) -> None:
    clock, placement = Clock(), HashPlacement(CONFIG.partitions.repositories, SETTINGS.partitions)
    loop = StageLoop(
        FrontierStage(CONFIG, placement), transport.open(FRONTIER), CONFIG.checkpoint, clock=clock, stopwatch=clock
    )

    def find(step: int) -> None:
        """As many servers as were found before, so that their orders are most of what is out."""
        transport.append(
            [
                Output(
                    "discovered",
                    placement.partition(server),
                    server.encode(),
                    encode(Discovered(server=server, paths=("/",))),
                )
                for server in (f"{number}.example" for number in range(2**step, 2 ** (step + 1)))
            ]
        )

    def orders() -> int:
        return sum(len(list(transport.read("schedule", partition, 0))) for partition in range(SETTINGS.partitions))

    steps(loop)
    assert loop.commits == 0
    for step in range(AT_ONCE):
        find(step)
        steps(loop)
        assert loop.commits == step + 1
    find(AT_ONCE)
    steps(loop)
    assert loop.commits == AT_ONCE
    assert orders() == 2**AT_ONCE - 1
    clock.now_ms += CONFIG.checkpoint.apart_ms
    steps(loop)
    assert loop.commits == AT_ONCE + 1
    assert orders() == 2 ** (AT_ONCE + 1) - 1


def test_results_leave_at_once_when_no_order_is_left(transport: EmbeddedTransport) -> None:
    stage = Slow()
    loop = OrderLoop(stage, transport.open(FETCHER), CONFIG.checkpoint, clock=Clock(), stopwatch=Clock())
    transport.append([Output("schedule", 0, b"", b"order %d" % number) for number in range(3)])
    steps(loop, lambda: len(stage.running) == 3)
    stage.done = stage.running[1:]
    steps(loop)
    assert loop.commits == 0
    stage.done = stage.running[:1]
    steps(loop)
    assert loop.commits == 1
    assert len(list(transport.read("fetched", 0, 0))) == 3


def test_enough_results_to_work_on_leave_while_other_orders_are_on_their_way(transport: EmbeddedTransport) -> None:
    stage = Slow()
    loop = OrderLoop(stage, transport.open(FETCHER), CONFIG.checkpoint, clock=Clock(), stopwatch=Clock())
    transport.append([Output("schedule", 0, b"", b"order %d" % number) for number in range(3)])
    steps(loop, lambda: len(stage.running) == 3)
    stage.result = bytes(WORTH_A_COMMIT // 2)
    stage.done = stage.running[:1]
    steps(loop)
    assert loop.commits == 0
    stage.done = stage.running[1:2]
    steps(loop)
    assert loop.commits == 1
    assert len(list(transport.read("fetched", 0, 0))) == 2
