"""Politeness as the servers see it, from their own logs."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from tests.workers.fetcher.fetching import fetching, order_of, settings
from tests.workers.fetcher.logging_servers import LoggingServers

HOSTS = 200
SECONDS = 8.0
# Far enough apart that a machine which is busy with something else for a few milliseconds does not blur what is measured.
DELAYS_MS = [500 + 25 * step for step in range(21)]


@pytest.mark.alone
def test_no_server_is_asked_too_early_and_all_at_nearly_the_rate_they_permit() -> None:
    # What else the machine does can only take from the rate: one run of three that reaches it shows what the fetcher can do.
    assert any(rate_of_the_permitted() >= 0.95 for _ in range(3))


def rate_of_the_permitted() -> float:
    delays = {f"127.0.{1 + number // 100}.{1 + number % 100}": DELAYS_MS[number % 21] for number in range(HOSTS)}
    servers = LoggingServers(list(delays))
    counts = {address: int(SECONDS * 1000 / delay) for address, delay in delays.items()}
    with fetching(settings()) as fetcher:
        tickets = [
            fetcher.start(
                order_of(
                    f"{address}:{servers.port}", *(f"/{n}" for n in range(counts[address])), order={"delay_ms": delay}
                )
            )
            for address, delay in delays.items()
        ]
        answers = fetcher.gather(tickets)
    assert {result.outcome for answer in answers.values() for result in answer.fetched.results} == {"ok"}

    log = servers.log()
    assert {address: len(times) for address, times in log.items()} == counts
    early = {
        address: round(delays[address] - 1000 * (after - before), 1)
        for address, times in log.items()
        for before, after in pairwise(times)
        if 1000 * (after - before) < delays[address]
    }
    assert early == {}
    permitted = sum((counts[address] - 1) * delay for address, delay in delays.items())
    taken = sum(1000 * (times[-1] - times[0]) for times in log.values())
    return permitted / taken


def test_the_delay_counts_from_the_answer_of_a_server_that_was_late_to_take_the_request() -> None:
    servers = LoggingServers(["127.0.9.3"], lateness_s=0.3)
    with fetching(settings()) as fetcher:
        fetcher.run(order_of(f"127.0.9.3:{servers.port}", "/a", "/b", "/c", order={"delay_ms": 400}))
    (times,) = servers.log().values()
    assert len(times) == 3
    assert min(after - before for before, after in pairwise(times)) >= 0.4


def test_several_connections_to_one_server_keep_the_delay_between_them() -> None:
    servers = LoggingServers(["127.0.9.1"])
    paths = [f"/{number}" for number in range(8)]
    with fetching(settings()) as fetcher:
        order = order_of(f"127.0.9.1:{servers.port}", *paths, order={"delay_ms": 400, "connections": 4})
        began = time.monotonic()
        answer = fetcher.run(order)
    assert [result.path for result in answer.fetched.results] == paths
    (times,) = servers.log().values()
    assert len(times) == len(paths)
    # Four connections are opened at once; their requests may not be. A server that is late to look cannot make one seem early here.
    assert [number for number, at in enumerate(times) if at < began + 0.4 * number] == []


def test_an_order_that_may_have_been_begun_before_waits_its_delay_first() -> None:
    servers = LoggingServers(["127.0.9.2"])
    with fetching(settings()) as fetcher:
        order = order_of(f"127.0.9.2:{servers.port}", "/", order={"delay_ms": 1500})
        fresh = fetcher.run(order)
        again = fetcher.run(order, redelivered=True)
    servers.log()
    assert again.fetched.results[0].started_ms - again.fetched.received_ms >= 1499
    assert fresh.fetched.results[0].started_ms - fresh.fetched.received_ms < 1499
