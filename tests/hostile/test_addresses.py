"""No way leads to an address that the configuration does not allow: every spelling, by every way that a URL can come.

The canary listens on 127.0.0.1 and ::1. Only 127.0.0.2 is allowed, where a good server listens on the same port, so that every refusal
here is the guard's doing and not an accident.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Iterator, Sequence

import pytest

from gregor.url.canonical import UrlRefusal, join, split
from tests.hostile.names import NameServer
from tests.hostile.servers import Answers, response
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Answer, Fetching, fetching, made_by, order_of, settings
from workers.fetcher.addresses import AddressGuard

GOOD = "127.0.0.2"
ALLOWED = [f"{GOOD}/32"]

SPELLINGS = [
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7f.0x0.0x0.0x1",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.0x1",
    "127.1",
    "127.0.1",
    "127.0.0.1.",
    "127。0。0。1",
    "①②⑦.0.0.1",
    "%31%32%37.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "LOCALHOST.",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[::1%25lo]",
    "[fec0::1]",
    "[ff02::1]",
    "user@127.0.0.1",
    "127.0.0.2@127.0.0.1",
]
ANSWERS = [
    "127.0.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1",
    "10.0.0.1",
    "169.254.169.254",
]


class Canary(Server):
    """Counts everybody who comes."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(response(b"the canary was reached"))


class Canary6(Canary):
    host = "::1"


class Good(Answers):
    """The server that may be reached; it redirects everything to where ``target`` says."""

    host = GOOD
    target = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        if self.target:
            writer.write(response(b"", f"Location: {self.target}", "Connection: close", status="302 Found"))
        else:
            writer.write(response(b"good", "Connection: close"))


class Field:
    """Canaries and the good server, on one port."""

    def __init__(self, good: Good, canaries: Sequence[Canary]) -> None:
        self.good = good
        self.canaries = canaries
        self.port = good.port

    def untouched(self) -> bool:
        return not any(canary.connections for canary in self.canaries)


@pytest.fixture
def field(web: Web) -> Iterator[Field]:
    with contextlib.ExitStack() as stack:
        yield _on_one_port(web, stack)


