"""What pages say of themselves, whatever they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.outputs.archive.content import Content, content_of, text_of
from gregor.outputs.archive.page import ArchivedPage, RecordPlace
from gregor.outputs.archive.sort_key import sort_key
from tests.workers.archiver.pages import facts


def page(body: bytes, *headers: tuple[str, str]) -> ArchivedPage:
    return ArchivedPage(facts(0, response_headers=headers), body, RecordPlace("x", 0, 1), 0, "")


HTML = ("Content-Type", "text/html")


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (page(b"<title>A &amp; B\n c</title>", HTML), Content("text/html", "utf-8", "", "A & B c")),
        (page(b"<!-- <title>no</title> --><title>yes</title>", HTML), Content("text/html", "utf-8", "", "yes")),
        (page(b"<script>'<title>no</title>'</script><title>yes</title>", HTML), Content("text/html", "utf-8", "", "yes")),
        (page(b'<html class=x lang="de_AT"><title>a</title>', HTML), Content("text/html", "utf-8", "de-at", "a")),
        (page(b"<title>\xe4</title>", ("Content-Type", "Text/HTML; charset=latin1")), Content("text/html", "windows-1252", "", "ä")),
        (page(b"plain", ("content-type", "text/plain"), ("Content-Language", "fr, en")), Content("text/plain", "utf-8", "fr")),
        (page(b"\x89PNG", ("Content-Type", "image/png")), Content("image/png")),
        (page(b"<title>x</title>"), Content("")),
        (page(b"", HTML), Content("text/html")),
    ],
)  # fmt: skip
def test_type_charset_language_and_title(one: ArchivedPage, expected: Content) -> None:
    assert content_of(one) == expected


@given(st.binary(max_size=400), st.sampled_from(["text/html", "text/plain; charset=utf-16", "image/png", "", "\0;;"]))
def test_any_bytes_are_answered(body: bytes, kind: str) -> None:
    one = page(b"<html lang=en><title>" + body, ("Content-Type", kind))
    assert isinstance(content_of(one), Content)
    assert isinstance(text_of(one), str)


def test_the_text_of_a_page_is_its_main_part() -> None:
    one = page(b"<nav>menu</nav><main><h1>Wings</h1><p>Folded.</p></main>", HTML)
    assert text_of(one) == "Wings\nFolded."


@given(st.text(max_size=60))
def test_any_text_has_a_key_of_one_word(url: str) -> None:
    key = sort_key(url)
    assert key
    assert key.isascii()
    assert not any(one.isspace() for one in key)
    assert sort_key(f"http://example.com/{url}").startswith("com,example)/")
