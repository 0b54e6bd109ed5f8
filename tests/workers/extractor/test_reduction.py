"""Plain pages: what is known of their links without a tree is what the parser finds in the whole page."""

import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from gregor.url.links import without_fragment
from infra.documentation import pages
from workers.extractor.reduction import Plain, reduced

ELEMENTS = ("base", "meta", "link", "a", "area", "iframe", "frame")

# fmt: off
PIECES = [
    "text ", "x", " ", "&amp;", "&lt;a href=no&gt;", "<", ">", '"', "<!doctype html>", "<?xml?>",
    "<a href=1>", '<a class="c" href="2&amp;3" rel=nofollow>', "<a href='4'\nhref=5>", "<a>", "<a name=n />", "</a>", "</a >",
    "<A HREF=6>", "</A>",
    '<a href="a#b">', '<a class="c" href="d&amp;e#&amp;f" title=t>', '<a href="#g">', '<a href="h #i">', '<a href="j&k">',
    '<a HREF="l" href="m">',
    '<a href="n" rel="ugc">', '<a rel href="o">', '<a \x0bhref="p">', '<a href="q"\x0brel="r">', '<a data-href="s" href="ü">',
    '<a href="t" href="u">', "<a x='y' href=\"v\" w>", '<a href="&amp;#1;">', '<a href="x"/>', '<a href="\ty">', '<a hreflang="z" href="">',
    '<a href="7" title="a > b">', "<a href=8/>", '<a href="9"id=i>', '<a x=a" y=">', '"<a href=10>"', "<a\x0bhref=11>", "<a href=é\x00>",
    "<span>", "</span>", "<code class='x'>", "</code>", "<b>", "</b>", "<i>", "</i>", "<em>", "</em>", "<font size=1>", "</font>",
    "<nobr>", "</nobr>",
    "<p>", "</p>", "<div>", "</div>", "<h2>", "</h2>", "<ul>", "<li>", "</li>", "</ul>", "<br>", "</br>", "<img src=i>", "<hr/>",
    "<table>", "<caption>", "<colgroup>", "<col>", "<tr>", "<td>", "<th>", "</td>", "</tr>", "</table>", "<tbody>",
    "<form>", "</form>", "<button>", "</button>", "<object>", "</object>", "<label>", "</label>", "<input type=hidden>",
    "<select>", "<option>", "</option>", "</select>", "<template>", "</template>", "<frameset>", "<frame src=f>", "</frameset>",
    "<noframes>",
    "<svg>", "<svg/>", "<path d='M0'/>", "<g>", "</g>", "<text>", "</svg>", "<math>", "</math>", "<foreignObject>", "<![CDATA[", "]]>",
    "<html>", "<head>", "</head>", "<body>", "</body>", "</html>", "<noscript>", "</noscript>", "<x-y>", "</x-y>",
    "<title-page>", "<linked>",
    "<title>", "</title>", "<textarea>", "</textarea>", "<style>", "</style>", "<script>", "<script src='s'>", "</script>",
    "</SCRIPT>", "</script\x0b>", "<script\x0b>", "<title\x0bx>", "</title\x0b>", "</a\x0b>", "<a\x0b>", "<a href='16' rel\x0b='x'>",
    '<a rel\x0b="r" href="17">', '<a href\x0b="18">', "<p\x0b>", "<meta\x0bname=robots>", "<a href=19\x0b>", "<iframe\x0bsrc=20>",
    "<script/>", "i<n", "<iframe src=12>", "</iframe>", "<xmp>", "</xmp>", "<plaintext>",
    "<!--", "-->", "--!>", "<!-->", "<!--->", "<!---->", "<!>", "<!-- <a href=13> -->", "<!-- - -- -->", "--", "-",
    "<meta name=robots content=nofollow>", "<link rel=next href=14>", "<base href=/b/>", "<area href=15>",
]
# fmt: on
PAGES = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
# fmt: off
PLAIN_PIECES = [
    "<p>", "</p>", "<div>", "</div>", "<b>", "</b>", "<i id=i>", "</i>", "<span>", "</span>", "<code>", "</code>",
    "<font size=1>", "</font>",
    "<h2>", "</h2>", "<ul>", "<li>", "</ul>", "<table>", "<caption>", "<colgroup>", "<tr>", "<td>", "</td>", "</tr>", "</table>",
    "<button>", "</button>", "<object>", "</object>", "<form>", "</form>", "<input type=hidden>", "<noscript>", "</noscript>",
    "<ruby>", "<rt>",
    "<html>", "<head>", "</head>", "<body>", "</body>", "</html>", "<br>", "</br>", "<hr>", "<x-y>", "</x-y>", "text", " ", "&amp;",
    "<a href=1>one</a>", '<a href="1#2">two</a>', '<a id="i" href="2&amp;3" class="c">three</a>',
    "<a href=2&amp;3 rel=nofollow></a>", "<a><b>b</b></a>",
    "<a href=4><code><span>x</span></code><img src=i></a>",
    "<a href=5><svg><g><path/></svg></a>", "<svg><path></g></svg>", "<select><option>1<optgroup><option>2</select>",
    "<textarea>x</textarea>",
    "<title>One &amp; all</title>", "<style>b {}</style>", "<script>a<b, '<a href=no>'</script>", "<!-- <a href=no> -->",
    "<iframe src=6>x</iframe>", "<meta name=robots content=none>", "<link rel=next href=7>", "<base href=/b/>", "<area href=8>",
]
# fmt: on
PLAIN_PAGES = st.lists(st.sampled_from(PLAIN_PIECES), max_size=20).map("".join)


