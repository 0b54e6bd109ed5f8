"""What a robots.txt says to our agent, kept in a form that means the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from gregor.rules.robots_txt import whole_escapes
from schemas.codec import LARGEST_RECORD, encode
from schemas.fetched import Fetched, RobotsRules
from workers.fetcher.backends.backend import Exchange
from workers.fetcher.robots import LONGEST_DELAY_MS, MOST_SITEMAPS, rules_of, verdict_of


def parse(text: str, *, cut: bool = False) -> RobotsRules:
    return rules_of(text.encode("utf-8", "surrogatepass"), cut, "gregor", "https", 0)


def test_only_the_group_for_our_agent_is_kept() -> None:
    rules = parse(
        "User-agent: other\nDisallow: /\n\nUser-agent: Gregor\nDisallow: /b\nAllow: /b/c\n\nUser-agent: *\nDisallow: /x\n"
    )
    assert rules.verdict == "rules"
    assert rules.text == "user-agent: *\nallow: /b/c\ndisallow: /b\n"


@pytest.mark.parametrize(
    "text", ["", "# nothing", "User-agent: *\nDisallow:\n", "User-agent: other\nDisallow: /\n", "\ufeff<html>"]
)
def test_a_file_without_rules_for_us_allows_everything(text: str) -> None:
    assert (parse(text).verdict, parse(text).text) == ("allow-all", "")


def test_delays_and_rates_are_both_honoured() -> None:
    assert parse("User-agent: *\nCrawl-delay: 2.5\n").crawl_delay_ms == 2500
    assert parse("User-agent: *\nRequest-rate: 1/10\nCrawl-delay: 1\n").crawl_delay_ms == 10_000
    assert parse("User-agent: *\nCrawl-delay: 1e300\n").crawl_delay_ms == LONGEST_DELAY_MS
    assert parse("User-agent: *\nCrawl-delay: -3\n").crawl_delay_ms == 0
    assert parse(f"User-agent: *\nRequest-rate: 1/{'9' * 400}\n").crawl_delay_ms == LONGEST_DELAY_MS
    assert parse(f"User-agent: *\nRequest-rate: {'9' * 400}/1\n").crawl_delay_ms <= 1


def test_sitemaps_are_bounded() -> None:
    lines = "\n".join(f"Sitemap: https://example.org/{number}.xml" for number in range(1000))
    assert len(parse(lines).sitemaps) == MOST_SITEMAPS
    assert parse("Sitemap: https://example.org/" + "a" * 5000).sitemaps == ()


def test_the_last_line_of_a_cut_file_is_left_out() -> None:
    assert parse("User-agent: *\nDisallow: /a\nDisallow: /", cut=True).text == "user-agent: *\ndisallow: /a\n"


def test_rules_that_grow_by_quoting_are_kept_as_far_as_two_of_them_fit_into_a_record() -> None:
    grows = b"".join(b"Disallow: /%d%b\n" % (number, b"\xff" * 2000) for number in range(250))
    rules = rules_of(b"User-agent: *\nDisallow: /private\n" + grows, False, "gregor", "https", 0)
    assert len(rules.text) > 1024 * 1024
    assert 2 * len(encode(rules)) < LARGEST_RECORD
    kept = Protego.parse(rules.text)
    assert not kept.can_fetch("https://example.org/private", "gregor")
    assert kept.can_fetch("https://example.org/open", "gregor")


PATHS = st.text("ab/*$%2e?=&#. ü", min_size=0, max_size=12)
LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(["Allow", "Disallow", "disalow"]), PATHS.map(lambda path: "/" + path)),
    st.builds("User-agent: {}".format, st.sampled_from(["*", "gregor", "GREGOR", "greg", "other", "gregor-news"])),
    st.sampled_from(["", "# comment", "Allow: /a/index.html", "Disallow: /$", "nonsense", "Sitemap: https://e.org/"]),
)


@given(st.lists(LINES, max_size=12), st.lists(PATHS, min_size=1, max_size=6))
def test_the_kept_text_answers_as_the_file_did(lines: list[str], paths: list[str]) -> None:
    text = "\n".join(["User-agent: gregor", *lines])
    # Protego takes the rule "/%" for one about "/?"; where every "%" begins an escape it knows what is meant.
    original, kept = Protego.parse(whole_escapes(text)), Protego.parse(parse(text).text)
    for path in paths:
        url = f"https://example.org/{whole_escapes(path)}"
        assert kept.can_fetch(url, "gregor") == original.can_fetch(url, "gregor")


NUMBERS = st.one_of(
    st.text("0123456789-+.e_/ smh:\u0663", max_size=20),
    st.builds(lambda digit, length: digit * length, st.sampled_from("019"), st.integers(1, 5000)),
    st.sampled_from(["inf", "nan", "1e308", "-1", "0"]),
)
FIELDS = st.sampled_from(
    ["User-agent", "Crawl-delay", "Request-rate", "Visit-time", "Sitemap", "Host", "Allow", "Disallow", "Noindex"]
)
FILES = st.lists(
    st.one_of(
        st.builds("{}: {}/{}".format, FIELDS, NUMBERS, NUMBERS).map(str.encode),
        st.builds("{}: {}".format, FIELDS, NUMBERS).map(str.encode),
        st.just(b"User-agent: *"),
        st.binary(max_size=200),
    ),
    max_size=12,
).map(b"\n".join)


@given(st.one_of(st.binary(max_size=2000), FILES), st.booleans())
def test_no_file_raises(body: bytes, cut: bool) -> None:
    for file in (body, b"User-agent: *\n" + body):
        rules = rules_of(file, cut, "gregor", "http", 0)
        assert rules.verdict in ("rules", "allow-all")
        assert 0 <= rules.crawl_delay_ms <= LONGEST_DELAY_MS
        encode(Fetched(server="a.example", lease="1", results=(), robots=(rules,)))


@pytest.mark.parametrize("status", [401, 403])
def test_denied_files_refuse_everything_where_that_is_configured(status: int) -> None:
    exchange = Exchange(outcome="client-error", status=status)
    assert verdict_of(exchange, "", "refuse") == "refuse-all"
    assert verdict_of(exchange, "", "allow") == "allow-all"
