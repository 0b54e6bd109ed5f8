"""A link of a given bandwidth: the mean is the target however late timers fire, and nothing is saved up while nobody asks."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.offline.generated import PROFILES, page_sizes
from gregor.offline.link import EmulatedLink, ExcessTime

MBIT = 15.0


class Time:
    """A clock that sleeping moves, and always too far: a timer is late by up to 4 ms, and once in a while by 80."""

    def __init__(self, seed: int) -> None:
        self.now = 100.0
        self._random = Random(seed)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + self._random.choice((0.0, 0.001, 0.004, 0.004 if self._random.random() < 0.98 else 0.08))
        await asyncio.sleep(0)


def link(time: Time, **more: float) -> EmulatedLink:
    return EmulatedLink(MBIT, clock=time.clock, sleep=time.sleep, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("at_once", [1, 16])
def test_over_a_minute_the_mean_is_the_target_within_two_percent(at_once: int) -> None:
    sizes = page_sizes(PROFILES["paper"])
    random, time = Random(at_once), Time(at_once)
    carried = 0

    async def reads(link: EmulatedLink) -> None:
        nonlocal carried
        while time.now < 160.0:
            size = random.choice(sizes)
            await link.carry(size)
            carried += size

    async def minute() -> None:
        one = link(time)
        await asyncio.gather(*(reads(one) for _ in range(at_once)))

    asyncio.run(minute())
    assert carried * 8 / (time.now - 100.0) == pytest.approx(MBIT * 1e6, rel=0.02)


def test_without_the_excess_the_same_minute_would_be_too_slow() -> None:
    """Or the test above could not fail."""
    time = Time(1)

    async def minute() -> int:
        carried = 0
        while time.now < 160.0:
            await link(time).carry(22_300)
            carried += 22_300
        return carried

    assert asyncio.run(minute()) * 8 / (time.now - 100.0) < 0.9 * MBIT * 1e6


def test_an_idle_link_saves_nothing_up() -> None:
    time = Time(1)

    async def story() -> float:
        one = link(time)
        await one.carry(22_300)
        time.now += 3600
        before = time.now
        for _ in range(100):
            await one.carry(22_300)
        return time.now - before

    assert asyncio.run(story()) == pytest.approx(100 * 22_300 * 8 / (MBIT * 1e6), rel=0.05)


def test_a_cancelled_transfer_leaves_the_link_to_the_next() -> None:
    async def story() -> None:
        one = EmulatedLink(0.001)
        first = asyncio.create_task(one.carry(10**6))
        second = asyncio.create_task(one.carry(1))
        await asyncio.sleep(0.01)
        first.cancel()
        await second

    asyncio.run(asyncio.wait_for(story(), 60))


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 2)), max_size=50), st.floats(1e3, 1e9))
def test_what_one_takes_too_long_the_next_ones_pay_back_and_no_more(
    reads: list[tuple[int, float]], bandwidth: float
) -> None:
    """After any reads, whoever waited as the rule says has spent exactly the shares and the excess that is left."""
    rule = ExcessTime(bandwidth)
    spent = shares = 0.0
    for size, took in reads:
        wait = rule.wait_s(size, took)
        rule.settle(size, took + wait)
        spent += took + wait
        shares += rule.share_s(size)
        assert rule.excess_s >= 0
    assert spent == pytest.approx(shares + rule.excess_s, abs=1e-6, rel=1e-9)


def test_latency_differs_by_url_within_the_jitter_and_is_the_same_every_time() -> None:
    one, same, other = (EmulatedLink(0, 100, 0.3, seed) for seed in (1, 1, 2))
    urls = [f"http://s0.example/p{number}" for number in range(1000)]
    found = [one.latency_s(url) for url in urls]
    assert found == [same.latency_s(url) for url in urls]
    assert found != [other.latency_s(url) for url in urls]
    assert min(found) >= 0.07
    assert max(found) <= 0.13
    assert sum(found) / len(found) == pytest.approx(0.1, rel=0.02)
    assert EmulatedLink(0, 100).latency_s("x") == 0.1
