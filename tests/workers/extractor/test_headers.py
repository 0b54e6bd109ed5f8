"""Links in headers, and requisites in attributes and style sheets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.discovered import Rel
from workers.extractor.headers import header, header_links
from workers.extractor.page_links import RawLink
from workers.extractor.requisites import css_urls, requisites_of, srcset


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('<http://h/2>; rel="next"', [RawLink("http://h/2", "link-next")]),
        ("</c>;rel=canonical, </p>; title=\"a, b\"; rel='prev'", [RawLink("/c", "canonical")]),
        ('</a,b>; rel="alternate nofollow"; hreflang=cs', [RawLink("/a,b", "alternate", Rel.NOFOLLOW)]),
        ("</s.css>; rel=stylesheet, </x>; REL = Next", [RawLink("/x", "link-next")]),
        ("</caf\xc3\xa9>; rel=next", [RawLink("/caf%C3%A9", "link-next")]),
        ("</x>", []),
        ("<", []),
        ("", []),
    ],
)
def test_link_headers(value: str, expected: list[RawLink]) -> None:
    assert header_links([("Link", value)]) == expected


def test_several_link_headers_add_up_to_a_limit() -> None:
    assert len(header_links([("link", ", ".join("</x>; rel=next" for _ in range(80)))] * 2)) == 100


def test_the_first_header_of_a_name_counts_in_any_case() -> None:
    assert header([("Content-TYPE", "a"), ("content-type", "b")], "content-type") == "a"
    assert header([], "content-type") == ""


@given(st.text('<>;,="\\ rel=next/', max_size=60))
def test_any_header_is_answered(value: str) -> None:
    header_links([("Link", value)])


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        ("a.png", ["a.png"]),
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png 2x", ["a.png", "b.png"]),
        (" a,b.png 100w ,\n c.png", ["a,b.png", "c.png"]),
        (",,", []),
        ("", []),
    ],
)
def test_candidates_of_a_srcset(value: str, urls: list[str]) -> None:
    assert list(srcset(value)) == urls


@pytest.mark.parametrize(
    ("tag", "attributes", "urls"),
    [
        ("img", {"src": "a", "srcset": "b 2x"}, ["a", "b"]),
        ("img", {"src": None}, []),
        ("video", {"src": "v", "poster": "p"}, ["v", "p"]),
        ("object", {"data": "o"}, ["o"]),
        ("input", {"type": "image", "src": "i"}, ["i"]),
        ("input", {"type": "text", "src": "i"}, []),
    ],
)
def test_what_elements_load(tag: str, attributes: dict[str, str | None], urls: list[str]) -> None:
    assert list(requisites_of(tag, attributes)) == urls


def test_what_a_style_sheet_loads() -> None:
    css = """@import "a.css"; /* url(no.png) */ @import url('b.css') screen;
    b { background: URL( c.png ) } i { src: url("data:x"), url(d.woff) } u { x: url() url(unclosed"""
    assert list(css_urls(css)) == ["a.css", "b.css", "c.png", "d.woff"]


@given(st.text("url(\"')/*@import \n", max_size=80))
def test_any_style_sheet_is_answered(css: str) -> None:
    list(css_urls(css))
    list(srcset(css))
