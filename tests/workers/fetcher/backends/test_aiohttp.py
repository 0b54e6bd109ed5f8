"""The backend over aiohttp: the contract, and what it does in its own way."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import TCPConnector
from aiohttp.client_proto import ResponseHandler

from tests.hostile import floods
from tests.hostile.web import Server, Web
from tests.workers.fetcher.backends.client import Client, caps
from tests.workers.fetcher.backends.contract import BackendContract
from workers.fetcher.backends.aiohttp.handler import OneAnswerHandler


class TestAiohttp(BackendContract):
    name = "aiohttp"

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            (floods.FloodOfContinues, "more than 16 interim answers"),
            (floods.FloodOfHints, "more than 16 interim answers"),
            (floods.FloodOfBareInformation, "more than 16 interim answers"),
            (floods.FloodBeforeTheAnswer, "bytes before the end of the headers"),
            (floods.FloodOfLongHeaders, "bytes before the end of the headers"),
            (floods.FloodOfExtensions, "of the body"),
            (floods.FloodOfZeros, "of the body"),
            (floods.FloodOfCrumbs, "of the body"),
            (floods.FloodOfTrailers, "Too many headers"),
        ],
        ids=lambda value: value.__name__ if isinstance(value, type) else "",
    )
    def test_a_flood_is_told_for_what_it_is(self, kind: type[Server], said: str, client: Client, web: Web) -> None:
        with web.serving(server := kind()):
            exchange = client.get(server.name, caps=caps(header_bytes=16_384, headers=128))
        assert exchange.outcome == "protocol"
        assert said in exchange.detail


class NoWire(asyncio.Transport):
    """A connection to nobody."""

    _closing = False

    def close(self) -> None:
        self._closing = True

    def is_closing(self) -> bool:
        return self._closing


BAD_CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"


@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["alone", "behind another"])
def test_a_head_is_heard_however_the_network_cuts_it_and_the_bad_body_behind_it(before: bytes) -> None:
    answer = before + BAD_CHUNK

    async def status(cut: int) -> int:
        handler = OneAnswerHandler(asyncio.get_running_loop())
        handler.connection_made(NoWire())
        handler.expect(caps())
        handler.data_received(answer[:cut])
        handler.data_received(answer[cut:])
        message, _ = await handler.read()
        return message.code

    async def statuses() -> list[int]:
        return [await status(cut) for cut in range(1, len(answer))]

    assert set(asyncio.run(statuses())) == {200}


def test_aiohttp_still_makes_its_connections_by_the_factory_that_the_backend_replaces() -> None:
    """It has no public name. When this fails after an upgrade, look how the connector makes a ``ResponseHandler`` now: without ours,
    nobody counts what is neither head nor body."""

    async def made() -> ResponseHandler:
        connector = TCPConnector()
        try:
            return connector._factory()
        finally:
            await connector.close()

    assert isinstance(asyncio.run(made()), ResponseHandler)
