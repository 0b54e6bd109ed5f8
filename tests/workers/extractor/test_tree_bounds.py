"""What the tree parser gets: nothing that could cost it much time or memory."""

import re

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from workers.extractor.links import extract
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
        ),
        *(
            b'<small a"b=\'">',
            b"<code z='>1'>",
            b"<code z='>2'>",
            b"<em\x0bq>",
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
    found = extract(b"<p>" + different + PARAGRAPHS + b"<a href=x>", "text/html; charset=utf-8", "http://example.com/")
    assert [link.href for link in found.links] == ["x"]


def test_formatting_as_pages_have_it_is_left_to_the_tree_parser() -> None:
    links = b"".join(
        b"<p><a href='%d'><b class=name>x</b> <code class=\"a b\">y</code></a>" % number for number in range(1_400)
    )
    assert fits_lexbor(links)


@given(st.lists(TAGS, max_size=60))
def test_no_tree_has_more_elements_than_its_bound(tags: list[bytes]) -> None:
    page = b"".join(tags)
    count = page.count(b"<")
    elements = len(re.findall(r"<[a-zA-Z]", LexborHTMLParser(page).html or ""))
    assert elements <= count + reopened(page, count) + 3, "html, head and body are always there"
