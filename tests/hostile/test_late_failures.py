"""A connection that fails at the moment when its time is over is a time-out, and nothing else."""

from __future__ import annotations

import asyncio
import gc

import pytest
import uvloop

from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import fetching, order_of, settings
from workers.fetcher.unheard import pass_over_late_failures

AT_ONCE = 8
TIMES_MS = range(1, 40)


class SpeaksFirst(Server):
    """Plain text before the handshake has begun."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await reader.read(10)


def test_a_handshake_that_fails_when_nobody_waits_for_it_any_more_is_not_told_to_the_log(
    web: Web, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = SpeaksFirst()
    with web.serving(server):
        for time_ms in TIMES_MS:
            # Some of these end between the connection and the end of its handshake, on any machine.
            with fetching(settings(fetch__backend=backend, fetch__connect_timeout_s=time_ms / 1000)) as fetcher:
                orders = [order_of(server.name, "/", scheme="https") for _ in range(AT_ONCE)]
                answers = fetcher.gather([fetcher.start(one) for one in orders])
            assert {one.result.outcome for one in answers.values()} <= {"tls", "connect", "timeout"}
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_a_connection_that_has_something_to_say_after_it_was_closed_is_not_told_to_the_log(
    web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    async def write_late() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(pass_over_late_failures)
        transport, protocol = await loop.create_connection(asyncio.Protocol, server.host, server.port)
        transport.abort()
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError) as caught:
            transport.write(b"a late word")
        told = {"message": "Fatal error on SSL protocol", "transport": transport, "protocol": protocol}
        for error in (caught.value, RuntimeError("something else")):
            loop.call_exception_handler({**told, "exception": error})

    with web.serving(server := SpeaksFirst()):
        uvloop.run(write_late())
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["something else"]
