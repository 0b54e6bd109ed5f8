"""Pages cut down to their links: the parser finds in what is left what it finds in the whole page."""

import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from infra.documentation import pages
from workers.extractor.reduction import reduced

ELEMENTS = ("base", "meta", "link", "a", "area", "iframe", "frame")

# fmt: off
PIECES = [
    "text ", "x", " ", "&amp;", "&lt;a href=no&gt;", "<", ">", '"', "<!doctype html>", "<?xml?>",
    "<a href=1>", '<a class="c" href="2&amp;3" rel=nofollow>', "<a href='4'\nhref=5>", "<a>", "<a name=n />", "</a>", "</a >",
    "<A HREF=6>", "</A>",
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
    "</SCRIPT>",
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
    "<a href=1>one</a>", "<a href=2&amp;3 rel=nofollow></a>", "<a><b>b</b></a>",
    "<a href=4><code><span>x</span></code><img src=i></a>",
    "<a href=5><svg><g><path/></svg></a>", "<svg><path></g></svg>", "<select><option>1<optgroup><option>2</select>",
    "<textarea>x</textarea>",
    "<title>One &amp; all</title>", "<style>b {}</style>", "<script>a<b, '<a href=no>'</script>", "<!-- <a href=no> -->",
    "<iframe src=6>x</iframe>", "<meta name=robots content=none>", "<link rel=next href=7>", "<base href=/b/>", "<area href=8>",
]
# fmt: on
PLAIN_PAGES = st.lists(st.sampled_from(PLAIN_PIECES), max_size=20).map("".join)


def elements(data: bytes) -> tuple[dict[str, list[list[tuple[str, str | None]]]], str | None]:
    """Sorted: in a table, browsers put before it what may not stand there, so that the order of a tree is not a page's."""
    parser = LexborHTMLParser(data)
    found = {
        tag: sorted((list(node.attributes.items()) for node in parser.tags(tag) if node.attributes), key=repr)
        for tag in ELEMENTS
    }
    title = next((node.text() for node in parser.tags("title")), None)
    return found, title


@given(PAGES | PLAIN_PAGES)
@settings(max_examples=3000, deadline=None)
def test_what_is_left_of_a_page_has_the_elements_of_the_page(page: str) -> None:
    less = reduced(page.encode())
    if less is not None:
        assert elements(less) == elements(page.encode())


@given(PLAIN_PAGES)
def test_pages_of_plain_pieces_are_cut_down(page: str) -> None:
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
def test_ordinary_pages_are_cut_down(page: str) -> None:
    less = reduced(page.encode())
    assert less is not None
    assert elements(less) == elements(page.encode())


@pytest.mark.parametrize("site", ["python", "postgresql", "git", "jsoncpp"])
def test_most_pages_of_documentation_are_cut_down(site: str) -> None:
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
