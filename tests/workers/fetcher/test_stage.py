"""The fetcher as a stage: orders in, one result record and its pages out, once each."""

from __future__ import annotations

import asyncio
import gc
import time

import pytest
from msgspec.structs import replace

from gregor.config import ServerRule
from gregor.errors import ConfigError
from gregor.runtime.loops.contract import Received, Ticket
from gregor.runtime.transport.port import Record
from schemas.codec import encode
from schemas.control import Pause
from schemas.schedule import FetchOrder, OrderUrl
from tests.hostile.servers import Answers, Busy, NeverAnswers, RedirectLoop, response
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import PLACEMENT, Fetching, fetching, order_of, settings
from workers.fetcher.backends.aiohttp.attempt import Attempt
from workers.fetcher.backends.backend import Exchange, FetchRequest
from workers.fetcher.context import FetchContext, Running
from workers.fetcher.order import OrderRun
from workers.fetcher.stage import FetcherStage


class Echo(Server):
    """Answers with the head of the request."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await self.request(reader)
            writer.write(response(head, "Content-Type: text/plain", 'ETag: "v1"', "Last-Modified: yesterday"))
            await writer.drain()


class Blob(Answers):
    bytes_ = response(b"x" * 1_000_000)


def until_asked(server: Server) -> None:
    while not server.requests:
        time.sleep(0.005)


def test_an_order_makes_one_result_record_and_a_page_for_each_response(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    order = FetchOrder(
        server="set below",
        lease="7-1-3",
        attempt=2,
        urls=(
            OrderUrl(path="/a?b=1", scheme="http", depth=3, hops=4, seed=1, visit=2, digest="old", previous_ms=5),
            OrderUrl(path="/c", scheme="http"),
        ),
    )
    with web.serving(server):
        answer = fetcher.run(replace(order, server=server.name))
    fetched = answer.fetched
    assert (fetched.lease, fetched.attempt, fetched.worker) == ("7-1-3", 2, "worker-1")
    assert (fetched.schedule_partition, fetched.schedule_offset) == (0, 1)
    assert fetched.received_ms <= fetched.started_ms <= fetched.finished_ms
    first, second = fetched.results
    assert (first.path, first.outcome, first.status, first.depth, first.visit) == ("/a?b=1", "ok", 200, 3, 2)
    assert (first.etag, first.last_modified, first.content_type) == ('"v1"', "yesterday", "text/plain")
    assert (first.previous_digest, len(first.digest)) == ("old", 32)
    assert first.digest != second.digest
    page = answer.pages[0]
    assert page.facts.url == f"http://{server.name}/a?b=1"
    assert (page.facts.hops, page.facts.seed, page.facts.attempt, page.facts.digest) == (4, 1, 2, first.digest)
    assert (page.facts.previous_digest, page.facts.previous_ms) == ("old", 5)
    assert ("ETag", '"v1"') in page.facts.response_headers
    assert page.body == server.requests[0]
    assert server.connections == 1


def test_a_fetcher_that_leaves_finishes_what_it_asked_for_and_gives_the_rest_back(web: Web) -> None:
    server = Echo()
    with web.serving(server), fetching(settings()) as fetcher:
        begun = fetcher.start(order_of(server.name, "/a", "/b", "/c", order={"delay_ms": 3_600_000}))
        until_asked(server)
        fetcher.stage.leave()
        assert fetcher.stage.room() == 0, "it takes no more orders"
        late = fetcher.start(order_of(server.name, "/d"))
        answers = fetcher.gather([begun, late])
    assert [one.outcome for one in answers[begun].fetched.results] == ["ok", "cancelled", "cancelled"]
    assert [page.facts.path for page in answers[begun].pages] == ["/a"], "an hour early, and nothing is lost"
    assert [one.outcome for one in answers[late].fetched.results] == ["cancelled"]
    assert "leaving" in answers[late].fetched.results[0].detail
    assert len(server.requests) == 1


def test_a_request_names_the_crawler_its_contact_and_the_validators(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        answer = fetcher.get(
            server.name, "/x", etag='"e"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT", cookies="a=b"
        )
    lines = answer.pages[0].body.decode().split("\r\n")
    assert lines[0] == "GET /x HTTP/1.1"
    assert f"Host: {server.name}" in lines
    assert "User-Agent: gregor (+https://example.org/bot)" in lines
    assert 'If-None-Match: "e"' in lines
    assert "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT" in lines
    assert "Cookie: a=b" in lines
    assert "Accept-Encoding: gzip, deflate, br, zstd" in lines
    sent = [f"{name}: {value}" for name, value in answer.pages[0].facts.request_headers]
    assert sent == lines[1:-2]


@pytest.mark.parametrize("field", ["etag", "last_modified", "cookies"])
def test_a_validator_with_a_line_break_is_not_sent(field: str, web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        answer = fetcher.get(server.name, "/", **{field: "a\r\nX-Injected: yes"})
    assert b"Injected" not in answer.pages[0].body


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX-Injected: yes", "/\0", "/ü", "no-slash", ""])
def test_a_path_that_no_request_line_may_have_is_refused(path: str, web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        answer = fetcher.get(server.name, path)
    assert (answer.result.outcome, answer.pages) == ("protocol", [])
    assert server.connections == 0


def test_a_server_s_own_headers_go_to_it_alone_and_secrets_stay_out_of_the_records(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    server, other = Echo(), Echo()
    other.host = "127.0.0.3"
    rule = ServerRule(match="127.0.0.1", headers={"Authorization": "env:TOKEN", "X-Plain": "shown"})
    with web.serving(server, other), fetching(replace(settings(), server=(rule,))) as fetcher:
        own, others = fetcher.get(server.name), fetcher.get(other.name)
    assert b"Authorization: hunter2\r\nX-Plain: shown" in server.requests[0]
    assert ("Authorization", "***") in own.pages[0].facts.request_headers
    assert ("X-Plain", "shown") in own.pages[0].facts.request_headers
    assert b"hunter2" not in other.requests[0]
    assert others.result.outcome == "ok"


def test_no_request_starts_after_the_deadline(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    soon = time.time_ns() // 1_000_000 + 1100
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/1", "/2", "/3", order={"delay_ms": 600, "deadline_ms": soon}))
        late = fetcher.run(order_of(server.name, "/4", order={"deadline_ms": 1}))
    assert [result.outcome for result in answer.fetched.results] == ["ok", "ok", "expired"]
    assert late.result.outcome == "expired"
    assert late.result.started_ms == 0
    assert len(server.requests) == 2


def test_a_request_that_could_start_only_after_the_deadline_is_not_waited_for(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    # Whoever shares an address with so long a delay would be sent away.
    server.host = "127.0.8.1"
    long = {"delay_ms": 300_000}
    soon = time.time_ns() // 1_000_000 + 60_000
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/1", "/2", "/3", order={**long, "deadline_ms": soon}))
        late = fetcher.run(order_of(server.name, "/4", "/5", "/6", order={**long, "deadline_ms": 1}))
    assert [result.outcome for result in answer.fetched.results] == ["ok", "expired", "expired"]
    assert [result.outcome for result in late.fetched.results] == ["expired", "expired", "expired"]
    assert len(server.requests) == 1


DAY_MS = 24 * 3_600_000


def test_a_delay_of_a_day_is_not_waited_for_in_the_fetcher(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    server.host = "127.0.8.2"
    with web.serving(server):
        order = order_of(server.name, "/1", "/2", order={"delay_ms": DAY_MS})
        answer = fetcher.run(order)
        again = fetcher.run(order, redelivered=True)
    assert [result.outcome for result in answer.fetched.results] == ["ok", "cancelled"]
    assert [result.outcome for result in again.fetched.results] == ["cancelled", "cancelled"]
    assert len(server.requests) == 1


def test_a_redirect_of_robots_txt_is_not_followed_when_the_delay_is_a_day(web: Web, fetcher: Fetching) -> None:
    server = RedirectLoop()
    server.host = "127.0.8.3"
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/robots.txt", kind="robots", order={"delay_ms": DAY_MS}))
    assert [rules.verdict for rules in answer.fetched.robots] == ["unreachable"]
    assert "too long" in answer.result.detail
    assert len(server.requests) == len(answer.pages) == 1


def test_orders_that_do_not_fit_into_the_line_for_their_address_are_given_back() -> None:
    class Shared:
        """All servers have one address."""

        async def open(self) -> None: ...

        async def close(self) -> None: ...

        def address_of(self, server: str) -> str:
            return "192.0.2.1"

        async def fetch(self, request: FetchRequest) -> Exchange:
            return Exchange(outcome="ok", status=200)

    with fetching(settings(), port=Shared) as fetcher:
        orders = [order_of(f"{name}.example", "/1", "/2", order={"delay_ms": 60_000}) for name in "abcd"]
        assert fetcher.run(replace(orders[0], urls=orders[0].urls[:1])).result.outcome == "ok"
        # Their turns are 7.5 and 15 seconds away.
        waiting = [fetcher.start(order) for order in orders[1:3]]
        answer = fetcher.run(orders[3])
        fetcher.stage.cancel(waiting)
    assert [result.outcome for result in answer.fetched.results] == ["cancelled", "cancelled"]
    assert answer.fetched.results[0].retry_after_ms >= 1000


def test_after_a_429_the_order_s_other_urls_are_given_back(web: Web, fetcher: Fetching) -> None:
    server = Busy()
    with web.serving(server):
        answer = fetcher.run(order_of(server.name, "/1", "/2", "/3"))
    assert [result.outcome for result in answer.fetched.results] == ["rate-limited", "cancelled", "cancelled"]
    assert answer.fetched.results[0].retry_after_ms == 120_000
    assert len(server.requests) == 1


def test_a_server_that_is_not_reached_is_not_tried_again_in_the_same_order(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        pass
    answer = fetcher.run(order_of(server.name, "/1", "/2"))
    assert [result.outcome for result in answer.fetched.results] == ["connect", "cancelled"]


def test_a_cancelled_order_is_never_heard_of_again(web: Web, fetcher: Fetching) -> None:
    slow, quick = NeverAnswers(), Echo()
    with web.serving(slow, quick):
        ticket = fetcher.start(order_of(slow.name, "/"))
        until_asked(slow)
        fetcher.stage.cancel([ticket])
        assert fetcher.get(quick.name).result.outcome == "ok"
        assert fetcher.stage.finished() == []


def test_an_order_cancelled_and_started_again_is_answered_once(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    ticket = Ticket(5, 1)
    with web.serving(server):
        order = order_of(server.name, "/")
        fetcher.stage.start(ticket, order, False)
        until_asked(server)
        time.sleep(0.05)
        # Its result waits to be gathered, but belongs to an assignment that is gone.
        fetcher.stage.cancel([ticket])
        fetcher.stage.start(ticket, order, False)
        answers = fetcher.gather([ticket])
    assert len(answers) == 1
    assert len(server.requests) == 2


def test_a_bug_in_one_order_is_its_result_and_stops_no_other() -> None:
    class Buggy:
        async def open(self) -> None: ...

        async def close(self) -> None: ...

        def address_of(self, server: str) -> str:
            return ""

        async def fetch(self, request: FetchRequest) -> Exchange:
            if request.path == "/bug":
                raise ZeroDivisionError("a bug")
            return Exchange(outcome="ok", status=200)

    with fetching(settings(), port=Buggy) as fetcher:
        bad = fetcher.start(order_of("example.org", "/bug"))
        good = fetcher.start(order_of("example.org", "/good"))
        answers = fetcher.gather([bad, good])
    assert (answers[bad].result.outcome, answers[bad].pages) == ("internal", [])
    assert "a bug" in answers[bad].result.detail
    assert answers[good].result.outcome == "ok"


def test_a_loop_that_was_silent_for_half_its_session_makes_no_request_until_it_is_heard(web: Web) -> None:
    server = Echo()
    with web.serving(server), fetching(settings(kafka__session_timeout_s=1.0)) as fetcher:
        fetcher.get(server.name, "/before")
        time.sleep(0.6)
        ticket = fetcher.start(order_of(server.name, "/after"))
        fetcher.stage.room()
        time.sleep(0.3)
        assert len(server.requests) == 1
        fetcher.gather([ticket])
    assert len(server.requests) == 2


def test_a_paused_server_is_asked_nothing_more(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        ticket = fetcher.start(order_of(server.name, "/1", "/2", order={"delay_ms": 300}))
        until_asked(server)
        fetcher.stage.on_broadcast([_control(Pause(paused=True, server=server.name))])
        answer = fetcher.gather([ticket])[ticket]
        fetcher.stage.on_broadcast([_control(Pause(paused=False, server=server.name))])
        assert fetcher.get(server.name, "/3").result.outcome == "ok"
    assert [result.outcome for result in answer.fetched.results] == ["ok", "cancelled"]


def _control(pause: Pause) -> Received:
    record = Record("control", 0, 0, None, encode(pause), None, 0)
    return Received(record, pause)


def test_bodies_in_memory_are_bounded_and_orders_end_early_for_it(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.fetcher.context.MEMORY_BYTES", 3_000_000)
    server = Blob()
    with web.serving(server), fetching(settings()) as fetcher:
        orders = [order_of(server.name, *(f"/{number}" for number in range(4))) for _ in range(3)]
        tickets = [fetcher.start(order) for order in orders]
        while len(fetcher.stage._done) < len(orders):
            # Nobody gathers them, so that no room is made meanwhile.
            time.sleep(0.005)
        assert fetcher.stage.room() == 0
        answers = fetcher.gather(tickets)
        assert fetcher.stage.room() > 0
    outcomes = [result.outcome for answer in answers.values() for result in answer.fetched.results]
    assert set(outcomes) == {"ok", "cancelled"}
    # Each of the three may have been one request further than the bound when it was met.
    assert 4 <= outcomes.count("ok") <= 6


def test_an_order_that_waited_for_memory_beyond_its_deadline_asks_nothing(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.fetcher.context.MEMORY_BYTES", 500_000)
    server = Blob()
    with web.serving(server), fetching(settings()) as fetcher:
        first = fetcher.start(order_of(server.name, "/1"))
        while fetcher.stage.room():
            time.sleep(0.005)
        soon = time.time_ns() // 1_000_000 + 500
        second = fetcher.start(order_of(server.name, "/2", order={"deadline_ms": soon}))
        time.sleep(0.8)
        answers = fetcher.gather([first, second])
    assert answers[second].result.outcome == "expired"
    assert len(server.requests) == 1


def test_an_order_that_is_cancelled_between_requests_has_no_result() -> None:
    order = order_of("example.org", "/1", "/2", "/3")
    running = Running(Ticket(0, 1), order, False)

    class Cancelling:
        """While it answers, the order's partition goes away."""

        async def open(self) -> None: ...

        async def close(self) -> None: ...

        def address_of(self, server: str) -> str:
            return ""

        async def fetch(self, request: FetchRequest) -> Exchange:
            running.cancelled = True
            return Exchange(outcome="ok", status=200)

    async def story() -> None:
        with pytest.raises(asyncio.CancelledError):
            await OrderRun(running, FetchContext(settings(), PLACEMENT, "worker-1", Cancelling())).pages()

    asyncio.run(story())


