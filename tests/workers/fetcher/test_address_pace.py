"""Many servers behind one address: its pace is kept for hours, and no order waits for it in vain."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

import pytest

from tests.workers.fetcher.fetching import Fetching, order_of
from workers.fetcher.address_pace import LATER_S, LONGEST_LINE, LONGEST_TURN_S, SERVERS_OF_ADDRESS, AddressPace

HOUR = 3600.0
PLACES = 1024
DEADLINE_S = 120.0
NOTHING_DONE_S = 1.0
"""How long the frontier leaves a server alone whose order came back untouched, at least."""


class _Leap(selectors.DefaultSelector):
    """Waits for nothing: where others would, the clock jumps."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop whose hours pass as fast as there is something to do."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now


def leaping(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        runner.run(story)


def now() -> float:
    return asyncio.get_running_loop().time()


class Crowd:
    """A fetcher's places, servers that want one whenever their delay is over, and when the requests started."""

    def __init__(self, places: int = PLACES) -> None:
        self.pace = AddressPace(asyncio.Event(), now)
        self.places = asyncio.Semaphore(places)
        self.requests: dict[str, list[float]] = {}
        self.sent_away = 0
        self.held_most = 0.0

    async def server(self, address: str, delay_s: float) -> None:
        started = self.requests.setdefault(address, [])
        while True:
            wanted = now()
            async with self.places:
                placed = now()
                again_s = await self.pace.turn(address, delay_s, wanted + DEADLINE_S - placed)
                self.held_most = max(self.held_most, now() - placed)
                if again_s:
                    self.sent_away += 1
                else:
                    assert now() <= wanted + DEADLINE_S
                    started.append(now())
            await asyncio.sleep(max(delay_s, again_s, NOTHING_DONE_S if again_s else 0.0))


@pytest.mark.parametrize("delay_s", [60.0, 1.0])
def test_an_address_with_more_servers_than_there_are_places_is_asked_at_its_pace_for_hours(delay_s: float) -> None:
    step = delay_s / SERVERS_OF_ADDRESS
    hours = HOUR * 4 if delay_s > 1 else HOUR / 4

    async def story() -> None:
        crowd = Crowd()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(crowd.server("192.0.2.1", delay_s)) for _ in range(1500)]
            tasks += [group.create_task(crowd.server(f"198.51.100.{number}", 10.0)) for number in range(20)]
            await asyncio.sleep(hours)
            for task in tasks:
                task.cancel()
        started = crowd.requests["192.0.2.1"]
        assert min(after - before for before, after in pairwise(started)) >= step - 1e-6
        assert len(started) >= 0.95 * hours / step
        # Orders of others find a place, and no order keeps one for longer than its turn is worth.
        others = [len(times) for address, times in crowd.requests.items() if address != "192.0.2.1"]
        assert min(others) >= 0.95 * hours / 10.0
        assert crowd.held_most <= min(LONGEST_TURN_S, LONGEST_LINE * step) + 1e-6
        # Those sent away do not come back every second, but about when they are served, or when they are told to at the latest.
        assert crowd.sent_away <= 1.5 * (len(started) + 1500 * (1 + hours / LATER_S))

    leaping(story())


def test_a_turn_behind_the_deadline_is_not_taken() -> None:
    async def story() -> None:
        pace = AddressPace(asyncio.Event(), now)
        assert await pace.turn("192.0.2.1", 8.0, 100.0) == 0.0
        assert await pace.turn("192.0.2.1", 8.0, 0.5) > 0.0
        began = now()
        assert await pace.turn("192.0.2.1", 8.0, 1.5) == 0.0
        assert now() == pytest.approx(began + 1.0)

    leaping(story())


def test_a_neighbour_of_a_server_with_a_delay_of_a_year_waits_for_seconds() -> None:
    async def story() -> None:
        pace = AddressPace(asyncio.Event(), now)
        assert await pace.turn("192.0.2.1", 365 * 24 * HOUR, 100.0) == 0.0
        assert await pace.turn("192.0.2.1", 10.0, 100.0) == 0.0
        assert now() == pytest.approx(60.0 / SERVERS_OF_ADDRESS)

    leaping(story())


def test_a_fetcher_that_leaves_waits_for_no_turn() -> None:
    async def story() -> None:
        leaving = asyncio.Event()
        pace = AddressPace(leaving, now)
        assert await pace.turn("192.0.2.1", 60.0, 100.0) == 0.0
        waiting = asyncio.create_task(pace.turn("192.0.2.1", 60.0, 100.0))
        await asyncio.sleep(1.0)
        leaving.set()
        await waiting
        assert now() == pytest.approx(1.0)

    leaping(story())


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_many_ports_of_one_address_share_its_pace(host: str, fetcher: Fetching) -> None:
    # Nobody listens there: what counts is when the fetcher turns to them.
    orders = [order_of(f"{host}:{port}", "/", order={"delay_ms": 800}) for port in range(1, 21)]
    answers = fetcher.gather([fetcher.start(order) for order in orders])
    assert {answer.result.outcome for answer in answers.values()} == {"connect"}
    started = sorted(answer.result.started_ms for answer in answers.values())
    # 19 turns of 100 ms, where each server by itself would have had its own at once.
    assert started[-1] - started[0] >= 1890