Elements = dict[str, list[str]]


def elements(data: bytes) -> tuple[Elements, str | None]:
    """All that a link is judged by. Sorted: in a table, browsers put before it what may not stand there, so that the order of a tree is
    not a page's."""
    parser = LexborHTMLParser(data)
    found = {
        tag: sorted(map(repr, (node.attributes for node in parser.tags(tag) if node.attributes))) for tag in ELEMENTS
    }
    anchors = (node.attributes for node in parser.tags("a"))
    found["a"] = sorted(_anchor(one["href"], one.get("rel", "none")) for one in anchors if "href" in one)
    title = next((node.text() for node in parser.tags("title")), None)
    return found, title


def _anchor(href: str | None, rel: str | None) -> str:
    return repr((without_fragment(href or ""), rel))


def known(plain: Plain) -> tuple[Elements, str | None]:
    """What is known of a plain page: its hrefs, and what a parser finds in the other tags."""
    found, title = elements(b"".join(plain.pieces()))
    hrefs = [href.replace(b"&amp;", b"&").decode() for href in plain.hrefs]
    return {**found, "a": sorted(found["a"] + [_anchor(href, "none") for href in hrefs])}, title


@given(PAGES | PLAIN_PAGES)
@settings(max_examples=3000, deadline=None)
def test_what_is_known_of_a_plain_page_is_what_the_parser_finds_in_it(page: str) -> None:
    plain = reduced(page.encode())
    if plain is not None:
        assert known(plain) == elements(page.encode())


@given(PLAIN_PAGES)
def test_pages_of_plain_pieces_are_plain(page: str) -> None:
    assert reduced(page.encode()) is not None


@pytest.mark.parametrize(
    "page",
    [
        "<p><a href=1>one</p><p>two</a>",
        "<span><a href=1></span>again</a>",
        "<a href=1><div>twice</a></div>",
        "<a href=1>never closed",
        "<template><a href=1>x</a></template>",
        "<select><a href=1>x</a></select>",
        "<svg><title><a href=1>x</a></title></svg>",
        '<p title="<a href=1></a>">',
        '<p title="<!--"><a href=1>x</a><p title="-->">',
        "<title><!--</title><a href=1>x</a><title>--></title>",
        "<script><!-- <script> </script> <a href=1></a> --></script>",
        "<textarea><a href=1>x</a></textarea>",
        "<script></script\x0b><a href=1>x</a><script></script>",
        "<!-- <a href=1>x</a>",
        "<!--><a href=1>x</a> -->",
        "<frameset><frame src=1></frameset>",
    ],
)
def test_a_page_on_which_browsers_hide_or_double_a_link_is_left_to_the_parser(page: str) -> None:
    assert reduced(page.encode()) is None


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><head><title>T</title></head><body><p>Text <a href=1>one</a></body></html>",
        "<a href='1'><code class=x><span>f</span>()</code> <img src=i></a>",
        "<script>if (a<b) document.write('<a href=2>')</script><!-- <a href=3> --><a href=1>one</a>",
        "<a href=1><svg viewBox='0 0 1 1'><path d='M0'/></svg></a>",
        "<select><option>1<option>2</select><a href=1>one</a>",
    ],
)
def test_ordinary_pages_are_plain(page: str) -> None:
    plain = reduced(page.encode())
    assert plain is not None
    assert known(plain) == elements(page.encode())


def test_no_parser_sees_links_as_most_are_written() -> None:
    page = b'<a href="1#2">x</a><a class="c" href="1#3" title=\'t\'>x</a><a id="i" href="?a&amp;b">x</a>'
    assert reduced(page) == Plain([b"1", b"1", b"?a&amp;b"], [])


def test_the_tags_of_a_plain_page_are_given_in_pieces_of_bounded_size() -> None:
    plain = reduced(b"<a href=1 rel=next>x</a>" * 10_001)
    assert plain is not None
    assert len(plain.tags) == 10_001
    assert all(piece.count(b"<") < 10_000 for piece in plain.pieces())


@pytest.mark.parametrize("site", ["python", "postgresql", "git", "jsoncpp"])
def test_most_pages_of_documentation_are_plain(site: str) -> None:
    some = [file.read_bytes() for _, file in pages(site)][::10]
    assert sum(reduced(body) is not None for body in some) > 0.9 * len(some)


def test_the_time_is_linear_whatever_a_page_holds() -> None:
    names = (
        "span",
        "em",
        "strong",
        "b",
        "i",
        "u",
        "s",
        "tt",
        "small",
        "big",
        "code",
        "kbd",
        "samp",
        "var",
        "cite",
        "q",
        "dfn",
        "font",
    )
    nested = "".join(
        f"<a href=x><{one} a='1' b=\"2\" c=3><{two} a='1' b = \"2\" c></{two} ></{one} ></a >"
        for one, two in product(names, names)
    )
    for piece in ("<script>", "<!--", "<!-- -", "<script>x<!--", "<a href=1>", "<a ", "<title>", "<", "<p a='", nested):
        data = (piece * (4_000_000 // len(piece))).encode()
        began = time.process_time()
        reduced(data)
        # Quadratic time would be minutes.
        assert time.process_time() - began < 20