def test_what_a_request_leaves_behind_needs_no_garbage_collector(web: Web, fetcher: Fetching) -> None:
    server = Echo()
    with web.serving(server):
        gc.collect()
        gc.disable()
        try:
            fetcher.run(order_of(server.name, *(f"/{number}" for number in range(20))))
            left = [one for one in gc.get_objects() if isinstance(one, Attempt) and one.request.server == server.name]
            # A connection remembers the request that it was made for, a task its last one.
            assert len(left) <= 2
            assert [one.reader for one in left] == [None] * len(left)
        finally:
            gc.enable()


def test_types_that_are_not_wanted_are_refused_by_their_header(web: Web) -> None:
    class Image(Answers):
        bytes_ = response(b"\x89PNG" * 1000, "Content-Type: image/png")

    class Html(Answers):
        bytes_ = response(b"<html>", "Content-Type: Text/HTML; charset=x")

    image, html = Image(), Html()
    with web.serving(image, html), fetching(settings(fetch__types=["Text/*"])) as fetcher:
        refused, kept, robots = fetcher.get(image.name), fetcher.get(html.name), fetcher.robots(image.name)
    assert (refused.result.outcome, refused.result.content_type, refused.pages[0].body) == (
        "type-refused",
        "image/png",
        b"",
    )
    assert "image/png" in refused.result.detail
    assert kept.result.outcome == "ok"
    assert kept.pages[0].body == b"<html>"
    assert robots.result.outcome == "ok", "robots.txt is read whatever its type"


def test_more_connections_than_files_is_explained() -> None:
    with pytest.raises(ConfigError, match="open files"):
        FetcherStage(settings(fetch__connections=65_536), PLACEMENT)
