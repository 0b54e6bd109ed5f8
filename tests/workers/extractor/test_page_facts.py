"""The main text of pages and their language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.extractor.page_facts import PageText, read_text

HTML = "text/html; charset=utf-8"


def text_of(body: str, most: int = 10_000) -> PageText:
    return read_text(body.encode(), HTML, (("Content-Language", "de, en"),), most)


def test_the_main_part_is_what_the_page_marks_as_such() -> None:
    page = text_of(
        "<body><nav>Menu</nav><p>Before</p><main><h1>A</h1><p>one<b> two</b><p>three</main><footer>x</footer>"
    )
    assert page.text == "A\none two\nthree"
    assert text_of("<div role=main><p>in</p></div><p>out</p>").text == "in"


def test_without_a_mark_everything_outside_of_navigation_counts() -> None:
    body = "<p>one</p><script>x</script><aside>y</aside><template>z</template><div>two</div>"
    assert text_of(body).text == "one\ntwo"


def test_a_main_part_with_next_to_nothing_is_not_believed() -> None:
    assert "long" in text_of(f"<main>x</main><p>{'long ' * 50}</p>").text


def test_the_text_is_cut_at_its_limit_in_bytes() -> None:
    assert text_of("<p>" + "ä" * 100, most=11).text == "ä" * 5


@pytest.mark.parametrize(
    ("body", "language"),
    [
        ("<html lang=EN_us>", "en-us"),
        ("<html><meta property=og:locale content=cs_CZ>", "cs-cz"),
        ("<html>", "de"),
        ("<html lang='not a language'>", ""),
    ],
)
def test_the_language_is_the_one_declared(body: str, language: str) -> None:
    assert text_of(body + "<p>x").language == language


@given(st.binary(max_size=300))
def test_any_bytes_have_a_text(body: bytes) -> None:
    assert len(read_text(body, "text/html", (), 50).text.encode()) <= 50
