"""The digest of what a page says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workers.fetcher.fetching import fetching, settings
from tests.workers.fetcher.logging_servers import LoggingServers
from workers.fetcher.text import text_digest

HTML = "text/html; charset=utf-8"
PAGE = b"<html><head><style>a{}</style></head><body><nav>Home</nav><p class=%b>Gregor <b>woke</b></p><footer>%b</footer></body>"


def test_a_token_a_script_and_a_footer_are_no_change_and_a_word_is() -> None:
    one = text_digest(HTML, PAGE % (b"x", b"yesterday"))
    assert one == text_digest("Text/HTML", PAGE % (b"y", b"today") + b"<script>1<2</script><!-- <p>no -- > text -->\n")
    assert one != text_digest(HTML, PAGE.replace(b"woke", b"slept") % (b"x", b"yesterday"))


@pytest.mark.parametrize("content_type", ["text/plain", "application/pdf", ""])
def test_only_html_has_a_text(content_type: str) -> None:
    assert text_digest(content_type, b"<p>x") == ""


@pytest.mark.parametrize("piece", [b"<script>", b"<", b"<!--", b"<!-- -", b"<nav </", b"<p <", b"</script"])
def test_time_grows_with_the_page_alone_whatever_is_left_open(piece: bytes) -> None:
    assert text_digest(HTML, b"a" + piece * (4_000_000 // len(piece)))


@given(st.binary(max_size=200))
def test_any_bytes_have_a_digest(body: bytes) -> None:
    assert len(text_digest(HTML, body)) == 32


@pytest.mark.parametrize(
    ("mode", "changed", "told"), [("adaptive", "text", True), ("adaptive", "bytes", False), ("fixed", "text", False)]
)
def test_a_result_tells_it_where_adaptive_visits_ask_for_it(mode: str, changed: str, told: bool) -> None:
    servers = LoggingServers(["127.0.9.4"])
    with fetching(settings(revisit__mode=mode, revisit__changed=changed)) as fetcher:
        result = fetcher.get(f"127.0.9.4:{servers.port}").result
    servers.log()
    assert result.outcome == "ok"
    assert bool(result.text_digest) == told
