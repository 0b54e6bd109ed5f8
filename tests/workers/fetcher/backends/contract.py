"""What every fetch backend that connects promises (``workers/fetcher/backends/backend.py``), beyond what shows in an exchange wherever it
comes from (``exchange_contract.py``). One set of cases; each backend's test file derives from it and says its ``name``.

Here stands what shows in an exchange alone. What shows through the fetcher as well, the misbehaviour of servers, floods, certificates,
names that change their addresses, is in ``tests/hostile``, which runs with each name of the table.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence

import psutil
import pytest

from gregor.config.secrets import HIDDEN
from tests.hostile import servers
from tests.hostile.names import NameServer
from tests.hostile.servers import Answers, response
from tests.hostile.test_addresses import SPELLINGS
from tests.hostile.web import Server, Web
from tests.workers.fetcher.backends.client import Client, caps, opened, request_for
from tests.workers.fetcher.backends.exchange_contract import Answering, ExchangeContract
from workers.fetcher.addresses import AddressGuard
from workers.fetcher.skip_request import SkipRequest


class SetsCookies(Answers):
    """A redirect to itself, with a cookie to bring along."""

    bytes_ = response(b"over there", "Location: /there", "Set-Cookie: c=1", status="302 Found")


class LongHeader(Answers):
    bytes_ = response(b"hello", f"X-Long: {'v' * 1500}")


class Waits(Server):
    """Takes a request, never answers, and notes when it is hung up on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.left = asyncio.Event(), asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        self.asked.set()
        await reader.read()
        self.left.set()


