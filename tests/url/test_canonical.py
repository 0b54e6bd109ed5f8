"""The canonical form of URLs."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gregor.url.canonical import (
    CREDENTIALS,
    INVALID,
    SCHEME,
    TOO_LONG,
    CanonicalRules,
    Url,
    UrlRefusal,
    join,
    split,
)
from tests.url.strategies import bases, hrefs, texts

ALL_RULES = CanonicalRules(drop_session_ids=True, drop_tracking=True, sort_query=True)
rules = st.builds(
    CanonicalRules,
    max_length=st.sampled_from([30, 2048]),
    drop_session_ids=st.booleans(),
    drop_tracking=st.booleans(),
    sort_query=st.booleans(),
)


def text_of(url: Url | UrlRefusal) -> str:
    assert isinstance(url, Url), url
    return url.text


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/a#b", "http://example.com/a"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
        ("http://example.com/%7euser/%c3%a9", "http://example.com/~user/%C3%A9"),
        ("http://example.com/%2f%3F", "http://example.com/%2F%3F"),
        ("http://example.com/%%32e/x", "http://example.com/%%32e/x"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com.:8080/", "http://example.com:8080/"),
        ("http://münchen.de/ä?ö", "http://xn--mnchen-3ya.de/%C3%A4?%C3%B6"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:80/", "http://[::1]/"),
        ("http://example.com?b=1&a=2", "http://example.com/?b=1&a=2"),
        ("http://example.com/?utm_source=x&sid=1", "http://example.com/?utm_source=x&sid=1"),
        (" http://exa\tmple.com\\a\n", "http://example.com/a"),
        ("http://@example.com/", "http://example.com/"),
    ],
)
def test_one_resource_has_one_text(given_text: str, canonical: str) -> None:
    assert text_of(split(given_text)) == canonical


@pytest.mark.parametrize(
    ("given_text", "reason"),
    [
        ("", INVALID),
        ("/path", INVALID),
        ("http://", INVALID),
        ("http://./evil.example/", INVALID),
        ("http://a b/", INVALID),
        ("http://h:99999/", INVALID),
        ("http://\ud800/", INVALID),
        ("mailto:gregor@example.com", SCHEME),
        ("java\nscript:alert(1)", SCHEME),
        ("ftp://example.com/", SCHEME),
        ("data:text/html," + "x" * 200_000, SCHEME),
        ("http://user:secret@example.com/", CREDENTIALS),
        ("http://example.com/" + "x" * 2048, TOO_LONG),
        ("http://example.com/" + "x" * 200_000, TOO_LONG),
    ],
)
def test_what_cannot_be_crawled_is_refused_with_a_reason(given_text: str, reason: str) -> None:
    assert split(given_text) == UrlRefusal(reason)


def test_the_length_cap_counts_the_canonical_text() -> None:
    exactly = "http://example.com/" + "x" * 11
    assert text_of(split(exactly + "#fragment", CanonicalRules(max_length=30))) == exactly
    assert split(exactly, CanonicalRules(max_length=29)) == UrlRefusal(TOO_LONG)


def test_both_schemes_of_a_host_share_its_server_and_a_foreign_port_does_not() -> None:
    servers = [split(text) for text in ("http://h/", "https://h/", "https://h:443/", "http://h:443/", "https://h:80/")]
    assert [url.server for url in servers if isinstance(url, Url)] == ["h", "h", "h", "h:443", "h:80"]


@pytest.mark.parametrize(
    ("given_text", "canonical"),
    [
        ("http://h/a;jsessionid=12AB?x=1", "http://h/a?x=1"),
        ("http://h/a/..;JSESSIONID=1/b", "http://h/b"),
        ("http://h/?PHPSESSID=1&b=2&b=1&a", "http://h/?a&b=2&b=1"),
        ("http://h/?utm_source=x&gclid=y", "http://h/"),
        ("http://h/?utm%5Fsource=x&q=utm_source", "http://h/?q=utm_source"),
    ],
)
def test_rules_drop_and_sort_when_asked(given_text: str, canonical: str) -> None:
    assert text_of(split(given_text, ALL_RULES)) == canonical


@pytest.mark.parametrize(
    ("href", "canonical"),
    [
        ("", "https://h/a/b?c"),
        ("#x", "https://h/a/b?c"),
        ("?d", "https://h/a/b?d"),
        ("../../x", "https://h/x"),
        ("//other/y", "https://other/y"),
        ("https:z", "https://h/a/z"),
        ("http:z", "http://z/"),
    ],
)
def test_links_are_joined_as_a_browser_joins_them(href: str, canonical: str) -> None:
    assert text_of(join("https://h/a/b?c", href)) == canonical


def test_a_link_on_something_that_is_no_url_is_refused() -> None:
    assert join("no base", "x") == UrlRefusal("base")
    assert join("http://h/", "http://[") == UrlRefusal(INVALID)


@given(texts, rules)
@example("http://h/a;jsessionid=1/..;jsessionid=1/%2e;jsessionid=2/", ALL_RULES)
@example("http://%2E%2e:80/", CanonicalRules())
@example("http://h/?&&=&utm_a&", ALL_RULES)
def test_canonical_is_a_fixed_point(text: str, chosen: CanonicalRules) -> None:
    url = split(text, chosen)
    if isinstance(url, Url):
        assert split(url.text, chosen) == url
        assert url.path.startswith("/")
        assert url.text.isascii()
        assert "#" not in url.text
        assert url.server == url.server.lower()
        assert len(url.text) <= chosen.max_length


@given(bases, hrefs, rules)
def test_joining_gives_canonical_urls(base: str, href: str, chosen: CanonicalRules) -> None:
    url = join(base, href, chosen)
    if isinstance(url, Url):
        assert split(url.text, chosen) == url
