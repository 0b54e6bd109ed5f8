"""Whatever a server does, its URL gets a typed result within the caps, and the fetcher goes on."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from xxhash import xxh3_128_hexdigest

from tests.hostile import codings, servers
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Answer, Fetching

CAP = 65_536


class Case(NamedTuple):
    server: type[Server]
    outcome: str
    """Several with "or" where the kernel decides how far a connection comes."""
    status: int = 0
    """0: no response, and so no page."""
    truncated: str = ""
    body: bytes | None = None
    """None: anything within the cap."""


CASES = [
    Case(servers.EndlessBody, "ok", 200, "length"),
    Case(servers.EndlessInformation, "protocol"),
    Case(servers.EndlessHeaders, "protocol"),
    Case(servers.EndlessHeader, "protocol"),
    Case(servers.EndlessStatusLine, "protocol"),
    Case(servers.ManyLongHeaders, "protocol", 200, "", b""),
    Case(servers.TooManyHeaders, "protocol"),
    Case(servers.ShortBody, "disconnected", 200, "disconnect", b"only this"),
    Case(servers.LongBody, "ok", 200, "", b"hello"),
    Case(servers.NegativeLength, "protocol"),
    Case(servers.HugeLength, "protocol"),
    Case(servers.LargeLength, "disconnected", 200, "disconnect", b"hello"),
    Case(servers.WordyLength, "protocol"),
    Case(servers.TwoLengths, "protocol"),
    Case(servers.BadChunks, "protocol", 200, "disconnect"),
    Case(servers.HugeChunk, "protocol", 200, "disconnect", b""),
    Case(servers.UnfinishedChunks, "disconnected", 200, "disconnect", b"hello"),
    Case(servers.EndlessTrailers, "protocol", 200, "disconnect", b"hello"),
    Case(codings.BrokenGzip, "undecodable", 200, body=codings.BrokenGzip.body),
    Case(codings.NotGzip, "undecodable", 200, body=b"<html>not compressed at all</html>"),
    Case(codings.NotGzipMissing, "client-error", 404, body=b"<html>not found</html>"),
    Case(codings.NotGzipLong, "undecodable", 200, "length"),
    Case(codings.UnfinishedGzip, "ok", 200, "disconnect"),
    Case(codings.UnknownCoding, "ok", 200, body=b"hello"),
    Case(codings.CompressCoding, "undecodable", 200, body=b"\x1f\x9d\x90hello"),
    Case(codings.ManyCodings, "undecodable", 200, body=b"hello"),
    Case(codings.ManyMembers, "undecodable", 200, body=codings.ManyMembers.body),
    Case(codings.GzipBomb, "ok", 200, "length"),
    Case(codings.DeflateBomb, "ok", 200, "length"),
    Case(codings.BrotliBomb, "ok", 200, "length"),
    Case(codings.ZstdBomb, "ok", 200, "length"),
    Case(codings.DoubleBomb, "ok", 200, "length"),
    Case(codings.ZstdWindow, "undecodable", 200, body=codings.ZstdWindow.body),
    Case(servers.RedirectLoop, "redirect", 302, body=b""),
    Case(servers.RedirectToFile, "redirect", 302, body=b""),
    Case(servers.RedirectNowhere, "redirect", 302, body=b""),
    Case(servers.ResetsOnConnect, "connect or disconnected"),
    Case(servers.ResetsAfterRequest, "disconnected"),
    Case(servers.ResetsInHeaders, "disconnected"),
    Case(servers.ResetsInBody, "disconnected", 200, "disconnect", b"hello"),
    Case(servers.ClosesOnConnect, "disconnected"),
    Case(servers.ClosesAfterRequest, "disconnected"),
    Case(servers.NoContentWithBody, "ok", 204, "", b""),
    Case(servers.NotModifiedWithBody, "not-modified", 304, "", b""),
    Case(servers.NotHttp, "protocol"),
    Case(servers.BinaryNoise, "protocol"),
    Case(servers.StatusOutOfRange, "protocol", 999, body=b""),
    Case(servers.Upgrades, "protocol", 101, body=b""),
    Case(servers.NulInHeaders, "protocol"),
    Case(servers.InvalidBytes, "ok", 200, "", b"\xff\x00\xfe\xed"),
    Case(servers.LoneCarriageReturns, "protocol"),
    Case(servers.FoldedHeader, "ok", 200, "", b"hello"),
    Case(servers.Busy, "rate-limited", 429, body=b""),
    Case(servers.BusyUntil, "rate-limited", 429, body=b""),
    Case(servers.BusyNonsense, "rate-limited", 429, body=b""),
    Case(servers.Unavailable, "rate-limited", 503, body=b""),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.server.__name__)
def test_a_misbehaving_server_gets_its_typed_result(case: Case, web: Web, fetcher: Fetching) -> None:
    server = case.server()
    with web.serving(server):
        answer = fetcher.get(server.name)
    assert_as_expected(answer, case)
    assert answer.result.address == ("" if answer.result.outcome == "connect" else "127.0.0.1")
    assert server.connections == 1


WAITED_FOR = [
    Case(servers.NeverAccepts, "timeout"),
    Case(servers.NeverAnswers, "timeout"),
    Case(servers.SlowHeaders, "timeout"),
    Case(servers.SlowBody, "timeout", 200, "time"),
]


@pytest.mark.parametrize("case", WAITED_FOR, ids=lambda case: case.server.__name__)
def test_a_slow_server_is_waited_for_no_longer_than_the_caps_say(case: Case, web: Web, hasty: Fetching) -> None:
    server = case.server()
    with web.serving(server):
        answer = hasty.get(server.name)
    assert_as_expected(answer, case)
    assert answer.result.timings.total >= 390


def assert_as_expected(answer: Answer, case: Case) -> None:
    result = answer.result
    assert result.outcome in case.outcome.split(" or "), result
    assert result.status == case.status
    assert result.truncated == case.truncated or (case.outcome == "protocol" and not case.truncated)
    assert result.body_bytes <= CAP
    assert [page.facts.status for page in answer.pages] == ([case.status] if case.status else [])
    if result.outcome in ("protocol", "timeout", "disconnected", "undecodable"):
        assert result.detail
    for page in answer.pages:
        assert page.facts.truncated == result.truncated
        assert len(page.body) == CAP if case.truncated == "length" else len(page.body) <= CAP
        if case.body is not None:
            # How much of it arrives apart from what is wrong behind it is up to the network.
            assert case.body.startswith(page.body) if result.outcome == "protocol" else page.body == case.body


@pytest.mark.parametrize("kind", [codings.NotGzip, codings.NotGzipMissing, codings.UnfinishedGzip, codings.GzipBomb])
def test_a_page_says_whether_its_body_is_still_as_it_came(kind: type[Server], web: Web, fetcher: Fetching) -> None:
    server = kind()
    with web.serving(server):
        answer = fetcher.get(server.name)
    (page,) = answer.pages
    assert page.facts.undecoded == (kind in (codings.NotGzip, codings.NotGzipMissing))
    if page.facts.undecoded:
        assert "gzip" in answer.result.detail
        assert page.facts.digest == answer.result.digest == xxh3_128_hexdigest(page.body)


def test_an_endless_body_is_hung_up_on(web: Web, fetcher: Fetching) -> None:
    server = servers.EndlessBody()
    with web.serving(server):
        fetcher.get(server.name)
        sent = server.sent
    # What fits into socket buffers beyond the cap, and no more.
    assert sent < 32 * 1024 * 1024
