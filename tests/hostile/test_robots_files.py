"""robots.txt as servers really send it."""

from __future__ import annotations

import pytest

from tests.hostile import codings, servers
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Answer, Fetching

MAX = 500 * 1024


def rules(answer: Answer) -> tuple[str, str]:
    (only,) = answer.fetched.robots
    return only.verdict, only.text


def robots(web: Web, fetcher: Fetching, server: Server) -> Answer:
    with web.serving(server):
        return fetcher.robots(server.name)


class LoopingRobots(servers.Answers):
    bytes_ = servers.response(b"", "Location: /robots.txt", status="301 Moved Permanently")


class RawRobots(servers.Answers):
    """The bytes of UTF-8 as they are, which HTTP has no words for."""

    bytes_ = servers.response(b"", "Location: /r\xc3\xb6bots.txt", status="301 Moved Permanently")


class MissingRobots(servers.Answers):
    bytes_ = servers.response(b"gone", status="404 Not Found")


class ForbiddenRobots(servers.Answers):
    bytes_ = servers.response(b"", status="403 Forbidden")


class BrokenRobots(servers.Answers):
    bytes_ = servers.response(b"", status="500 Internal Server Error")


class NotReallyCodedRobots(servers.Answers):
    bytes_ = servers.response(b"User-agent: *\nDisallow: /secret\n", "Content-Encoding: utf-8")


def test_a_file_whose_content_coding_is_none_is_read_as_it_is(web: Web, fetcher: Fetching) -> None:
    answer = robots(web, fetcher, NotReallyCodedRobots())
    assert rules(answer) == ("rules", "user-agent: *\ndisallow: /secret\n")
    assert "'utf-8' is no content coding" in answer.result.detail
    assert ("Content-Encoding", "utf-8") in answer.pages[0].facts.response_headers


def test_html_in_its_place_allows_everything(web: Web, fetcher: Fetching) -> None:
    answer = robots(web, fetcher, servers.HtmlRobots())
    assert rules(answer) == ("allow-all", "")
    assert answer.pages[0].facts.kind == "robots"


def test_of_ten_megabytes_the_first_500_kib_are_read(web: Web, fetcher: Fetching) -> None:
    answer = robots(web, fetcher, servers.HugeRobots())
    verdict, text = rules(answer)
    assert verdict == "rules"
    assert "disallow: /private\n" in text
    assert (answer.result.truncated, len(answer.pages[0].body)) == ("length", MAX)


def test_binary_noise_around_rules_is_survived(web: Web, fetcher: Fetching) -> None:
    verdict, text = rules(robots(web, fetcher, servers.BinaryRobots()))
    assert verdict == "rules"
    assert "disallow: /secret" in text


def test_redirects_without_end_are_followed_five_times_and_then_allow(web: Web, fetcher: Fetching) -> None:
    server = LoopingRobots()
    answer = robots(web, fetcher, server)
    assert rules(answer)[0] == "allow-all"
    assert "more than 5 redirects" in answer.result.detail
    assert len(server.requests) == len(answer.pages) == 6


def test_a_redirect_in_raw_utf_8_leads_where_browsers_go(web: Web, fetcher: Fetching) -> None:
    answer = robots(web, fetcher, RawRobots())
    assert [page.facts.path for page in answer.pages][:2] == ["/robots.txt", "/r%C3%B6bots.txt"]


def test_a_redirect_to_another_scheme_is_unreachable(web: Web, fetcher: Fetching) -> None:
    answer = robots(web, fetcher, servers.RedirectToFile())
    assert rules(answer)[0] == "unreachable"
    assert "scheme" in answer.result.detail


@pytest.mark.parametrize(
    ("server", "verdict"),
    [
        (MissingRobots, "allow-all"),
        (ForbiddenRobots, "allow-all"),
        (BrokenRobots, "unreachable"),
        (servers.Busy, "unreachable"),
        (servers.Unavailable, "unreachable"),
        (servers.ClosesAfterRequest, "unreachable"),
        (servers.ShortBody, "unreachable"),
        (codings.BrokenGzip, "unreachable"),
        (codings.CompressCoding, "unreachable"),
    ],
)
def test_a_file_that_was_not_delivered_means_what_rfc_9309_says(
    server: type[Server], verdict: str, web: Web, fetcher: Fetching
) -> None:
    assert rules(robots(web, fetcher, server()))[0] == verdict
