"""What the tree parser gets: nothing that could cost it much time or memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from workers.extractor.page_links import ExtractLimits
from workers.extractor.python_reader import read
from workers.extractor.tree_bounds import LEXBOR_MAX_SEPARATORS, LEXBOR_MAX_TAGS, fits_lexbor, reopened

PARAGRAPHS = b"<p>x" * 2_900

TAGS = st.sampled_from(
    [
        *(
            b"<b>",
            b"<B>",
            b"<b/>",
            b"<i a=1>",
            b"<i a='2'>",
            b"<font x>",
            b'<font\ty=">">',
            b"<tt",
            b"<u ",
            b"<a href=x>",
            b"<nobr>",
            b"<a x y='/>' z>",
            b"<A/q=1 / r>",
        ),
        *(
            b'<small a"b=\'">',
            b"<code z='>1'>",
            b"<code z='>2'>",
            b"<em\x0bq>",
            b"<s a = 'b' c =d e= f=>",
            b'<strike "g"=h\'>',
            b"<big =i =j>",
            b"<strong k='",
            b'<u l="',
            b"'",
            b'"',
            b"</b>",
            b"</i>",
            b"</font>",
            b"</a>",
            b"</code>",
        ),
        *(
            b"<p>",
            b"</p>",
            b"<div>",
            b"</div>",
            b"<table>",
            b"<td>",
            b"</td>",
            b"</table>",
            b"<object>",
            b"<!--",
            b"-->",
            b"x",
            b">",
        ),
    ]
)


def test_what_the_tree_parser_gets_is_bounded_in_tags_and_in_attributes() -> None:
    assert fits_lexbor(b"<" * LEXBOR_MAX_TAGS)
    assert not fits_lexbor(b"<" * (LEXBOR_MAX_TAGS + 1))
    for separator in (b" ", b"\t", b"\n", b"\f", b"\r", b"/", b'"', b"'"):
        assert fits_lexbor(b"<a" + separator * LEXBOR_MAX_SEPARATORS)
        assert not fits_lexbor(b"<a" + separator * (LEXBOR_MAX_SEPARATORS + 1))
    assert fits_lexbor(b"<a" + b"-" * (LEXBOR_MAX_SEPARATORS + 1))


def test_blanks_between_tags_are_no_attributes_and_those_behind_a_quote_may_be() -> None:
    many = b" x" * LEXBOR_MAX_SEPARATORS
    assert fits_lexbor(b"<p>%b</p>" % many * 3)
    assert fits_lexbor(b"<p title='>%b" % many)
    assert not fits_lexbor(b"<p title='>'%b>" % many)
    assert not fits_lexbor(b'<p title=">\'"%b>' % many)


def test_formatting_that_is_never_closed_and_differs_does_not_become_millions_of_elements() -> None:
    different = b"".join(b"<b x%d>" % number for number in range(4_000))
    hidden = b"".join(b"<b x='>%d'>" % number for number in range(4_000))
    for page in (different, hidden, different.upper(), different.replace(b"b", b"strong")):
        assert not fits_lexbor(b"<p>" + page + PARAGRAPHS)
    found = read(
        b"<p>" + different + PARAGRAPHS + b"<a href=x>",
        "text/html; charset=utf-8",
        "http://example.com/",
        ExtractLimits(),
    )
    assert [link.href for link in found.links] == ["x"]


def test_formatting_as_pages_have_it_is_left_to_the_tree_parser() -> None:
    links = b"".join(
        b"<p><a href='%d'><b class=name>x</b> <code class=\"a b\">y</code></a>" % number for number in range(1_400)
    )
    assert fits_lexbor(links)


@pytest.mark.parametrize(
    "heavy",
    [
        b"<b%b>" % b"".join(b" a%d" % number for number in range(2_000)),
        b"<a%b>" % b"".join(b" a%d" % number for number in range(2_000)),
        b"<b title='>'%b>" % b"".join(b" a%d" % number for number in range(2_000)),
        b"<b title = '%b'>" % (b"x" * 100_000),
        b"<a title='>%b'>" % (b"x" * 100_000),
        b"<i title='%b'><tt title='%b'>" % (b"x" * 20_000, b"y" * 20_000),
    ],
)
def test_formatting_with_many_attributes_or_long_ones_is_not_copied_into_every_paragraph(heavy: bytes) -> None:
    page = b"<p>%b%b<a href=x>" % (heavy, b"<p>x" * 2_000)
    assert not fits_lexbor(page)
    found = read(page, "text/html; charset=utf-8", "http://example.com/", ExtractLimits())
    assert [link.href for link in found.links] == ["x"]


def test_the_time_to_tell_is_linear_whatever_a_page_holds() -> None:
    for start in (b"<b ", b"<b x='", b'<a x="', b"<b x=\"'", b"<i/"):
        page = start * 9_000 + b"x" * 400_000
        assert reopened(page, 9_000) is None, "given up in place of nine thousand walks to the end"
        assert not fits_lexbor(page + b"'>\">")


def test_a_page_of_which_the_tree_parser_makes_nothing_is_read_without_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise SelectolaxError("no room for a tree")

    monkeypatch.setattr("workers.extractor.python_reader.LexborHTMLParser", fails)
    for page in (b"<title>T</title><a href=1>x</a><a href=2 rel=ugc>x</a>", b"<title>T</title><a href=1>x<a href=2>x"):
        found = read(page, "text/html", "http://example.com/", ExtractLimits())
        assert [link.href for link in found.links] == ["1", "2"]
        assert found.title == "T"


@given(st.lists(TAGS, max_size=60))
def test_no_tree_has_more_elements_attributes_or_bytes_than_its_bound(tags: list[bytes]) -> None:
    page = b"".join(tags)
    count = page.count(b"<")
    more = reopened(page, count)
    if more is None:
        return
    root = LexborHTMLParser(page).root
    assert root is not None
    nodes = [node.attributes for node in root.traverse(include_text=False)]
    assert len(nodes) <= count + more.elements + 3, "html, head and body are always there"
    separators = sum(page.count(byte) for byte in (b" ", b"\t", b"/", b'"', b"'"))
    assert sum(map(len, nodes)) <= separators + more.attributes
    written = sum(len(name) + len(value or "") for node in nodes for name, value in node.items())
    assert written <= len(page) + more.size
