"""Which lines of a robots.txt are for our agent: obeyed where other crawlers obey (RFC 9309, Google's parser, crawler-commons)."""

from __future__ import annotations

import codecs
import time

import pytest
from protego import Protego

from schemas.fetched import RobotsRules
from workers.extractor.sitemaps import robots_sitemaps
from workers.fetcher.robots import rules_of

ALL_CLOSED = "\nUser-agent: *\nDisallow: /\n"
ALL_OPEN = "\nUser-agent: *\nDisallow:\n"


def read(file: str | bytes, *, cut: bool = False) -> RobotsRules:
    return rules_of(file.encode() if isinstance(file, str) else file, cut, "gregor", "https", 0)


def allows(file: str | bytes, path: str) -> bool:
    return Protego.parse(read(file).text).can_fetch(f"https://example.org{path}", "gregor")


@pytest.mark.parametrize(
    "line",
    [
        "User-agent: gregor",
        "user-AGENT:GREGOR",
        "User-agent : gregor   # that crawler",
        "User-agent gregor",
        "Useragent: gregor",
        "User agent: gregor",
        "Useg-agent: gregor",
        "User-agent: gregor/0.1",
        "User-agent: gregor/0.1 (+https://example.org/bot)",
        "User-agent: gregor crawler",
        "User-agent: other gregor",
        "User-agent: other, gregor, another",
        "User-agent: other,gregor/2",
        "User-agent: gregor*",
        "User-agent: *gregor*",
        "User-agent: *, gregor",
    ],
)
def test_a_line_names_our_agent_by_its_token_whatever_stands_beside_it(line: str) -> None:
    assert not allows(f"{line}\nDisallow: /closed\n{ALL_OPEN}", "/closed")
    assert allows(f"{line}\nAllow: /open\n{ALL_CLOSED}", "/open")


@pytest.mark.parametrize(
    "name", ["greg", "gregor-news", "gregory", "gregor2", "mygregor", "other/gregor", "", "*bot", "not-gregor"]
)
def test_a_line_that_names_another_token_is_not_for_us(name: str) -> None:
    assert allows(f"User-agent: other\nAllow: /\nUser-agent: {name}\nDisallow: /closed\n", "/closed")


@pytest.mark.parametrize(
    "between",
    [
        "",
        "# a comment",
        "Sitemap: https://example.org/sitemap.xml",
        "Host: example.org",
        "Crawl-delay: 1",
        "Request-rate: 1/5",
        "Clean-param: sid /",
        "Unknown: whatever",
        "no colon at all",
        "User-agent:",
    ],
)
def test_only_a_rule_ends_the_agents_of_a_group(between: str) -> None:
    file = f"User-agent: gregor\n{between}\nUser-agent: other\nDisallow: /closed\n{ALL_OPEN}"
    assert not allows(file, "/closed")


@pytest.mark.parametrize("rule", ["Disallow:", "Allow:", "Disallow: /x", "Allow: /x", "disalow: /x"])
def test_a_rule_ends_the_agents_of_a_group_also_an_empty_one(rule: str) -> None:
    assert allows(f"User-agent: gregor\n{rule}\nUser-agent: other\nDisallow: /closed\n", "/closed")


def test_a_blank_line_ends_nothing() -> None:
    assert not allows(f"User-agent: gregor\n\n\nDisallow: /a\n\nDisallow: /b\n{ALL_OPEN}", "/b")


def test_groups_of_one_agent_are_one_and_come_before_those_for_everybody() -> None:
    file = f"User-agent: gregor\nDisallow: /a\nUser-agent: *\nDisallow: /c\nUser-agent: gregor/2\nDisallow: /b\n{ALL_CLOSED}"
    assert [allows(file, path) for path in ("/a", "/b", "/c", "/d")] == [False, False, True, True]


def test_groups_for_everybody_are_one() -> None:
    file = "User-agent: *\nDisallow: /a\nUser-agent: other\nDisallow: /\nUser-agent: *\nDisallow: /b\n"
    assert [allows(file, path) for path in ("/a", "/b", "/c")] == [False, False, True]


def test_our_agent_without_a_rule_of_its_own_may_fetch_everything() -> None:
    assert allows(f"{ALL_CLOSED}User-agent: gregor\n", "/x")


