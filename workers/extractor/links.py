"""The links of an HTML page: a pure function of its bytes, its content type and its URL, whichever reader is there (readers.py)."""

from __future__ import annotations

from typing import Final

from gregor.url.headers import from_header
from workers.extractor.page_links import ExtractLimits, PageLinks, RawLink
from workers.extractor.readers import read_page

DEFAULT_LIMITS: Final = ExtractLimits()
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a response is read as HTML; without a type the first bytes decide."""
    essence = content_type.partition(";")[0].strip().lower()
    return essence in _HTML_TYPES if essence else body[:512].lstrip(b"\xef\xbb\xbf \t\r\n\f").startswith(b"<")


def extract(body: bytes, content_type: str, url: str, limits: ExtractLimits = DEFAULT_LIMITS) -> PageLinks:
    """The links of one page. Any bytes are answered, none raise; what is not HTML has no links."""
    if not body or not is_html(content_type, body):
        return PageLinks(url)
    return read_page(body, content_type, url, limits)


def redirect(location: str) -> RawLink:
    """The link of a Location header."""
    return RawLink(from_header(location), "redirect")
