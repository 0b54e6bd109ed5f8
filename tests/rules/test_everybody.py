"""One table of URLs and settings, put to everybody who judges them: the extractor, the frontier, explain, replay, seeds."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gregor.cli.crawl_plan import plan_of
from gregor.config import Config
from gregor.config.sections import CrawlSection, ScopeSection, UrlSection
from gregor.inspect.explain.story import Discovery
from gregor.url.canonical import Url, split
from tests.rules import askers
from tests.streams.frontier.rig import configure

# fmt: off
FORMS: list[tuple[str, dict[str, Any], str]] = [
    # URL, [url], its canonical form or the reason why there is none
    ("http://Example.COM", {}, "http://example.com/"),
    ("http://example.com./a", {}, "http://example.com/a"),
    ("http://example.com.:81/a", {}, "http://example.com:81/a"),
    ("http://example.com:80/", {}, "http://example.com/"),
    ("https://example.com:443/", {}, "https://example.com/"),
    ("http://example.com:443/", {}, "http://example.com:443/"),
    ("http://bücher.example/ü", {}, "http://xn--bcher-kva.example/%C3%BC"),
    ("http://2130706433/", {}, "http://127.0.0.1/"),
    ("http://0x7f.1:81/", {}, "http://127.0.0.1:81/"),
    ("http://[0:0:0:0:0:0:0:1]/", {}, "http://[::1]/"),
    ("http://[::1]:8080/", {}, "http://[::1]:8080/"),
    ("http://[::ffff:127.0.0.1]/", {}, "http://[::ffff:7f00:1]/"),
    ("http://example.com/%7euser/../a#b", {}, "http://example.com/a"),
    ("http://example.com/?b=1&a=2", {"sort_query": True}, "http://example.com/?a=2&b=1"),
    ("http://example.com/?utm_source=x", {"drop_tracking": True}, "http://example.com/"),
    ("http://example.com/?PHPSESSID=x", {"drop_session_ids": True}, "http://example.com/"),
    ("http://user@example.com/", {}, "credentials"),
    ("http://user:word@[::1]:81/", {}, "credentials"),
    ("ftp://example.com/", {}, "scheme"),
    ("http://[::1/", {}, "invalid"),
    ("http://example.com:99999/", {}, "invalid"),
    ("http://1.2.3.256/", {}, "invalid"),
    ("http://example.com/" + "a" * 300, {"max_length": 300}, "too-long"),
]
SCOPES: list[tuple[dict[str, Any], str, str]] = [
    # [scope], URL, why it is refused
    ({}, "http://seed.test/a", ""),
    ({}, "https://seed.test/a", ""),
    ({}, "http://seed.test./a", ""),
    ({}, "http://seed.test:81/a", "scope-host"),
    ({}, "http://www.seed.test/a", "scope-host"),
    ({}, "http://seed.test.evil.test/", "scope-host"),
    ({"hosts": ("[::1]",)}, "http://[::1]:8080/", ""),
    ({"hosts": ("[::1]:8080",)}, "http://[::1]/", "scope-host"),
    ({"hosts": ("127.0.0.1:81",)}, "http://127.0.0.1:81/", ""),
    ({"hosts": ("127.0.0.1:81",)}, "http://127.0.0.1/", "scope-host"),
    ({"hosts": ("*.b.test",)}, "http://a.b.test:81/", ""),
    ({"hosts": ("xn--bcher-kva.example",)}, "http://bücher.example/", ""),
    ({"domains": ("b.test",)}, "http://x.y.b.test/", ""),
    ({"domains": ("b.test",)}, "http://xb.test/", "scope-host"),
    ({"prefixes": ("http://seed.test/docs/",)}, "http://seed.test/docs/a", ""),
    ({"prefixes": ("http://SEED.test:80/docs/",)}, "http://seed.test./docs/a", ""),
    ({"prefixes": ("http://seed.test/docs/",)}, "https://seed.test/docs/a", "scope-prefix"),
    ({"prefixes": ("http://seed.test/docs/",)}, "http://seed.test/a", "scope-prefix"),
    ({"prefixes": ("http://seed.test/docs/",)}, "http://evil.test/docs/", "scope-host"),
    ({"include": (r"/\d+$",)}, "http://seed.test/12", ""),
    ({"include": (r"/\d+$",)}, "http://seed.test/a", "scope-include"),
    ({"exclude": ("[?&]sort=",)}, "http://seed.test/?sort=up", "scope-exclude"),
    ({"exclude": ("[?&]sort=",)}, "http://seed.test/sort=up", ""),
    ({"refuse_extensions": ("zip", "tar.gz")}, "http://seed.test/a.ZIP?b", "extension"),
    ({"refuse_extensions": ("zip", "tar.gz")}, "http://seed.test/a.tar.gz", "extension"),
    ({"refuse_extensions": ("zip", "tar.gz")}, "http://seed.test/a?b.zip", ""),
    ({"include": ("x",), "exclude": ("y",), "refuse_extensions": ("zip",)}, "http://seed.test/y.zip", "scope-include"),
    ({"include": ("x",), "exclude": ("y",), "refuse_extensions": ("zip",)}, "http://seed.test/xy.zip", "scope-exclude"),
    ({"include": ("x",), "exclude": ("y",), "refuse_extensions": ("zip",)}, "http://seed.test/x.zip", "extension"),
]
WAYS: list[tuple[dict[str, dict[str, Any]], dict[str, Any], str]] = [
    # configuration, way, why it is refused
    ({}, {"depth": 1000, "hops": 100, "off_site": 20}, ""),
    ({"crawl": {"max_depth": 3}}, {"depth": 3}, ""),
    ({"crawl": {"max_depth": 3}}, {"depth": 4}, "depth"),
    ({"crawl": {"max_depth": 3}}, {"depth": 4, "kind": "redirect"}, "depth"),
    ({"crawl": {"max_hops": 3}}, {"hops": 3}, ""),
    ({"crawl": {"max_hops": 3}}, {"hops": 4}, "hops"),
    ({"crawl": {"max_hops": 0}}, {"hops": 4000}, ""),
    ({"crawl": {"max_hops": 3}}, {"hops": 4, "kind": "requisite"}, "hops"),
    ({"frontier": {"max_off_site": 3}}, {"off_site": 3}, ""),
    ({"frontier": {"max_off_site": 3}}, {"off_site": 4}, "off-site"),
    ({"frontier": {"max_off_site": 0}}, {"off_site": 4000}, ""),
    ({}, {"redirects": 5, "kind": "redirect"}, ""),
    ({}, {"redirects": 6, "kind": "redirect"}, "redirects"),
    ({"frontier": {"max_redirects": 0}}, {"redirects": 1, "kind": "redirect"}, "redirects"),
    ({"frontier": {"max_redirects": 0}}, {}, ""),
    ({"crawl": {"follow_links": False}}, {}, "not-followed"),
    ({"crawl": {"follow_links": False}}, {"kind": "refresh"}, "not-followed"),
    ({"crawl": {"follow_links": False}}, {"kind": "redirect", "redirects": 1}, ""),
    ({"crawl": {"follow_links": False}}, {"kind": "requisite"}, ""),
    ({"crawl": {"follow_links": False, "max_depth": 3}}, {"depth": 4}, "not-followed"),
    ({"crawl": {"max_depth": 3, "max_hops": 3}}, {"depth": 4, "hops": 4}, "depth"),
    ({"crawl": {"max_depth": 3}, "server": {"rules": [{"match": "seed.test", "max_depth": 9}]}}, {"depth": 9}, ""),
    ({"crawl": {"max_depth": 3}, "server": {"rules": [{"match": "seed.test", "max_depth": 9}]}}, {"depth": 10}, "depth"),
    ({"crawl": {"max_depth": 3}, "server": {"rules": [{"match": "seed.test", "max_depth": 0}]}}, {"depth": 99}, ""),
    ({"crawl": {"max_depth": 3}, "server": {"rules": [{"match": "b.test", "max_depth": 9}]}}, {"depth": 4}, "depth"),
]
# fmt: on


def canonical(text: str) -> Url:
    url = split(text)
    assert isinstance(url, Url)
    return url


@pytest.mark.parametrize(("text", "settings", "form"), FORMS)
def test_everybody_has_the_same_canonical_form(text: str, settings: dict[str, Any], form: str, tmp_path: Path) -> None:
    config = Config(crawl=CrawlSection(scope="any", contact="mailto:a@b.test"), url=UrlSection(**settings))
    answers = {
        "seeds": askers.seed_form(config, text),
        "a link": askers.link_form(config, text),
        "explain": askers.explain_form(config, text),
    }
    if "://" in form:
        planned = replace(config, crawl=replace(config.crawl, seeds=(text,)))
        (answers["--dry-run"],) = plan_of(planned, tmp_path / "crawl").seeds
    assert answers == dict.fromkeys(answers, form)


@pytest.mark.parametrize(("settings", "text", "reason"), SCOPES)
def test_everybody_refuses_the_same_links(settings: dict[str, Any], text: str, reason: str) -> None:
    config = Config(crawl=CrawlSection(seeds=("http://seed.test/",)), scope=ScopeSection(**settings))
    url = canonical(text)
    answers = {
        "extractor": askers.extractor_scope(config, url),
        "explain": askers.explain_scope(config, url),
        "replay": askers.replay_scope(config, url),
    }
    assert answers == dict.fromkeys(answers, reason)
    assert askers.frontier_scope(config, url) == ("scope" if reason == "scope-host" else "")


@pytest.mark.parametrize(("sections", "facts", "reason"), WAYS)
def test_everybody_has_the_same_limits(sections: dict[str, Any], facts: dict[str, Any], reason: str) -> None:
    config, url = configure(**sections), canonical("http://seed.test/x")
    way = Discovery(**{"offset": 0, "kind": "link", "depth": 2, "hops": 1, **facts})
    answers = {"frontier": askers.frontier_way(config, url, way), "explain": askers.explain_way(config, url, way)}
    assert answers == dict.fromkeys(answers, reason)
    assert askers.extractor_way(config, url, way) == (not reason)
