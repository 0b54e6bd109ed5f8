"""Joining all links of a page."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gregor.url.canonical import UNCAPPED_RULES, CanonicalRules, Url, UrlRefusal, join, split
from gregor.url.links import JoinedLinks, Joiner, join_many
from tests.url.strategies import bases, hrefs

PLAIN_ALPHABET = "aZ0-._~!$&()*+,;=:@%/?#'2eE\\ |^é"
plainish = st.one_of(hrefs, st.text(PLAIN_ALPHABET, max_size=14))
rules = st.sampled_from(
    [CanonicalRules(), CanonicalRules(max_length=32), CanonicalRules(drop_session_ids=True, drop_tracking=True)]
)


def joined_one_by_one(base: str, links: list[str], chosen: CanonicalRules) -> JoinedLinks:
    """The same by the parser alone, without any shortcut."""
    servers: dict[str, dict[tuple[str, str], tuple[str, str, int, int]]] = {}
    refused: dict[str, int] = {}
    for index, href in enumerate(links):
        url = join(base, href, chosen)
        if isinstance(url, UrlRefusal):
            refused[url.reason] = refused.get(url.reason, 0) + 1
            continue
        links_of_server = servers.setdefault(url.server, {})
        _, _, first, count = links_of_server.get((url.scheme, url.path), ("", "", index, 0))
        links_of_server[url.scheme, url.path] = (url.scheme, url.path, first, count + 1)
    return JoinedLinks({server: list(found.values()) for server, found in servers.items()}, refused)


def test_repeats_and_spellings_of_one_url_are_one_link_with_a_count() -> None:
    links = ["b", "c", "b#x", "./b", "/a/b", "HTTPS://EXAMPLE.com:443/a/b", "http://example.com/a/b", "mailto:x"]
    joined = join_many("https://example.com/a/", links)
    assert joined.servers == {
        "example.com": [("https", "/a/b", 0, 5), ("https", "/a/c", 1, 1), ("http", "/a/b", 6, 1)],
    }
    assert joined.refused == {"scheme": 1}


def test_links_are_grouped_by_the_server_they_lead_to() -> None:
    joined = join_many("http://a/", ["//b/1", "http://c:8080/2", "https://b/1", "3"])
    assert {server: len(links) for server, links in joined.servers.items()} == {"a": 1, "b": 2, "c:8080": 1}


@pytest.mark.parametrize("base", ["", "mailto:x", "http://user:pw@h/", "\ud800"])
def test_links_of_a_page_without_a_url_are_all_refused_and_counted(base: str) -> None:
    assert join_many(base, ["a", "a", "http://h/"]) == JoinedLinks({}, {"base": 3})
    assert join_many(base, []) == JoinedLinks({}, {})


@given(bases, st.lists(plainish, max_size=8), rules)
@example("http://h/a/b/c", ["../../../../x", "../", "..", ".../x", "a..", "a/..b", "../.x"], CanonicalRules())
@example(
    "http://h/a/b", ["x #y", "x\t#y", "#", "?#", "a:b", "a/b:c", "/a:b", "//", "///h", "//h", "/"], CanonicalRules()
)
@example("http://h/%zz/b?%", ["%41", "?%41", "a?%41", "%2E", "%2e/x", "x", "../%41"], CanonicalRules())
@example(
    "http://h/", ["http://h:80", "https://h:80?x", "http://h.:/", "http://1.2", "//xn--/", "http:x"], CanonicalRules()
)
@example("http://h/%zz/%41/c", ["x", "../x", "../../x?y", "/x"], CanonicalRules())
@example(
    "http://h/a;jsessionid=1/b",
    ["x", "../x", "x?utm_source=1&b", "x;jsessionid=2"],
    CanonicalRules(drop_session_ids=True),
)
@example("http://h/", ["x?b&a", "/x?utm_source=1"], CanonicalRules(drop_tracking=True, sort_query=True))
def test_shortcuts_agree_with_the_parser(base: str, links: list[str], chosen: CanonicalRules) -> None:
    fast, slow = join_many(base, links, chosen), joined_one_by_one(base, links, chosen)
    assert fast.refused == slow.refused
    assert {server: sorted(found) for server, found in fast.servers.items()} == {
        server: sorted(found) for server, found in slow.servers.items()
    }


@given(st.one_of(bases, st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), hrefs, plainish)))
@example("http://example.com/")
@example("https://example.com:443/a")
@example("https://example.com./a")
@example("http://u@example.com/a")
@example("http://0x7f.1/a")
@example("http://example.com/a/../b")
@example("http://example.com//a")
def test_a_page_is_where_the_parser_says(base: str) -> None:
    expected = split(base, UNCAPPED_RULES)
    assert Joiner(base).page == (expected if isinstance(expected, Url) else None)
