"""Politeness as the servers see it, from their own logs."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gregor.config import load
from schemas.schedule import FetchOrder
from tests.hostile.servers import Answers, response
from tests.hostile.web import Web
from tests.workers.fetcher.fetching import LOOPBACK, Fetching, fetching, order_of, settings
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


def test_an_order_that_names_several_connections_is_carried_out_in_turn() -> None:
    servers = LoggingServers(["127.0.9.1"])
    paths = [f"/{number}" for number in range(8)]
    with fetching(settings()) as fetcher:
        order = order_of(f"127.0.9.1:{servers.port}", *paths, order={"delay_ms": 400, "connections": 4})
        began = time.monotonic()
        answer = fetcher.run(order)
    assert [result.path for result in answer.fetched.results] == paths
    (times,) = servers.log().values()
    assert len(times) == len(paths)
    # A server that is late to look cannot make one seem early here.
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


class AsksForMore(Answers):
    """Its robots.txt asks for two seconds, which no order knows of before it is read."""

    bytes_ = response(b"User-agent: *\nCrawl-delay: 2\nDisallow: /closed\n")

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        head = await super().request(reader)
        self.asked.append(time.monotonic())
        return head


def robots_order(server: AsksForMore, *, times: int = 1, delay_ms: int = 100) -> FetchOrder:
    return order_of(server.name, *["/robots.txt"] * times, kind="robots", order={"delay_ms": delay_ms})


def test_a_delay_that_was_read_here_holds_also_when_the_result_was_dropped(web: Web, fetcher: Fetching) -> None:
    server = AsksForMore()
    with web.serving(server):
        fetcher.run(robots_order(server))
        # Nobody has heard of that answer: the order is made again, with the delay that was known before.
        fetcher.run(robots_order(server))
    first, second = server.asked
    assert second - first >= 2.0


def test_a_delay_that_the_first_robots_txt_of_an_order_asks_for_holds_for_its_second(
    web: Web, fetcher: Fetching
) -> None:
    server = AsksForMore()
    with web.serving(server):
        fetcher.run(robots_order(server, times=2))
    first, second = server.asked
    assert second - first >= 2.0


class SaysItOnce(Answers):
    """The first robots.txt asks for a delay, all others cannot be had. Remembers every connection, also those that ask for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(time.monotonic())
        first = response(b"User-agent: *\nCrawl-delay: 0.6\n", "Connection: close")
        busy = response(b"", "Connection: close", status="500 Internal Server Error")
        writer.write(first if len(self.asked) == 1 else busy)
        await writer.drain()


@pytest.mark.parametrize("then", ["http", "https"])
def test_a_delay_that_was_read_holds_also_when_the_next_robots_txt_cannot_be_had(
    then: Any, web: Web, fetcher: Fetching
) -> None:
    server = SaysItOnce()
    with web.serving(server):
        for scheme in ("http", then, "http"):
            fetcher.run(order_of(server.name, "/robots.txt", scheme=scheme, kind="robots", order={"delay_ms": 50}))
    assert len(server.asked) == 3
    assert min(after - before for before, after in pairwise(server.asked)) >= 0.6


def test_robots_txt_that_another_process_may_have_read_a_moment_ago_is_left_for_longer_than_the_known_delay(
    web: Web, fetcher: Fetching
) -> None:
    server = AsksForMore()
    with web.serving(server):
        answer = fetcher.run(robots_order(server, delay_ms=1000), redelivered=True)
        soon = fetcher.run(robots_order(server, delay_ms=50), redelivered=True)
    assert (answer.result.outcome, answer.fetched.robots) == ("cancelled", ())
    assert answer.result.retry_after_ms == 10_000
    assert soon.result.outcome == "ok", "a short while is waited for here"
    assert soon.result.started_ms - soon.fetched.received_ms >= 499
    assert len(server.asked) == 1


def closest_s(servers: LoggingServers) -> float:
    (times,) = servers.log().values()
    return min(after - before for before, after in pairwise(times))


def test_an_order_that_knows_no_delay_is_held_to_the_configured_one() -> None:
    servers = LoggingServers(["127.0.9.4"])
    with fetching(settings(fetch__delay_s=0.4)) as fetcher:
        fetcher.run(order_of(f"127.0.9.4:{servers.port}", "/a", "/b", "/c"))
    assert closest_s(servers) >= 0.4


def test_an_order_is_held_to_the_delay_that_is_configured_for_its_server(tmp_path: Path) -> None:
    servers = LoggingServers(["127.0.9.5"])
    file = tmp_path / "gregor.toml"
    file.write_text('[[server]]\nmatch = "127.0.9.5"\ndelay_s = 0.4\n')
    with fetching(load(file, {}, {"fetch.allow_addresses": LOOPBACK, "fetch.delay_s": 0.0}).config) as fetcher:
        fetcher.run(order_of(f"127.0.9.5:{servers.port}", "/a", "/b", "/c", order={"delay_ms": 10}))
    assert closest_s(servers) >= 0.4


def test_the_longest_delay_holds_for_all_orders_of_a_server_that_are_there_at_once() -> None:
    servers = LoggingServers(["127.0.9.6"])
    with fetching(settings()) as fetcher:
        orders = [
            order_of(f"127.0.9.6:{servers.port}", f"/{delay}/1", f"/{delay}/2", order={"delay_ms": delay})
            for delay in (0, 400, 10)
        ]
        answers = fetcher.gather([fetcher.start(order) for order in orders])
    assert {result.outcome for answer in answers.values() for result in answer.fetched.results} == {"ok"}
    # The first of them began before the others were known.
    (times,) = servers.log().values()
    assert len(times) == 6
    assert min(after - before for before, after in pairwise(times[2:])) >= 0.4


class TakesItsTime(Answers):
    """Answers after more than a second, and tells when it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        head = await super().request(reader)
        self.asked.set()
        await asyncio.sleep(1.2)
        return head


def test_orders_of_a_server_that_wait_for_a_connection_do_not_ask_together_when_it_comes(web: Web) -> None:
    slow, servers = TakesItsTime(), LoggingServers(["127.0.9.9"])
    with web.serving(slow), fetching(settings(fetch__connections=1)) as fetcher:
        first = fetcher.start(order_of(slow.name, "/"))
        slow.asked.wait()
        both = [
            fetcher.start(order_of(f"127.0.9.9:{servers.port}", path, order={"delay_ms": 400})) for path in ("/a", "/b")
        ]
        fetcher.gather([first, *both])
    assert closest_s(servers) >= 0.4


def test_an_order_that_follows_too_soon_waits_for_the_rest_of_its_delay() -> None:
    servers = LoggingServers(["127.0.9.7"])
    with fetching(settings()) as fetcher:
        for _ in range(3):
            fetcher.run(order_of(f"127.0.9.7:{servers.port}", "/", order={"delay_ms": 400}))
    assert closest_s(servers) >= 0.4


def test_as_many_orders_as_the_frontier_may_have_out_go_side_by_side() -> None:
    servers = LoggingServers(["127.0.9.8"])
    with fetching(settings(frontier__orders_per_server=2)) as fetcher:
        orders = [order_of(f"127.0.9.8:{servers.port}", f"/{n}/1", f"/{n}/2", order={"delay_ms": 400}) for n in "abcd"]
        fetcher.gather([fetcher.start(order) for order in orders])
    (times,) = servers.log().values()
    # Two clocks: of any three requests in a row at least two went by the same one.
    assert min(later - first for first, later in zip(times, times[2:], strict=False)) >= 0.4
    assert min(after - before for before, after in pairwise(times)) < 0.4
