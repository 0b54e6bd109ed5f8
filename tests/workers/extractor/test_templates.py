"""Templates in pages that are read without a tree, against the trees of lexbor."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from workers.extractor.links import extract
from workers.extractor.page_facts import read_text
from workers.extractor.tree_bounds import LEXBOR_MAX_TAGS, fits_lexbor

pytestmark = pytest.mark.usefixtures("reader")

BEYOND = b"<br>" * LEXBOR_MAX_TAGS
"""In front of a page it leaves nothing open, and the page is not for a tree."""

_HTML = (
    *("template", "template", "template", "div", "p", "span", "b", "ul", "li", "table", "tbody", "tr", "td", "h1", "section", "button"),
    *("title", "style", "script", "textarea", "xmp", "noscript"),
)  # fmt: skip
_PIECES = (
    *(f"<{name}>" for name in _HTML),
    *(f"</{name}>" for name in _HTML),
    *("<TEMPLATE a='>'>", "<template/>", "</template\n x>", "</Template/>", "<template", "<templates>", "</templates>"),
    *(
        "x",
        "<",
        "<!--",
        "-->",
        "--!>",
        "<!-->",
        "<!doctype html>",
        "<?x",
        "</",
        "</>",
        "<a title='<template>'></a>",
        '<p title="',
        '">',
    ),
)


def _drawn(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    named = st.sampled_from(("svg", "math", "svg g", "svg desc", "svg foreignObject", "math mi", "math mrow"))

    def around(name: str, parts: list[str]) -> str:
        return "".join(
            (*(f"<{one}>" for one in name.split()), *parts, *(f"</{one}>" for one in reversed(name.split())))
        )

    return st.builds(around, named, st.lists(inner, max_size=5))


SOUP = st.lists(st.sampled_from(_PIECES), max_size=30)
DRAWINGS = st.lists(
    st.recursive(
        st.sampled_from(("<template>", "<template/>", "<path></path>", "x", "<![CDATA[<template>]]>")),
        lambda inner: st.one_of(
            _drawn(inner),
            st.lists(inner, max_size=5).map(lambda parts: f"<template>{''.join(parts)}</template>"),
            st.lists(inner, max_size=5).map(lambda parts: f"<div>{''.join(parts)}</div>"),
        ),
        max_leaves=12,
    ),
    max_size=6,
)


def _hrefs(page: bytes) -> list[str]:
    found = extract(page, "text/html; charset=utf-8", "http://h/")
    assert found.complete
    return [link.href for link in found.links]


def _numbered(pieces: list[str]) -> bytes:
    """With a link behind each piece; one is void, so that nothing is opened again around the next."""
    return "".join(f"{piece}<area href={number}>" for number, piece in enumerate(pieces)).encode()


def _in_the_tree(page: bytes) -> set[str]:
    return {node.attributes["href"] or "" for node in LexborHTMLParser(page).tags("area") if "href" in node.attributes}


@pytest.mark.parametrize(
    ("page", "hrefs"),
    [
        (b"<template><tr><td>x</template><a href=y>", ["y"]),
        (b"<div><template></div><a href=in></template><a href=y>", ["y"]),
        (b"<table><template></table><a href=in></template></table><a href=y>", ["y"]),
        (b"<template><template></template><a href=in></template><a href=y>", ["y"]),
        (b"<template><div></template></template><a href=y>", ["y"]),
        (b"<a href=y></a><template><a href=in>", ["y"]),
        (b"<template></body></html><a href=in></template><a href=y>", ["y"]),
        (b"<template><!-- </template> --><a href=in></template><a href=y>", ["y"]),
        (b"<template><p title='</template>'><a href=in></template><a href=y>", ["y"]),
        (b"<template><script></template></script><a href=in></template><a href=y>", ["y"]),
        (b"<script><!--<script></script><template>--></script><a href=y>", ["y"]),
        (b"<title><template></title><a href=y>", ["y"]),
        (b"<<template></template>a href=in><a href=y>", ["y"]),
        (b"<svg><template><a href=x></svg><a href=y>", ["x", "y"]),
        (b"<svg><template><a href=x></template><a href=y></svg>", ["x", "y"]),
        (b"<svg><foreignObject><template><a href=in></template><a href=y>", ["y"]),
        (b"<template><svg><template></template><a href=in></svg></template><a href=y>", ["y"]),
        (b"<template><svg></template><a href=y>", ["y"]),
        (b"<math><mi><template><a href=in></template><a href=y>", ["y"]),
        (b"<svg><p><template><a href=in></template><a href=y>", ["y"]),
        (b"<svg/><template><a href=in></template><a href=y>", ["y"]),
    ],
)
def test_a_template_ends_where_it_ends_in_a_browser(page: bytes, hrefs: list[str]) -> None:
    assert _hrefs(page) == hrefs, "read by a tree"
    assert not fits_lexbor(BEYOND + page)
    assert _hrefs(BEYOND + page) == hrefs


@given(SOUP)
@example(["<template>", "<table>", "<td>", "</template>"])
def test_a_page_of_any_tags_and_templates_has_the_links_of_its_tree(pieces: list[str]) -> None:
    page = _numbered(pieces)
    assert set(_hrefs(BEYOND + page)) == _in_the_tree(BEYOND + page)


@given(DRAWINGS)
def test_templates_in_drawings_and_formulas_are_told_from_those_of_html(pieces: list[str]) -> None:
    page = _numbered(pieces)
    assert set(_hrefs(BEYOND + page)) == _in_the_tree(BEYOND + page)


def test_the_text_of_a_page_is_that_outside_of_its_templates() -> None:
    page = b"<p>one<template><td>in<p></template> two<p>three<template><div></p>in"
    assert read_text(page, "text/html; charset=utf-8", [], 1000).text == "one two\nthree"


@pytest.mark.parametrize(
    "piece",
    [b"<template>", b"<template><svg>", b"<svg>", b"<template><svg><g>", b"<svg><template>", b"<svg><desc>", b"<template><div></p>"],
)  # fmt: skip
def test_templates_and_drawings_without_end_do_not_take_the_time_of_their_square(piece: bytes) -> None:
    for end in (b"", b"</g>", b"</x>", b"</template>", b"<p>"):
        page = b"<template>" + piece * 100_000 + end * 100_000
        extract(page, "text/html; charset=utf-8", "http://h/")
