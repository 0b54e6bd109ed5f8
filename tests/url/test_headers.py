"""URLs in HTTP headers."""

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.url.canonical import Url, UrlRefusal, join
from gregor.url.headers import from_header

PAGE = "http://example.com/d/page?q"


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        (b"/caf\xc3\xa9?q=\xc3\xa9", "http://example.com/caf%C3%A9?q=%C3%A9"),
        (b"/caf\xe9?q=\xe9", "http://example.com/caf%E9?q=%E9"),
        (b"http://b\xc3\xbccher.example/", "http://xn--bcher-kva.example/"),
        (b"x/%c3%a9", "http://example.com/d/x/%C3%A9"),
    ],
)
def test_a_url_in_a_header_leads_to_the_bytes_that_were_sent(raw: bytes, url: str) -> None:
    joined = join(PAGE, from_header(raw.decode("latin-1")))
    assert isinstance(joined, Url)
    assert joined.text == url


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)
    | st.sampled_from(["//bücher.example/ü", "http://例え.テスト/?例", "//１２７.0.0.1/"])
)
def test_raw_utf_8_means_what_the_same_text_means_in_a_page(text: str) -> None:
    assert join(PAGE, from_header(text.encode().decode("latin-1"))) == join(PAGE, text)


@given(st.binary(max_size=30).map(lambda raw: b"/" + raw))
def test_any_bytes_are_answered_and_none_is_changed(raw: bytes) -> None:
    value = from_header(raw.decode("latin-1"))
    assert value.isascii()
    joined = join(PAGE, value)
    assert isinstance(joined, UrlRefusal) or ada_url.check_url(joined.text)
