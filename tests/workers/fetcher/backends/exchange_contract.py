"""What every fetch backend promises of an exchange, wherever its answers come from. ``contract.py`` derives from it for those that connect.

A case gives the bytes of an answer, and asks for it: how the backend comes to have them is said by ``answering``.
"""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ClassVar, NamedTuple

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd

from gregor.config.secrets import HIDDEN
from tests.hostile.servers import response
from tests.workers.fetcher.backends.client import Client, caps, request_for
from tests.workers.fetcher.fetching import made_by
from workers.fetcher.skip_request import SkipRequest

TEXT = b"a body that is worth its coding " * 64
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


class Answering(NamedTuple):
    """A server that gives one answer to everything, and a backend to ask it by."""

    client: Client
    server: str


class ExchangeContract:
    """Derive, give the ``name`` that the table has for the backend, and say how it comes to answer."""

    name: ClassVar[str]

    def answering(self, answer: bytes) -> AbstractContextManager[Answering]:
        raise NotImplementedError

    def test_what_was_answered_is_told_as_it_was(self) -> None:
        with self.answering(response(b"hello", "X-Own: 1", "x-own: 2")) as (client, server):
            exchange = client.get(server)
        assert (exchange.outcome, exchange.detail, exchange.status, exchange.reason) == ("ok", "", 200, "OK")
        assert (exchange.body, exchange.wire_bytes, exchange.truncated, exchange.undecoded) == (b"hello", 5, "", False)
        assert exchange.response_headers == (("Content-Length", "5"), ("X-Own", "1"), ("x-own", "2"))
        assert exchange.header("x-own") == "1"
        assert 0 < exchange.sent_at <= exchange.answered_at <= time.monotonic()
        assert 0 <= exchange.connect_ms <= exchange.first_byte_ms <= exchange.total_ms

    def test_what_was_asked_is_told_but_for_what_is_hidden(self) -> None:
        headers = {"User-Agent": "gregor", "X-Key": "secret"}
        with self.answering(response(b"hello")) as (client, server):
            exchange = client.get(server, headers=headers, hidden=frozenset({"x-key"}))
        assert exchange.request_headers == (("Host", server), ("User-Agent", "gregor"), ("X-Key", HIDDEN))

    def test_a_redirect_is_told_and_not_followed(self) -> None:
        with self.answering(response(b"over there", "Location: /there", status="302 Found")) as (client, server):
            exchange = client.get(server)
        assert (exchange.outcome, exchange.status, exchange.body) == ("redirect", 302, b"over there")
        assert exchange.header("location") == "/there"

    @pytest.mark.parametrize(
        ("status", "outcome"),
        [("404 Not Found", "client-error"), ("500 No", "server-error"), ("429 Slow", "rate-limited")],
    )
    def test_an_error_is_an_answer(self, status: str, outcome: str) -> None:
        with self.answering(response(b"no", status=status)) as (client, server):
            exchange = client.get(server)
        assert (exchange.outcome, exchange.status, exchange.body) == (outcome, int(status[:3]), b"no")

    @pytest.mark.parametrize("coding", CODINGS)
    def test_a_coding_of_the_body_is_undone(self, coding: str) -> None:
        coded = CODINGS[coding](TEXT)
        with self.answering(response(coded, f"Content-Encoding: {coding}")) as (client, server):
            exchange = client.get(server)
        assert (exchange.outcome, exchange.body, exchange.undecoded) == ("ok", TEXT, False)
        assert exchange.wire_bytes == len(coded)

    def test_a_body_that_is_not_what_its_coding_says_is_kept_as_it_came(self) -> None:
        with self.answering(response(b"no gzip", "Content-Encoding: gzip")) as (client, server):
            exchange = client.get(server)
        assert (exchange.outcome, exchange.body, exchange.undecoded) == ("undecodable", b"no gzip", True)

    def test_chunks_are_put_together(self) -> None:
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\n\r\n"
        with self.answering(answer) as (client, server):
            assert client.get(server).body == b"hello world"

    def test_of_a_type_that_is_not_wanted_there_is_no_body(self) -> None:
        with self.answering(response(b"a picture", "Content-Type: image/png")) as (client, server):
            exchange = client.get(server, caps=caps(types=("text/html",)))
        assert (exchange.outcome, exchange.status, exchange.body) == ("type-refused", 200, b"")

    def test_every_request_has_its_own_cap_of_the_body(self) -> None:
        with self.answering(response(gzip.compress(TEXT), "Content-Encoding: gzip")) as (client, server):
            exchanges = [client.get(server, caps=caps(body_bytes=size)) for size in (65_536, 1000, 65_536)]
        assert [(len(one.body), one.truncated) for one in exchanges] == [(2048, ""), (1000, "length"), (2048, "")]

    def test_every_request_has_its_own_cap_of_the_headers(self) -> None:
        with self.answering(response(b"hello", f"X-Long: {'v' * 1500}")) as (client, server):
            exchanges = [client.get(server, caps=caps(header_bytes=size)) for size in (2048, 1024, 2048)]
        assert [one.outcome for one in exchanges] == ["ok", "protocol", "ok"]

    def test_no_more_headers_are_taken_than_the_cap_says(self) -> None:
        with self.answering(response(b"hello", *(f"X-{one}: 1" for one in range(90)))) as (client, server):
            assert client.get(server, caps=caps(headers=64)).outcome == "protocol"

    def test_a_body_that_would_grow_beyond_measure_is_refused(self) -> None:
        dense = gzip.compress(bytes(4_000_000))
        with self.answering(response(dense, "Content-Encoding: gzip")) as (client, server):
            exchange = client.get(server, caps=caps(body_bytes=4_000_000))
        assert exchange.outcome == "protocol"

    def test_waiting_for_ones_turn_is_not_counted(self) -> None:
        async def turn() -> None:
            await asyncio.sleep(0.6)

        with self.answering(response(b"hello")) as (client, server):
            short = caps(connect_s=0.5, first_byte_s=0.5, total_s=0.5)
            assert client.get(server, caps=short, before_send=turn).outcome == "ok"

    def test_who_skips_the_request_at_the_last_moment_hears_of_it_and_of_nothing_else(self) -> None:
        async def skip() -> None:
            raise SkipRequest("cancelled", "not now")

        with self.answering(response(b"hello")) as (client, server):
            with pytest.raises(SkipRequest, match="not now"):
                client.get(server, before_send=skip)
            assert client.get(server).outcome == "ok"

    def test_a_bug_of_the_caller_is_an_exchange(self) -> None:
        async def bug() -> None:
            raise ZeroDivisionError("a bug")

        with self.answering(response(b"hello")) as (client, server):
            exchange = client.get(server, before_send=bug)
            assert client.get(server).outcome == "ok"
        assert (exchange.outcome, exchange.detail, exchange.status) == ("internal", "a bug", 0)

    def test_a_cancelled_request_ends_as_cancelled(self) -> None:
        async def cancelled(client: Client, server: str) -> None:
            waiting = asyncio.Event()

            async def turn() -> None:
                waiting.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(client.backend.fetch(request_for(server, before_send=turn)))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with self.answering(response(b"hello")) as (client, server):
            client.run(cancelled(client, server))
            assert client.get(server).outcome == "ok"

    def test_one_that_was_never_opened_can_be_closed(self) -> None:
        asyncio.run(made_by(self.name)().close())
