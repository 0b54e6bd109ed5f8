"""The native reader beside lexbor's tree and Python's own URLs: it finds what the tree holds, joins and hashes as Python does."""

import time
from html.entities import html5

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gregor.errors import GregorError
from gregor.url.canonical import CanonicalRules, Url, UrlRefusal
from gregor.url.fingerprint import fingerprints, server_hash
from gregor.url.links import Joiner
from infra.documentation import SITES, pages
from tests.fuzz.tokens import HTML
from workers.extractor import python_reader, readers
from workers.extractor.charset import decode
from workers.extractor.page_links import ExtractLimits, PageLinks

if not readers.NATIVE_VERSION:
    pytest.skip("the native reader was not built here: cargo is missing", allow_module_level=True)

from workers.extractor import native_reader

URL = "http://h.example/a/b?c"
UTF_8 = "text/html; charset=utf-8"
LIMITS = ExtractLimits()
ALL = ExtractLimits(requisites=True)
PIECES = st.sampled_from(HTML)


def native(body: bytes, content_type: str = UTF_8, limits: ExtractLimits = LIMITS, url: str = URL) -> PageLinks:
    return native_reader.read(body, content_type, url, limits)


def in_the_tree(body: bytes, content_type: str = UTF_8, limits: ExtractLimits = LIMITS, url: str = URL) -> PageLinks:
    page = decode(body, content_type)
    return python_reader.read_tree(page.utf8, page.charset, url, limits)


def links(page: PageLinks) -> set[tuple[str, str, int]]:
    return {(link.kind, link.href, link.rel) for link in page.links}


def without_drawings(pieces: list[str]) -> bool:
    """Of which title and base are those of the page, that only a tree with namespaces could tell."""
    return not any(one.startswith(("<svg", "<math")) for one in pieces)


@given(st.lists(PIECES, max_size=12))
@settings(max_examples=1500)
@example(["<plaintext>", "<a href=1>"])
@example(["<template>", "<tr>", "<table>", "<tr>", "<area href=15>"])
@example(["<svg>", "<p>", "</svg>", "<script>", "<a href=1>"])
@example(["<div>", "<svg>", "</div>", "<title>", "<a href=1>", "</title>"])
@example(["<a href=1>", "<frameset>", "<frame src=f>", "<a href=1>"])
@example(["<table>", "<colgroup>", "<template>", "<a href=1>", "</template>", "<a href=6>"])
@example(["<script>", "<!--", "<script>", "</script>", "<a href=1>", "</script>", "<a href=6>"])
def test_any_pieces_of_html_have_the_links_of_their_tree(pieces: list[str]) -> None:
    body = "".join(pieces).encode("utf-8", "replace")
    ours, tree = native(body), in_the_tree(body)
    assert links(ours) == links(tree)
    assert ours.robots == tree.robots
    if without_drawings(pieces):
        assert (ours.title, ours.base) == (tree.title, tree.base)


@pytest.mark.parametrize("name", SITES)
def test_every_page_of_a_real_site_has_the_links_of_its_tree_with_the_same_counts(name: str) -> None:
    for path, file in list(pages(name))[::7]:
        body, url = file.read_bytes(), f"http://docs.example{path}"
        ours, tree = native(body, "text/html", ALL, url), in_the_tree(body, "text/html", ALL, url)
        assert links(ours) == links(tree), path
        assert (ours.title, ours.base, ours.robots, ours.charset) == (tree.title, tree.base, tree.robots, tree.charset)


@pytest.mark.parametrize(
    ("page", "hrefs"),
    [
        ("<p><a href=1>one</p><p>two</a>", {"1": 1}),
        ("<b><a href=1><i></b>x</a></i>", {"1": 1}),
        ("<table><a href=1><tr><a href=2>", {"1": 1, "2": 1}),
    ],
)
def test_a_link_that_a_browser_opens_again_is_counted_once(page: str, hrefs: dict[str, int]) -> None:
    assert {link.href: link.times for link in native(page.encode()).links} == hrefs
    assert set(hrefs) == {link.href for link in in_the_tree(page.encode()).links}


@pytest.mark.parametrize(
    "charset", ["utf-8", "windows-1252", "shift_jis", "gbk", "utf-16le", "iso-2022-jp", "big5", "euc-kr"]
)
@given(body=st.binary(max_size=60))
@settings(max_examples=100)
def test_whatever_the_charset_both_readers_have_the_same_text(charset: str, body: bytes) -> None:
    page = (
        b"<title>" + body + b"</title><a href='?" + body + b"#x'><a href='/" + body + b"'><img srcset='" + body + b"'>"
    )
    for content_type in (f"text/html; charset={charset}", "text/html"):
        ours, tree = native(page, content_type, ALL), in_the_tree(page, content_type, ALL)
        assert (links(ours), ours.title, ours.charset) == (links(tree), tree.title, tree.charset)