def test_rules_before_any_agent_are_for_nobody() -> None:
    assert allows("Disallow: /\nUser-agent: gregor\nDisallow: /a\n", "/b")


def test_a_delay_belongs_to_the_agents_that_stand_directly_above_it() -> None:
    file = "User-agent: gregor\nCrawl-delay: 10\nUser-agent: other\nCrawl-delay: 20\nUser-agent: *\nDisallow: /baz\n"
    assert read(file).crawl_delay_ms == 10_000
    assert not allows(file, "/baz"), "the rule is for all three"
    assert read("User-agent: other\nCrawl-delay: 20\nUser-agent: *\nDisallow: /baz\n").crawl_delay_ms == 0
    assert read("User-agent: other\nUser-agent: gregor\nDisallow: /\nCrawl-delay: 7\n").crawl_delay_ms == 7000


FILE = "User-agent: gregor\r\nDisallow: /closed\r\nDisallow: /ü\r\nSitemap: https://example.org/s.xml\r\n"
MEANT = ("user-agent: *\ndisallow: /closed\ndisallow: /%C3%BC\n", ["https://example.org/s.xml"])


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\n\r", "\r\r\n"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF8[:2], "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_any_end_of_line_and_any_byte_order_mark_are_read(mark: bytes, encoding: str, end: str) -> None:
    body = mark + FILE.replace("\r\n", end).encode(encoding)
    rules = read(body)
    assert (set(rules.text.split("\n")), list(rules.sitemaps)) == (set(MEANT[0].split("\n")), MEANT[1])
    assert robots_sitemaps(body) == MEANT[1]


def test_of_a_cut_file_in_utf_16_the_last_line_is_left_out() -> None:
    body = codecs.BOM_UTF16_LE + "User-agent: *\nDisallow: /a\nDisallow: /b".encode("utf-16-le")
    assert read(body[:-1], cut=True).text == "user-agent: *\ndisallow: /a\n"


@pytest.mark.parametrize("character", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_what_only_python_takes_for_an_end_of_line_is_part_of_a_path(character: str) -> None:
    file = f"User-agent: gregor\nDisallow: /a{character}b\n{ALL_OPEN}"
    assert allows(file, "/a")
    assert len(read(file).text.splitlines()) == 2


def test_rules_inside_of_a_page_are_obeyed_and_a_page_without_rules_has_none() -> None:
    page = "<!DOCTYPE html><html>\n<body>User-agent: gregor<br>\nDisallow: /closed<br>\nCrawl-delay: 10<br>\n</body></html>"
    assert (read(page).text, read(page).crawl_delay_ms) == ("user-agent: *\ndisallow: /closed\n", 10_000)
    assert read("<html>\n<title>Not found</title>\nUser-agents may not allow: this\n</html>").verdict == "allow-all"


@pytest.mark.parametrize("word", ["Disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow"])
def test_a_disallow_that_is_misspelt_is_one(word: str) -> None:
    assert not allows(f"User-agent: *\n{word}: /a\n", "/a")
    assert not allows(f"User-agent: *\n{word} /a\n", "/a")


HOSTILE = {
    "agents and rules": "User-agent: *\n" + "User-agent: a\n" * 17_000 + "Disallow: /b\n" * 17_000,
    "different agents and rules": "".join(f"User-agent: {n}\n" for n in range(17_000)) + "Disallow: /b\n" * 17_000,
    "agents in one line": "User-agent: " + "a," * 250_000 + "\nDisallow: /b\n",
    "tags that never end": "<" * 500_000,
    "tags that begin again": "<a" * 250_000,
    "white space": "User-agent: *\nDisallow:" + " " * 500_000 + "/",
    "one long word": "User-agent: *\nDisallow: /" + "*a" * 250_000,
    "colons": ":" * 500_000,
    "comments": "#" * 500_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_takes_no_longer_than_its_length(kind: str) -> None:
    began = time.process_time()
    read(HOSTILE[kind])
    took = time.process_time() - began
    began = time.process_time()
    read("User-agent: *\n" + "Disallow: /b\n" * 38_000)
    # Half a megabyte takes about as long as any other: 17,000 agents times 17,000 rules would take a thousand times as long.
    assert took < 30 * (time.process_time() - began)
