"""What one response does must not reach into the next one."""

from __future__ import annotations

import asyncio

from schemas.schedule import FetchOrder, OrderUrl
from tests.hostile import servers
from tests.hostile.test_tls import NoTls
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, fetching, order_of, settings


def bodies(fetcher: Fetching, server: Server, delay_ms: int = 0) -> list[bytes]:
    answer = fetcher.run(order_of(server.name, "/1", "/2", "/3", order={"delay_ms": delay_ms}))
    assert [result.outcome for result in answer.fetched.results] == ["ok"] * 3
    return [page.body for page in answer.pages]


def test_bytes_beyond_the_length_are_no_part_of_the_next_response(web: Web, fetcher: Fetching) -> None:
    server = servers.LongBody()
    with web.serving(server):
        assert bodies(fetcher, server) == [b"hello"] * 3


def test_an_answer_that_nobody_asked_for_is_never_taken_for_the_next_one(web: Web, fetcher: Fetching) -> None:
    server = servers.SpeaksUnasked()
    with web.serving(server):
        assert bodies(fetcher, server, delay_ms=60) == [b"true"] * 3


def test_the_body_of_a_204_is_no_part_of_the_next_response(web: Web, fetcher: Fetching) -> None:
    server = servers.NoContentWithBody()
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/1", "/2"))
    assert [result.status for result in answer.fetched.results] == [204, 204]


def test_a_request_on_a_connection_closed_meanwhile_is_repeated_once_after_the_delay(
    web: Web, fetcher: Fetching
) -> None:
    server = servers.ClosesIdle()
    with web.serving(server):
        assert bodies(fetcher, server, delay_ms=20) == [b"hello"] * 3
    # The second and third request met a connection that was closing, and went out again on a new one.
    assert [head.split()[1] for head in server.requests] == [b"/1", b"/2", b"/2", b"/3", b"/3"]


def test_a_new_connection_that_is_closed_is_not_tried_again(web: Web, fetcher: Fetching) -> None:
    server = servers.ClosesAfterRequest()
    with web.serving(server):
        assert fetcher.get(server.name).result.outcome == "disconnected"
    assert len(server.requests) == 1


class AnswersLate(servers.Answers):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.3)
        await super().serve(reader, writer)


def test_the_delay_counts_from_a_handshake_that_failed_also_when_that_had_to_wait_for_its_turn(
    web: Web, backend: str
) -> None:
    late, plain = AnswersLate(), NoTls()
    urls = (OrderUrl(path="/", scheme="https"), OrderUrl(path="/", scheme="http"))
    with web.serving(late, plain), fetching(settings(fetch__backend=backend, fetch__connections=1)) as fetcher:
        # There is one connection for both orders.
        first = fetcher.start(order_of(late.name, "/", order={"delay_ms": 500}))
        second = fetcher.start(FetchOrder(server=plain.name, lease="lease", urls=urls, delay_ms=500))
        handshake, page = fetcher.gather([first, second])[second].fetched.results
    assert (handshake.outcome, page.outcome) == ("tls", "client-error")
    assert page.started_ms - handshake.started_ms >= 500