def _on_one_port(web: Web, stack: contextlib.ExitStack) -> Field:
    """A port that is free at one address may be somebody's at another."""
    while True:
        good, canary, canary6 = Good(), Canary(), Canary6()
        with contextlib.ExitStack() as opened:
            opened.enter_context(web.serving(good))
            try:
                opened.enter_context(web.serving(canary, canary6, port=good.port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            stack.enter_context(opened.pop_all())
            return Field(good, [canary, canary6])


@pytest.fixture(scope="module")
def guarded(backend: str) -> Iterator[Fetching]:
    """Its body cap is small, its time for connecting too: some addresses here lead nowhere."""
    own = {"crawl__scope": "any", "fetch__allow_addresses": ALLOWED, "fetch__connect_timeout_s": 2.0}
    with fetching(settings(fetch__backend=backend, **own)) as one:
        yield one


@contextlib.contextmanager
def asking(backend: str, names: NameServer) -> Iterator[Fetching]:
    where = {"name_servers": (f"127.0.0.1:{names.port}",), "shortest_answer_s": 0.0}
    port = made_by(backend, guard=AddressGuard(ALLOWED), **where)
    with fetching(settings(fetch__connect_timeout_s=2.0), port=port) as one:
        yield one


def refused(answer: Answer) -> bool:
    return answer.result.outcome == "address-refused" and not answer.pages


def test_the_good_server_is_reached(field: Field, guarded: Fetching) -> None:
    answer = guarded.get(field.good.name)
    assert (answer.result.outcome, answer.pages[0].body) == ("ok", b"good")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_seed_in_any_spelling_does_not_reach_the_canary(spelling: str, field: Field, guarded: Fetching) -> None:
    url = split(f"http://{spelling}:{field.port}/")
    if not isinstance(url, UrlRefusal):
        assert refused(guarded.get(url.server, url.path))
    assert field.untouched()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_order_that_skipped_canonicalisation_does_not_reach_the_canary(
    spelling: str, field: Field, guarded: Fetching
) -> None:
    assert refused(guarded.get(f"{spelling}:{field.port}"))
    assert field.untouched()


@pytest.mark.parametrize("way", ["link", "redirect"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_link_or_redirect_in_any_spelling_does_not_reach_the_canary(
    spelling: str, way: str, field: Field, guarded: Fetching
) -> None:
    href = f"//{spelling}:{field.port}/" if way == "link" else f"http://{spelling}:{field.port}/"
    if way == "redirect":
        field.good.target = href.encode("utf-8").decode("latin-1")
        answer = guarded.get(field.good.name)
        assert answer.result.outcome == "redirect"
        href = answer.result.location
    url = join(f"http://{field.good.name}/", href)
    if not isinstance(url, UrlRefusal):
        assert refused(guarded.get(url.server, url.path))
    assert field.untouched()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_robots_redirect_in_any_spelling_is_unreachable(spelling: str, field: Field, guarded: Fetching) -> None:
    field.good.target = f"http://{spelling}:{field.port}/robots.txt".encode().decode("latin-1")
    answer = guarded.robots(field.good.name)
    assert [rules.verdict for rules in answer.fetched.robots] == ["unreachable"]
    assert field.untouched()


@pytest.mark.parametrize("address", ANSWERS)
def test_a_name_with_a_refused_address_does_not_reach_the_canary(
    address: str, backend: str, field: Field, web: Web
) -> None:
    names = NameServer(lambda name, times: [address])
    names.open(web)
    with asking(backend, names) as fetcher:
        assert refused(fetcher.get(f"rebind.example:{field.port}"))
    names.close(web)
    assert names.asked
    assert field.untouched()


@pytest.mark.parametrize("address", ANSWERS)
@pytest.mark.parametrize("first", [True, False])
def test_of_a_good_and_a_refused_address_only_the_good_one_is_reached(
    first: bool, address: str, backend: str, field: Field, web: Web
) -> None:
    names = NameServer(lambda name, times: [address, GOOD] if first else [GOOD, address])
    names.open(web)
    with asking(backend, names) as fetcher:
        answer = fetcher.get(f"mixed.example:{field.port}")
    names.close(web)
    assert (answer.result.outcome, answer.result.address) == ("ok", GOOD)
    assert field.untouched()


@pytest.mark.parametrize("address", ANSWERS)
def test_a_name_that_changes_its_answer_does_not_reach_the_canary(
    address: str, backend: str, field: Field, web: Web
) -> None:
    # An IPv6 address from the beginning: c-ares remembers that a name has none, and would never ask for the changed one.
    names = NameServer(lambda name, times: [GOOD, "fe80::2"] if times == 0 else [address])
    names.open(web)
    with asking(backend, names) as fetcher:
        answers = [fetcher.get(f"changing.example:{field.port}") for _ in range(3)]
    names.close(web)
    assert [answer.result.outcome for answer in answers] == ["ok", "address-refused", "address-refused"]
    assert all(address in answer.result.detail for answer in answers[1:])
    assert len(names.asked) > 2
    assert field.untouched()


def test_a_name_that_does_not_exist_is_a_dns_failure_and_asked_for_once(web: Web, backend: str) -> None:
    names = NameServer(lambda name, times: None)
    names.open(web)
    with asking(backend, names) as fetcher:
        answers = [fetcher.get("nobody.example") for _ in range(3)]
    names.close(web)
    assert [answer.result.outcome for answer in answers] == ["dns"] * 3
    assert len(names.asked) <= 2


def test_a_public_address_is_refused_to_a_crawl_without_a_contact(backend: str) -> None:
    with fetching(settings(crawl__contact="", fetch__backend=backend)) as fetcher:
        answer = fetcher.run(order_of("8.8.8.8", "/"))
    assert answer.result.outcome == "address-refused"
    assert "crawl.contact" in answer.result.detail
