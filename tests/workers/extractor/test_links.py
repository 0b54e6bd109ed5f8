"""Links of pages."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html  # type: ignore[import-untyped]
from msgspec.structs import replace

from gregor.demo.site import DemoSite
from gregor.url.links import join_many, without_fragment
from schemas.discovered import Rel
from workers.extractor.links import extract, redirect
from workers.extractor.page_links import ExtractLimits, PageLinks, RawLink, refresh_target
from workers.extractor.tree_bounds import LEXBOR_MAX_TAGS, fits_lexbor

URL = "http://example.com/a/b.html"
HTML = "text/html; charset=utf-8"
# Enough tags that the page goes to the event parser, without any effect on its links.
MANY_TAGS = "<br>" * (LEXBOR_MAX_TAGS + 1)
PAGE = """<!doctype html><html><head><title> A
 beetle </title><base href="/c/"><base href="/d/">
<link rel="stylesheet alternate" href=s><link rel="shortcut icon" href=i>
<link rel=canonical href=can><link rel=NEXT href=n><link rel=prev href=p><link rel="alternate nofollow" hreflang=cs href=cs>
<meta name=Robots content="noindex, NoFollow"><meta http-equiv=refresh content="5; url='r'">
</head><body><a href=" 1 ">x</a><a name=n>x</a><a href>x</a><a href="?a&amp;b" rel="UGC  nofollow sponsored other">x</a>
<map><area href=2></map><iframe src=3></iframe><template><a href=t>x</a></template><noscript><a href=ns>x</a></noscript>
<!-- <a href=c> --><script>"<a href=js>"</script><title>Not this</title>%s</body></html>"""


pytestmark = pytest.mark.usefixtures("reader")


def page_links(text: str, max_links: int = 10_000) -> PageLinks:
    return as_written(extract(text.encode(), HTML, URL, ExtractLimits(max_links=max_links)))


def as_written(page: PageLinks) -> PageLinks:
    """Without where links lead, which is not for every reader to say."""
    return replace(page, links=[replace(link, url=None) for link in page.links])


@pytest.mark.parametrize("filler", ["", MANY_TAGS], ids=["tree", "events"])
def test_every_kind_of_link_is_found_element_by_element(filler: str) -> None:
    text = PAGE % filler
    assert fits_lexbor(text.encode()) == (not filler)
    page = page_links(text)
    assert page.links == [
        RawLink("r", "refresh"),
        RawLink("can", "canonical"),
        RawLink("n", "link-next"),
        RawLink("p", "link-prev"),
        RawLink("cs", "alternate", Rel.NOFOLLOW),
        RawLink(" 1 ", "a"),
        RawLink("", "a"),
        RawLink("?a&b", "a", Rel.NOFOLLOW | Rel.UGC | Rel.SPONSORED),
        RawLink("ns", "a"),
        RawLink("2", "area"),
        RawLink("3", "iframe"),
    ]
    assert page.base == "http://example.com/c/"
    assert page.title == "A beetle"
    assert page.robots.nofollow
    assert page.robots.noindex
    assert page.complete


def test_frames_of_a_frameset_are_links() -> None:
    page = page_links("<html><frameset><frame src=a><frame src=b></frameset></html>")
    assert page.links == [RawLink("a", "frame"), RawLink("b", "frame")]


@pytest.mark.parametrize("filler", ["", MANY_TAGS], ids=["tree", "events"])
@pytest.mark.parametrize("drawing", ["<svg>{}</svg>", "<svg><g><g>{}</g></g></svg>", "<math><mrow>{}</mrow></math>"])
def test_title_and_base_of_a_drawing_are_not_those_of_the_page(drawing: str, filler: str) -> None:
    inside = drawing.format("<title>icon</title><base href=/icons/>")
    page = page_links(f"<body></nav>{inside}{filler}<title>Page</title><base href=/c/><a href=1>x")
    assert (page.title, page.base) == ("Page", "http://example.com/c/")
    page = page_links(f"<body></nav>{inside}{filler}<a href=1>x")
    assert (page.title, page.base) == ("", URL)
    assert page.links == [RawLink("1", "a")]


@pytest.mark.parametrize(
    "page",
    [
        "<svg><foreignObject><title>T</title><base href=/c/>",
        "<svg><foreignObject><x-y><title>T</title><base href=/c/>",
        "<svg><desc><title>T</title><base href=/c/>",
        "<svg><title><title>T</title><base href=/c/>",
        "<math><mtext><title>T</title><base href=/c/>",
        "<svg></svg><x-y><title>T</title><base href=/c/>",
        "<svg><p><title>T</title><base href=/c/>",
    ],
)
def test_html_inside_of_a_drawing_is_html(page: str) -> None:
    found = page_links(page)
    assert (found.title, found.base) == ("T", "http://example.com/c/")


@pytest.mark.parametrize("element", ["title", "style", "base href=/c/"])
def test_nested_drawings_are_read_once_and_not_from_each_of_their_parts(element: str) -> None:
    text = f"<svg><{element}>" * 4_000 + "x" * 4_000_000
    assert fits_lexbor(text.encode())
    page = extract(text.encode(), HTML, URL, ExtractLimits(requisites=True))
    assert (page.title, page.base) == ("", URL)


@pytest.mark.parametrize("base", ["javascript:x", "data:text/html,x", "http://[", "http://user:pw@h/"])
def test_a_base_that_cannot_be_crawled_is_ignored(base: str) -> None:
    assert page_links(f"<base href='{base}'><base href='/later/'><a href=x>").base == URL


def test_directives_for_another_agent_are_not_ours() -> None:
    assert not page_links("<meta name=otherbot content=nofollow>").robots.nofollow
    assert page_links("<meta name=Gregor content=nofollow>").robots.nofollow


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=x", "x"),
        ("0; URL = 'x y' z", "x y"),
        ('3,"x', "x"),
        ("5 x", "x"),
        (".5;x", "x"),
        ("5", None),
        ("5;", None),
        ("5x", None),
        ("", None),
        ("x", None),
        (" " * 100_000 + "5", None),
    ],
)
def test_a_refresh_leads_where_a_browser_would_go(content: str, target: str | None) -> None:
    assert refresh_target(content) == target


def test_queries_are_in_the_charset_of_the_page() -> None:
    page = extract("<a href='?ä'>".encode("cp1252"), "text/html; charset=windows-1252", URL)
    assert [link.href for link in page.links] == ["?%E4"]


@pytest.mark.parametrize("content_type", ["application/pdf", "text/plain; charset=utf-8", "image/svg+xml"])
def test_what_is_not_html_has_no_links(content_type: str) -> None:
    assert extract(b"<a href=x>", content_type, URL) == PageLinks(URL)


def test_a_response_without_a_type_is_html_if_it_looks_like_it() -> None:
    assert as_written(extract(b"\xef\xbb\xbf\n<a href=x>", "", URL)).links == [RawLink("x", "a")]
    assert extract(b"%PDF <a href=x>", "", URL).links == []


@pytest.mark.parametrize(
    ("location", "href"),
    [("/next", "/next"), ("/\xc3\xa4", "/%C3%A4"), ("/\xe4", "/%E4")],
)
def test_a_location_header_is_a_redirect_link(location: str, href: str) -> None:
    assert redirect(location) == RawLink(href, "redirect")


def test_links_beyond_the_limit_are_counted() -> None:
    for link in ("<a href=x></a>", '<a href="x"></a>', "<a href=x></a></a>"):
        page = page_links(link * 12, max_links=5)
        assert (page.links, page.dropped) == ([RawLink("x", "a", times=5)], 7)
        page = page_links(link * (LEXBOR_MAX_TAGS + 1), max_links=5)
        assert (page.links, page.dropped) == ([RawLink("x", "a", times=5)], LEXBOR_MAX_TAGS - 4)


@pytest.mark.parametrize("tags", ["", "</a>", MANY_TAGS, f"</a>{MANY_TAGS}"])
def test_links_to_the_same_place_are_one_with_their_number(tags: str) -> None:
    page = page_links(
        '<a href="x#1">1</a><a href=y>2</a><a href=\'x#2\'>3</a><a href="x" rel=ugc>4</a><a href=#top>5</a>' + tags
    )
    found = {(link.href, link.rel): link.times for link in page.links}
    assert found == {("x", 0): 2, ("y", 0): 1, ("x", Rel.UGC): 1, ("", 0): 1}


def test_a_million_links_are_counted_and_ten_thousand_kept() -> None:
    page = page_links("<a href=x>y</a>" * 1_000_000)
    assert (page.links, page.dropped, page.complete) == ([RawLink("x", "a", times=10_000)], 990_000, True)


@pytest.mark.parametrize("element", ["<div>", "<b>", "<table><tr><td>", "<b><i></u>", "<svg><g>"])
def test_a_page_nested_without_end_is_read_up_to_a_depth_or_to_its_end(element: str, reader: str) -> None:
    # An end without a beginning makes a page one that is not cut down to its links (reduction.py).
    page = page_links("<a href=first>x</a></a>" + element * 100_000 + "<a href=last>x</a>")
    assert page.links[0].href == "first"
    assert page.complete == (reader == "native")


@pytest.mark.parametrize("element", ["<div>", "<b>", "<table><tr><td>", "<b><i></u>"])
def test_a_plain_page_is_read_to_its_end_however_deep_it_is(element: str) -> None:
    page = page_links("<a href=first>x</a>" + element * 100_000 + "<a href=last>x</a>")
    assert [link.href for link in page.links] == ["first", "last"]
    assert page.complete


def test_a_page_nested_as_deeply_as_the_tree_parser_allows_is_read_to_its_end() -> None:
    page = page_links("<div>" * (LEXBOR_MAX_TAGS - 2) + "<a href=x>")
    assert page.links == [RawLink("x", "a")]
    assert page.complete


def test_an_attribute_of_ten_megabytes_is_one_link_that_is_refused() -> None:
    page = page_links("<a href='" + "x y" * 3_500_000 + "'>x</a><a href=z>x</a>")
    assert len(page.links) == 2
    assert join_many(page.base, [link.href for link in page.links]).refused == {"too-long": 1}


def test_a_tag_with_a_hundred_thousand_attributes_is_a_tag() -> None:
    attributes = " ".join(f"a{number}=1" for number in range(100_000))
    assert not fits_lexbor(f"<a {attributes} href=x>".encode())
    assert page_links(f"<a {attributes} href=x>").links == [RawLink("x", "a")]


@given(st.binary(max_size=300), st.sampled_from([HTML, "", "text/html", "text/html; charset=utf-16le"]), st.booleans())
def test_any_bytes_have_links_or_none(body: bytes, content_type: str, long: bool) -> None:
    page = extract(body + MANY_TAGS.encode() if long else body, content_type, URL)
    join_many(page.base, [link.href for link in page.links])


# fmt: off
_MARKUP = st.sampled_from([
    "<a href=", "<a href='", "x'>", ">", "<", "</a>", "<base href=", "<meta ", "http-equiv=refresh ", "content='0;", "=",
    "'", "<template>", "</template>", "<svg>", "<script>", "<!--", "-->", "<title>", "&#x", "&amp", "\x00", "é", " ", "</",
    "<frame src",
])
# fmt: on


@given(st.lists(_MARKUP, max_size=25).map("".join), st.booleans())
def test_any_markup_has_links_or_none(markup: str, long: bool) -> None:
    page_links(MANY_TAGS + markup if long else markup)


def oracle(text: str) -> Counter[str]:
    """The same by lxml's tree and XPath."""
    tree = html.fromstring(text)
    others = [str(value) for path in ("//area/@href", "//iframe/@src") for value in tree.xpath(path)]
    return Counter(others + [without_fragment(str(value)) for value in tree.xpath("//a/@href")])


