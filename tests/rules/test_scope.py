"""What belongs to a crawl."""

from typing import Any

import pytest

from gregor.config import Config
from gregor.config.sections import CrawlSection
from gregor.config.sections import ScopeSection as ScopeSettings
from gregor.rules.answer import ALLOWED
from gregor.rules.hosts import servers_in_scope
from gregor.rules.scope import EXCLUDE, EXTENSION, HOST, INCLUDE, PREFIX, LinkScope
from gregor.url.canonical import Url, split


def url(text: str) -> Url:
    found = split(text)
    assert isinstance(found, Url)
    return found


def scope(kind: str = "hosts", **settings: tuple[str, ...]) -> LinkScope:
    crawl = CrawlSection(seeds=("https://www.example.com/",), scope=kind)  # type: ignore[arg-type]
    return LinkScope(Config(crawl=crawl, scope=ScopeSettings(**settings)))


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("hosts", ["http://www.example.com/x"], ["http://example.com/", "http://www.example.com:81/"]),
        (
            "domains",
            ["http://a.b.example.com:81/", "http://example.com/"],
            ["http://example.org/", "http://xexample.com/"],
        ),
        ("any", ["http://anywhere.test/"], []),
    ],
)
def test_the_seeds_say_which_hosts_belong(kind: str, inside: list[str], outside: list[str]) -> None:
    assert [scope(kind).judge(url(one)) for one in inside] == [ALLOWED] * len(inside)
    assert [scope(kind).judge(url(one)) for one in outside] == [HOST] * len(outside)


def test_further_hosts_and_domains_belong_by_name() -> None:
    chosen = scope(hosts=("*.example.org", "h.test:81"), domains=("example.net",))
    for one in ("http://a.example.org:8080/", "http://h.test:81/", "http://x.y.example.net/"):
        assert chosen.judge(url(one)) == ALLOWED
    for one in ("http://example.org/", "http://h.test/", "http://example.net.evil.test/"):
        assert chosen.judge(url(one)) == HOST


def test_rules_about_the_url_come_after_those_about_the_host() -> None:
    chosen = scope(
        prefixes=("https://www.example.com/docs/",),
        include=(r"\d",),
        exclude=("[?&]sort=",),
        refuse_extensions=("zip", "tar.gz"),
    )
    base = "https://www.example.com"
    assert chosen.judge(url(f"{base}/docs/1")) == ALLOWED
    assert chosen.judge(url(f"{base}/other/1")) == PREFIX
    assert chosen.judge(url(f"{base}/docs/x")) == INCLUDE
    assert chosen.judge(url(f"{base}/docs/1?sort=up")) == EXCLUDE
    assert chosen.judge(url(f"{base}/docs/1.TAR.GZ?x")) == EXTENSION
    assert chosen.judge(url(f"{base}/docs/1.tar")) == ALLOWED


def test_a_prefix_of_a_host_is_that_host_only() -> None:
    chosen = scope("any", prefixes=("https://example.com",))
    assert chosen.judge(url("https://example.com/x")) == ALLOWED
    assert chosen.judge(url("https://example.com.evil.test/x")) == PREFIX


def test_requisites_are_refused_only_by_name() -> None:
    chosen = scope(exclude=("tracker",), refuse_extensions=("png",))
    assert chosen.judge_requisite(url("http://cdn.test/a.png")) == ALLOWED
    assert chosen.judge_requisite(url("http://tracker.test/a.png")) == EXCLUDE


def test_a_server_that_a_seed_was_redirected_to_belongs_too_and_not_its_domain() -> None:
    chosen = scope("domains")
    assert chosen.judge(url("http://www.example.org/")) == HOST
    assert chosen.with_server("www.example.org").judge(url("http://www.example.org/a")) == ALLOWED
    assert chosen.with_server("www.example.org").judge(url("http://a.example.org/")) == HOST
    assert chosen.judge(url("http://www.example.org/")) == HOST


def test_a_catastrophic_pattern_takes_no_time() -> None:
    chosen = scope(exclude=(r"(a+)+$", r"(x|x)*y", r"(.*)*z"))
    long = url("https://www.example.com/" + "a" * 2000 + "x" * 20)
    # A backtracking engine would not come back.
    assert chosen.judge(long) == ALLOWED


SERVERS = (
    "www.example.com",
    "example.com",
    "a.example.com:8080",
    "www.example.org",
    "example.net",
    "cdn.test",
    "cdn.test:81",
)


@pytest.mark.parametrize("kind", ["hosts", "domains", "any"])
@pytest.mark.parametrize("more", [{}, {"hosts": ("*.test", "cdn.test")}, {"domains": ("example.org",)}])
def test_the_frontier_counts_in_the_same_servers(kind: Any, more: dict[str, tuple[str, ...]]) -> None:
    config = Config(crawl=CrawlSection(seeds=("https://www.example.com/",), scope=kind), scope=ScopeSettings(**more))
    ours, frontiers = LinkScope(config).holds, servers_in_scope(config)
    assert {server: ours(server) for server in SERVERS} == {server: frontiers(server) for server in SERVERS}
