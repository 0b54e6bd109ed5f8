"""What a page says, without its markup: by which a re-crawl tells a change from another advertisement or token."""

import re
from typing import Final

from xxhash import xxh3_128_hexdigest

# Each branch takes all that it can at once and gives nothing back, so that the time grows with the page alone. What is never closed goes
# to the end of the page, as in a browser.
_NO_TEXT: Final = re.compile(
    rb"<(script|style|template|noscript|svg|nav|header|footer|aside|form)\b(?:[^<]++|<(?!/\1))*+"
    rb"|<!--(?:[^-]++|-(?!->))*+(?:-->)?+"
    rb"|<[^>]*+>?",
    re.IGNORECASE,
)
_HTML: Final = ("text/html", "application/xhtml+xml")


def text_digest(content_type: str, body: bytes) -> str:
    """Of the words of an HTML page outside of its navigation; empty: it is none."""
    if content_type.partition(";")[0].strip().lower() not in _HTML:
        return ""
    return xxh3_128_hexdigest(b" ".join(_NO_TEXT.sub(b" ", body).split()))