_HREFS = st.one_of(
    st.text("abzA/?.&;=:%23eé#@\\ \t-_~", max_size=14),
    st.sampled_from(["http://", "https://", "//", "/", "../", "HTTP:", "http:", "x:"]).flatmap(
        lambda start: st.text("abzA/?.&;=:%2eé@0x1-_~[]", max_size=14).map(lambda rest: start + rest)
    ),
    st.sampled_from(
        ["/x;jsessionid=1/../y", "?utm_a=1&b&a=2&sid=3", "http://h.example.:80/", "http://0x7f.1/", "a" * 2100]
    ),
)
_RULES = st.builds(CanonicalRules, st.sampled_from([64, 2048]), st.booleans(), st.booleans(), st.booleans())


@given(
    st.sampled_from([URL, "https://h.example/", "http://h.example:8080/a/b/../%7e/c", "http://1.2.3.4/x?y/z"]),
    _HREFS,
    _RULES,
)
@settings(max_examples=2000)
def test_links_lead_where_python_says(base: str, href: str, rules: CanonicalRules) -> None:
    quoted = href.replace("&", "&amp;").replace('"', "&quot;")
    (link,) = native(f'<area href="{quoted}">'.encode(), UTF_8, ExtractLimits(rules=rules), base).links
    assert link.href == href
    expected = Joiner(base, rules).join(href)
    assert link.url == (expected.reason if isinstance(expected, UrlRefusal) else expected)


def test_fingerprints_and_hashes_are_those_of_the_frontier() -> None:
    body = b"<a href=x><a href='?\xc3\xa4'><a href=https://other.example/><a href=mailto:x><a href=//h.example/z>"
    scanner = native_reader.scanner(LIMITS)
    found = scanner.fingerprints(body, URL)
    assert found is not None
    servers, hashes, numbers, prints = found
    urls = [link.url for link in native(body).links if isinstance(link.url, Url)]
    assert [servers[number] for number in np.frombuffer(numbers, np.uint32)] == [url.server for url in urls]
    assert np.frombuffer(hashes, np.uint64).tolist() == [server_hash(server) for server in servers]
    expected = fingerprints([url.scheme for url in urls], [url.path for url in urls])
    assert np.frombuffer(prints, np.uint64).tolist() == expected.tolist()


def test_every_named_reference_is_known() -> None:
    for name, meaning in html5.items():
        (link,) = native(f'<area href="&{name}">'.encode()).links
        assert link.href == meaning.replace("\r", "\n"), name


@given(st.binary(max_size=300), st.sampled_from([UTF_8, "", "text/html", "text/html; charset=utf-16le"]))
def test_any_bytes_are_answered(body: bytes, content_type: str) -> None:
    native(body, content_type, ALL)


@pytest.mark.alone
@pytest.mark.parametrize(
    "shape",
    [
        *(
            "<div>",
            "<b>",
            "<p><button><span>",
            "<table><tr><td>",
            "<svg><g>",
            "<svg></x>",
            "<template>",
            "<a href=x>",
            "<a href=x><div>",
        ),
        *(
            "<b></i>",
            "<p></div>",
            "<li>",
            "<select><option>",
            "<!--",
            "<!-- -",
            "<script><!--<script>",
            "<title></titl",
            "<a ",
            "<a x=",
            "<a x='",
        ),
        *(
            "&amp",
            "<a href='&amp;&#x26;'>",
            "</p>",
            "<h1></h2>",
            "<table><template>",
            "<math><mi><svg><desc>",
            "<form></form>",
            "<![CDATA[",
        ),
        *(
            "<a href=/../../../..>",
            "<base href=../>",
            "<style>",
            "<ruby><rt>",
            "<x-1></x-2>",
            "<frameset>",
            "<dd><dt>",
            "<nobr>",
        ),
    ],
)
def test_the_time_is_linear_whatever_a_page_holds(shape: str) -> None:
    def seconds(size: int) -> float:
        page = (shape * (size // len(shape))).encode()
        began = time.process_time()
        native(page)
        return time.process_time() - began

    # Sixteen times as much of it takes sixteen times as long; quadratic time would be 256 times.
    small = min(seconds(250_000) for _ in range(3))
    assert seconds(4_000_000) < 64 * max(small, 0.001)


def test_closing_tags_far_from_what_they_close_do_not_take_the_time_of_their_square() -> None:
    for opening, closing in (("<span>", "</x>"), ("<g>", "</x>"), ("<div>", "</li>"), ("<b>", "</p>"), ("<i>", "</b>")):
        page = "<svg><li><p><button>" + opening * 300_000 + closing * 300_000
        began = time.process_time()
        native(page.encode())
        assert time.process_time() - began < 30, "minutes if it were"


@pytest.mark.parametrize(
    ("wanted", "version", "reader"),
    [
        ("", "1", "native"),
        ("", "", "python"),
        ("python", "1", "python"),
        ("native", "1", "native"),
        ("auto", "", "python"),
    ],
)
def test_the_environment_chooses_the_reader(wanted: str, version: str, reader: str) -> None:
    assert readers._chosen(wanted, version) == reader


@pytest.mark.parametrize(("wanted", "version"), [("native", ""), ("rust", "1")])
def test_a_reader_that_cannot_be_is_an_error_of_one_sentence(wanted: str, version: str) -> None:
    with pytest.raises(GregorError, match="GREGOR_READER"):
        readers._chosen(wanted, version)