def numbers(page: PageLinks) -> Counter[str]:
    """How often each link stands in a page."""
    found: Counter[str] = Counter()
    for link in page.links:
        found[link.href] += link.times
    return found


def test_links_agree_with_another_parser_on_every_page_of_the_demo_site() -> None:
    site = DemoSite(port=8080)
    for url in site.pages():
        host, path = url.removeprefix("http://").partition("/")[::2]
        body = site.answer(host.partition(":")[0], f"/{path}").body
        found = numbers(extract(body.encode(), HTML, url))
        assert found.total() > 10
        assert found == oracle(body)
        # An end without a beginning keeps a page from being plain, many tags from being a tree.
        for more in ("</a>", "</a>" + MANY_TAGS):
            assert numbers(extract((body + more).encode(), HTML, url)) == found


_HREFS = st.text("abz/?.&;= %é#", max_size=8).map(lambda text: text.replace("&", "&amp;"))
_LEAVES = st.one_of(
    st.just("text"),
    _HREFS.map(lambda href: f'<a href="{href}">x</a>'),
    _HREFS.map(lambda href: f'<area rel=nofollow href="{href}">'),
    _HREFS.map(lambda href: f'<iframe src="{href}"></iframe>'),
    st.just("<!-- <a href=no> -->"),
    st.just("<script>'<a href=no>'</script>"),
)
_TREES = st.recursive(
    _LEAVES,
    lambda inner: st.builds(
        lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>",
        st.sampled_from(["div", "ul", "section", "span", "blockquote"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=15,
)


@given(_TREES, st.booleans())
def test_links_agree_with_another_parser_on_generated_pages(tree: str, long: bool) -> None:
    text = f"<html><head><title>x</title></head><body>{tree}{MANY_TAGS if long else ''}</body></html>"
    assert numbers(page_links(text)) == oracle(text)