class Meets(Answers):
    """Notes that somebody has connected, before anything was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.met = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.met.set()
        await super().serve(reader, writer)


class SecondThoughts(AddressGuard):
    """Passes an address once: what the peer turns out to be is another matter."""

    def __init__(self) -> None:
        super().__init__()
        self.judged: list[str] = []
        self.objection = self._once  # type: ignore[assignment]

    def _once(self, address: str) -> str | None:
        self.judged.append(address)
        return None if len(self.judged) == 1 else f"{address} is not who it was"


async def asked_of(web: Web, event: asyncio.Event) -> None:
    """Wait, in the backend's loop, for something that happens in the servers'."""
    await asyncio.to_thread(web.run, event.wait())


class Given(Answers):
    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.bytes_ = answer  # type: ignore[misc]


class BackendContract(ExchangeContract):
    """For backends that connect. Derive, and give the ``name`` that the table has for the backend."""

    @pytest.fixture(autouse=True)
    def _its_web(self, web: Web) -> None:
        self._web = web

    @contextlib.contextmanager
    def answering(self, answer: bytes) -> Iterator[Answering]:
        with self._web.serving(server := Given(answer)), opened(self.name) as client:
            yield Answering(client, server.name)

    @pytest.fixture
    def client(self) -> Iterator[Client]:
        with opened(self.name) as one:
            yield one

    # One request, one exchange

    def test_an_answer_is_told_whole(self, client: Client, web: Web) -> None:
        with web.serving(server := Answers()):
            exchange = client.get(server.name)
        assert (exchange.outcome, exchange.detail, exchange.status, exchange.reason) == ("ok", "", 200, "OK")
        assert (exchange.body, exchange.wire_bytes, exchange.truncated, exchange.undecoded) == (b"hello", 5, "", False)
        assert exchange.response_headers == (("Content-Length", "5"),)
        assert exchange.header("content-length") == "5"
        assert (exchange.address, exchange.reused) == ("127.0.0.1", False)
        assert 0 < exchange.sent_at <= exchange.answered_at <= time.monotonic()
        assert 0 <= exchange.connect_ms <= exchange.first_byte_ms <= exchange.total_ms

    def test_what_is_sent_is_what_was_asked_for_and_nothing_else(self, client: Client, web: Web) -> None:
        headers = {"User-Agent": "gregor", "X-Own": "1"}
        with web.serving(server := Answers()):
            exchange = client.get(server.name, "/a?b=%20c", headers=headers)
        lines = ["GET /a?b=%20c HTTP/1.1", f"Host: {server.name}", "User-Agent: gregor", "X-Own: 1", "", ""]
        assert server.requests == ["\r\n".join(lines).encode()]
        assert exchange.request_headers == (("Host", server.name), *headers.items())

    def test_a_hidden_header_is_sent_and_not_told(self, client: Client, web: Web) -> None:
        with web.serving(server := Answers()):
            exchange = client.get(server.name, headers={"X-Key": "secret"}, hidden=frozenset({"x-key"}))
        assert b"X-Key: secret\r\n" in server.requests[0]
        assert exchange.request_headers[-1] == ("X-Key", HIDDEN)

    def test_no_redirect_is_followed_and_no_cookie_kept(self, client: Client, web: Web) -> None:
        with web.serving(server := SetsCookies()):
            first, second = client.get(server.name, "/1"), client.get(server.name, "/2")
        assert (first.outcome, first.status, first.body, first.header("location")) == (
            "redirect", 302, b"over there", "/there",
        )  # fmt: skip
        assert second.outcome == "redirect"
        assert [head.split()[1] for head in server.requests] == [b"/1", b"/2"]
        assert not any(b"cookie" in head.lower() for head in server.requests)

    # Connections

    def test_a_connection_carries_one_request_after_the_other(self, client: Client, web: Web) -> None:
        with web.serving(server := Answers()):
            exchanges = [client.get(server.name) for _ in range(3)]
        assert [one.reused for one in exchanges] == [False, True, True]
        assert [one.address for one in exchanges] == ["127.0.0.1"] * 3
        assert server.connections == 1

    def test_a_request_that_is_lost_with_its_kept_connection_is_told_and_not_repeated(
        self, client: Client, web: Web
    ) -> None:
        with web.serving(server := servers.ClosesIdle()):
            exchanges = [client.get(server.name, f"/{number}") for number in range(2)]
        assert [(one.outcome, one.status, one.reused) for one in exchanges] == [
            ("ok", 200, False), ("disconnected", 0, True),
        ]  # fmt: skip
        assert [head.split()[1] for head in server.requests] == [b"/0", b"/1"]

    def test_sockets_busy_and_idle_stay_within_the_connections(self, web: Web) -> None:
        several = [Answers() for _ in range(5)]
        with web.serving(*several), opened(self.name, connections=2) as client:
            assert [client.get(one.name).outcome for one in several] == ["ok"] * 5
            client.run(asyncio.sleep(0))
            ports = {one.port for one in several}
            held = [one for one in psutil.Process().net_connections("tcp") if one.raddr and one.raddr.port in ports]
        assert len([one for one in held if one.status == psutil.CONN_ESTABLISHED]) <= 2

    def test_closing_leaves_no_connection_open(self, web: Web) -> None:
        class Watches(Answers):
            left = asyncio.Event()

            async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                try:
                    await super().serve(reader, writer)
                finally:
                    self.left.set()

        with web.serving(server := Watches()):
            with opened(self.name) as client:
                assert client.get(server.name).outcome == "ok"
            web.run(server.left.wait())

    # Caps, of each request by itself

    def test_each_request_has_its_own_cap_of_the_headers_also_on_a_kept_connection(
        self, client: Client, web: Web
    ) -> None:
        with web.serving(server := LongHeader()):
            exchanges = [client.get(server.name, caps=caps(header_bytes=size)) for size in (2048, 1024, 2048)]
        assert [one.outcome for one in exchanges] == ["ok", "protocol", "ok"]
        assert server.connections == 2

    @pytest.mark.parametrize("phase", ["first_byte_s", "total_s"])
    def test_nobody_is_waited_for_beyond_the_cap(self, phase: str, client: Client, web: Web) -> None:
        with web.serving(server := Waits()):
            exchange = client.get(server.name, caps=caps(**{phase: 0.2}))
        assert (exchange.outcome, exchange.status, exchange.answered_at) == ("timeout", 0, 0.0)
        assert exchange.detail
        assert exchange.total_ms >= 200

    def test_the_wait_for_ones_turn_counts_towards_no_cap(self, client: Client, web: Web) -> None:
        async def turn() -> None:
            await asyncio.sleep(2.5)

        short = caps(connect_s=2.0, first_byte_s=2.0, total_s=2.0)
        with web.serving(server := Answers()):
            assert client.get(server.name, caps=short, before_send=turn).outcome == "ok"

    # The address guard

    def test_an_address_that_is_not_allowed_is_not_connected_to(self, web: Web) -> None:
        with web.serving(server := Answers()), opened(self.name, guard=AddressGuard()) as client:
            exchange = client.get(server.name)
        assert (exchange.outcome, exchange.status, exchange.sent_at) == ("address-refused", 0, 0.0)
        assert "127.0.0.1" in exchange.detail
        assert server.connections == 0

    def test_no_spelling_of_an_address_gets_past_the_guard(self, web: Web) -> None:
        """Names in their canonical form are the caller's promise; the guard does not depend on it."""
        with web.serving(server := Answers()), opened(self.name, guard=AddressGuard(["127.0.0.2/32"])) as client:
            hasty = caps(connect_s=2.0)
            found = [client.get(f"{spelling}:{server.port}", caps=hasty) for spelling in SPELLINGS]
        assert [one.status for one in found] == [0] * len(SPELLINGS)
        assert not {one.outcome for one in found} & {"ok", "connect"}
        assert server.connections == 0

    def test_the_peer_is_judged_once_more_before_a_request_leaves(self, web: Web) -> None:
        guard = SecondThoughts()
        with web.serving(server := Answers()), opened(self.name, guard=guard) as client:
            exchange = client.get(server.name)
        assert (exchange.outcome, exchange.detail) == ("address-refused", "127.0.0.1 is not who it was")
        assert guard.judged == ["127.0.0.1", "127.0.0.1"]
        assert server.requests == []

    @pytest.mark.parametrize(
        ("server", "address"),
        [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:8080", "192.0.2.1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:8080", "2001:db8::1"),
            ("[::ffff:c000:201]:8080", "192.0.2.1"),
            ("example.org", ""),
            ("example.org:8080", ""),
            ("1.example", ""),
        ],
    )
    def test_a_server_that_is_named_by_its_address_has_it_before_its_first_request(
        self, server: str, address: str, client: Client
    ) -> None:
        assert client.backend.address_of(server) == address

    def test_the_address_of_a_name_is_known_once_it_was_asked_for(self, web: Web) -> None:
        names = NameServer(lambda name, times: ["127.0.0.1"])
        names.open(web)
        with web.serving(server := Answers()), opened(self.name, name_servers=(f"127.0.0.1:{names.port}",)) as client:
            exchange = client.get(f"known.example:{server.port}")
            assert (exchange.outcome, exchange.address) == ("ok", "127.0.0.1")
            assert client.backend.address_of("known.example") == "127.0.0.1"
        names.close(web)

    # What may be raised

    def test_ones_turn_is_waited_for_when_the_connection_stands_and_before_anything_leaves(
        self, client: Client, web: Web
    ) -> None:
        seen: list[int] = []

        async def turn() -> None:
            await asked_of(web, server.met)
            seen.append(len(server.requests))

        with web.serving(server := Meets()):
            exchange = client.get(server.name, before_send=turn)
        assert (exchange.outcome, seen, len(server.requests)) == ("ok", [0], 1)

    def test_a_request_that_is_skipped_at_the_last_moment_is_not_sent(self, client: Client, web: Web) -> None:
        async def skip() -> None:
            raise SkipRequest("cancelled", "not now")

        with web.serving(server := Answers()):
            with pytest.raises(SkipRequest, match="not now"):
                client.get(server.name, before_send=skip)
            assert client.get(server.name, "/next").outcome == "ok"
        assert [head.split()[1] for head in server.requests] == [b"/next"]

    def test_a_bug_is_an_exchange_and_not_an_exception(self, client: Client, web: Web) -> None:
        async def bug() -> None:
            raise ZeroDivisionError("a bug")

        with web.serving(server := Answers()):
            exchange = client.get(server.name, before_send=bug)
            impossible = client.get(server.name, "/\N{SNOWMAN}")
            assert client.get(server.name).outcome == "ok"
        assert (exchange.outcome, exchange.detail) == ("internal", "a bug")
        assert (impossible.status, bool(impossible.detail)) == (0, True)

    def test_a_cancelled_request_is_hung_up_on_and_ends_as_cancelled(self, client: Client, web: Web) -> None:
        async def cancelled(server: str) -> None:
            task = asyncio.create_task(client.backend.fetch(request_for(server)))
            await asked_of(web, waits.asked)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with web.serving(waits := Waits(), good := Answers()):
            client.run(cancelled(waits.name))
            assert client.get(good.name).outcome == "ok"
            web.run(waits.left.wait())

    def test_a_request_that_is_cancelled_while_it_waits_for_its_turn_is_not_sent(
        self, client: Client, web: Web
    ) -> None:
        async def cancelled(server: str) -> None:
            waiting = asyncio.Event()

            async def turn() -> None:
                waiting.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(client.backend.fetch(request_for(server, before_send=turn)))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with web.serving(server := Answers()):
            client.run(cancelled(server.name))
            assert client.get(server.name, "/next").outcome == "ok"
        assert [head.split()[1] for head in server.requests] == [b"/next"]

    def test_one_that_never_answers_is_waited_for_beside_the_others(self, client: Client, web: Web) -> None:
        async def beside() -> Sequence[str]:
            never = asyncio.create_task(client.backend.fetch(request_for(waits.name)))
            requests = [client.backend.fetch(request_for(one.name)) for one in good]
            outcomes = [one.outcome for one in await asyncio.gather(*requests)]
            assert not never.done()
            never.cancel()
            return outcomes

        good = [Answers() for _ in range(4)]
        with web.serving(waits := Waits(), *good):
            assert client.run(beside()) == ["ok"] * 4
