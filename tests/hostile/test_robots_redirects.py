"""A robots.txt that is redirected to another server: asked with that server's manners, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from gregor.runtime.loops.contract import Received, Ticket
from gregor.runtime.transport.port import Record
from schemas.control import Pause
from tests.hostile.names import NameServer
from tests.hostile.servers import response
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Answer, Fetching, fetching, made_by, order_of, settings

RULES = response(b"User-agent: *\nDisallow: /closed\n")
DELAY_S = 0.25


class Hosts(Server):
    """Answers by the name it is asked for, and remembers when."""

    def __init__(self, answers: Mapping[str, bytes] | None = None) -> None:
        super().__init__()
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, float]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await self.request(reader)).decode()
            host = head.split("Host: ", 1)[1].split("\r\n", 1)[0].rpartition(":")[0]
            self.asked.append((host, time.monotonic()))
            writer.write(self.answers.get(host, RULES))
            await writer.drain()


class Victim(Hosts):
    host = "127.0.8.1"


class Leads(Hosts):
    """Its robots.txt is somewhere else."""

    def __init__(self, number: int, target: str) -> None:
        super().__init__()
        self.host = f"127.0.7.{1 + number}"
        self.answers = {self.host: moved(f"http://{target}/robots.txt")}


def moved(target: str) -> bytes:
    return response(b"", f"Location: {target}", status="301 Moved Permanently")


def apart(victim: Hosts) -> float:
    return min((after - before for (_, before), (_, after) in pairwise(victim.asked)), default=DELAY_S)


def robots_of(fetcher: Fetching, servers: list[Leads]) -> list[Ticket]:
    return [fetcher.start(order_of(one.name, "/robots.txt", kind="robots")) for one in servers]


@contextlib.contextmanager
def hostile(web: Web, count: int, **flags: Any) -> Iterator[tuple[Fetching, Victim, list[Leads]]]:
    victim = Victim()
    flags = {"crawl__scope": "any", "fetch__delay_s": DELAY_S, **flags}
    with web.serving(victim), fetching(settings(**flags)) as fetcher:
        servers = [Leads(number, victim.name) for number in range(count)]
        with web.serving(*servers):
            yield fetcher, victim, servers


def test_a_hundred_servers_that_lead_to_one_ask_it_no_faster_than_its_own_orders_may(web: Web) -> None:
    with hostile(web, 100) as (fetcher, victim, servers):
        paths = [f"/{number}" for number in range(8)]
        own = fetcher.start(order_of(victim.name, *paths, order={"delay_ms": round(1000 * DELAY_S)}))
        answers = fetcher.gather([own, *robots_of(fetcher, servers)])
    assert {result.outcome for result in answers.pop(own).fetched.results} == {"ok"}
    followed = [answer for answer in answers.values() if answer.fetched.robots]
    assert 0 < len(followed) < 10
    assert {answer.fetched.robots[0].verdict for answer in followed} == {"rules"}
    assert len(victim.asked) == len(paths) + len(followed)
    assert apart(victim) >= DELAY_S
    given_back = [answer.result for answer in answers.values() if not answer.fetched.robots]
    assert {one.outcome for one in given_back} == {"cancelled"}
    assert all(one.retry_after_ms > 0 for one in given_back), "they come again, and not at once"


class Ponders(Victim):
    """Answers after more than its delay, and remembers from when to when it was busy with a request."""

    def __init__(self) -> None:
        super().__init__()
        self.busy: list[tuple[float, float]] = []
        self.begun = threading.Event()

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        head = await super().request(reader)
        asked = time.monotonic()
        self.begun.set()
        await asyncio.sleep(3 * DELAY_S)
        self.busy.append((asked, time.monotonic()))
        return head


def test_a_server_that_is_being_asked_is_not_asked_for_another_s_robots_txt_meanwhile(web: Web) -> None:
    victim = Ponders()
    flags = {"crawl__scope": "any", "fetch__delay_s": DELAY_S}
    with web.serving(victim), fetching(settings(**flags)) as fetcher:
        guest = Leads(0, victim.name)
        with web.serving(guest):
            own = fetcher.start(order_of(victim.name, "/1", "/2"))
            victim.begun.wait()
            answers = fetcher.gather([own, *robots_of(fetcher, [guest])])
    assert all(answer.fetched.results[0].outcome == "ok" for answer in answers.values())
    assert len(victim.busy) == 3
    assert min(asked - answered for (_, answered), (asked, _) in pairwise(sorted(victim.busy))) >= DELAY_S


def test_a_server_that_is_paused_is_not_asked_for_another_s_robots_txt(web: Web) -> None:
    with hostile(web, 3) as (fetcher, victim, servers):
        fetcher.stage.on_broadcast([received(Pause(server=victim.name, paused=True))])
        answers = fetcher.gather(robots_of(fetcher, servers))
    assert not victim.asked
    for answer in answers.values():
        assert (answer.result.outcome, answer.fetched.robots) == ("cancelled", ())
        assert "paused" in answer.result.detail
        assert answer.result.retry_after_ms >= 60_000, (
            "the server that leads there is not asked again and again meanwhile"
        )


@pytest.mark.parametrize(("scope", "asked"), [("hosts", 0), ("domains", 0), ("any", 1)])
def test_a_server_of_another_domain_is_asked_where_the_crawl_may_go_to_it(scope: str, asked: int, web: Web) -> None:
    with hostile(web, 1, crawl__scope=scope, crawl__seeds=["http://127.0.7.1/"]) as (fetcher, victim, servers):
        (answer,) = fetcher.gather(robots_of(fetcher, servers)).values()
    assert len(victim.asked) == asked
    assert answer.fetched.robots[0].verdict == ("rules" if asked else "unreachable")
    assert asked or "scope" in answer.result.detail


@contextlib.contextmanager
def named(web: Web, server: Hosts) -> Iterator[Fetching]:
    """A fetcher for which every name leads to this server."""
    names = NameServer(lambda name, times: ["127.0.0.1"])
    names.open(web)
    port = made_by("aiohttp", name_servers=(f"127.0.0.1:{names.port}",))
    with web.serving(server), fetching(settings(), port=port) as fetcher:
        yield fetcher
    names.close(web)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("example.com", "www.example.com"),
        ("www.example.com", "example.com"),
        ("example.co.uk", "static.example.co.uk"),
        ("a.b.example.com", "c.example.com"),
        # A public suffix has no registered domain above it.
        ("github.io", "www.github.io"),
    ],
)
def test_a_server_of_the_same_domain_is_asked_whatever_the_scope(name: str, target: str, web: Web) -> None:
    server = Hosts()
    with named(web, server) as fetcher:
        server.answers[name] = moved(f"http://{target}:{server.port}/robots.txt")
        answer = fetcher.robots(f"{name}:{server.port}")
    assert answer.fetched.robots[0].verdict == "rules"
    assert [host for host, _ in server.asked] == [name, target]
    assert [page.facts.robots_of for page in answer.pages] == ["", f"{name}:{server.port}"]


@pytest.mark.parametrize("target", ["example.org", "example.com.evil.example", "bob.github.io", "co.uk"])
def test_a_name_that_only_looks_like_it_is_another_domain(target: str, web: Web) -> None:
    server = Hosts()
    with named(web, server) as fetcher:
        for name in ("example.com", "alice.github.io", "example.co.uk"):
            server.answers[name] = moved(f"http://{target}:{server.port}/robots.txt")
            assert fetcher.robots(f"{name}:{server.port}").fetched.robots[0].verdict == "unreachable"
    assert {host for host, _ in server.asked} == {"example.com", "alice.github.io", "example.co.uk"}


def test_two_addresses_of_ipv6_are_two_servers(web: Web) -> None:
    server = Hosts()
    server.host = "::1"
    with web.serving(server), fetching(settings()) as fetcher:
        server.answers["[::1]"] = moved("http://[::2]/robots.txt")
        assert "out of scope" in fetcher.robots(server.name).result.detail


def test_a_delay_of_a_day_is_that_of_its_own_server_and_not_of_the_one_that_is_led_to(web: Web) -> None:
    server = Hosts()
    with named(web, server) as fetcher:
        server.answers["example.com"] = moved(f"http://www.example.com:{server.port}/robots.txt")
        order = {"delay_ms": 24 * 3_600_000}
        answer = fetcher.run(order_of(f"example.com:{server.port}", "/robots.txt", kind="robots", order=order))
    assert answer.fetched.robots[0].verdict == "rules"


def test_a_chain_that_outlasts_its_order_is_unreachable_and_not_asked_for_at_once_again(web: Web) -> None:
    server = Hosts()
    with web.serving(server), fetching(settings()) as fetcher:
        server.answers[server.host] = moved("/again.txt")
        soon = time.time_ns() // 1_000_000 + 60_000
        order = {"delay_ms": 300_000, "deadline_ms": soon}
        answer: Answer = fetcher.run(order_of(server.name, "/robots.txt", kind="robots", order=order))
    assert answer.fetched.robots[0].verdict == "unreachable"
    assert "deadline" in answer.result.detail


def received(pause: Pause) -> Received:
    return Received(Record("control", 0, 0, b"", b"", None, 0), pause)


class Thinks(Hosts):
    """Answers after a moment."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        await super().serve(reader, writer)


def test_the_result_tells_when_the_order_s_own_server_was_asked(web: Web) -> None:
    server = Thinks()
    with named(web, server) as fetcher:
        server.answers["example.com"] = moved(f"http://www.example.com:{server.port}/robots.txt")
        answer = fetcher.run(order_of(f"example.com:{server.port}", "/robots.txt", kind="robots"))
    own, led_to = (page.facts.fetched_ms for page in answer.pages)
    assert own < led_to
    assert answer.result.started_ms == own
