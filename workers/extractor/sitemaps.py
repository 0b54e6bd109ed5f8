"""Sitemaps and feeds: XML (plain or gzipped), lists of URLs as text, and the Sitemap lines of robots.txt.

All are read as a stream with bounds on bytes, URLs and depth, so that a bomb costs no more than its cap: gzip is
unpacked piece by piece, and of XML only tags and texts are looked at (xml_scan.py), of which nothing is built.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from gregor.rules.robots_txt import sitemaps_of, text_of
from workers.extractor.listed import ABSOLUTE, LONGEST_URL, FeedUrls, Form, SitemapUrls
from workers.extractor.page_links import RawLink
from workers.extractor.unpacking import Unpacked, unpacked_start
from workers.extractor.xml_scan import Scanner, TooMuch

_SNIFFED: Final = 2048
_SNIFFED_AT_MOST: Final = 1024 * 1024
"""Where what stands before the root is as long as that."""
# Whatever may stand before the root element. What is further inside, or in a comment, says nothing of the document.
_PROLOG = re.compile(
    r"\ufeff?+(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\][^>]*+)?+>)*+", re.DOTALL | re.IGNORECASE
)
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*+:)?([A-Za-z_][\w.-]*+)[\s/>]")
_MAY_BE_MORE = re.compile(r"(?:<(?:[!?].*+|[\w.:-]*+))?\Z", re.DOTALL)
_FORMS: Final[dict[str, Form]] = {
    "urlset": "sitemap",
    "sitemapindex": "sitemap",
    "rss": "feed",
    "feed": "feed",
    "RDF": "feed",
}
# How a list may begin that is called HTML: with its root or what may stand before that, as gzip, or in UTF-16.
_MAY_BE_LIST = re.compile(
    rb"\x1f\x8b|\xfe\xff|\xff\xfe"
    rb"|(?:\xef\xbb\xbf)?+\s*+(?:<\?xml|<!--|<(?:[\w.-]++:)?(?:urlset|sitemapindex|rss|feed|RDF)\b|https?://)"
)
_LINE_END = re.compile(r"[\r\n]\s*+")
_BLANK = re.compile(r"\s")


class ListLimits(msgspec.Struct, frozen=True):
    """Bounds of one list of URLs."""

    max_urls: int = 50_000
    max_bytes: int = 50 * 1024 * 1024
    """After decompression."""


class UrlList(msgspec.Struct, frozen=True):
    """What a sitemap or feed names."""

    form: Form
    links: list[RawLink]
    dropped: int = 0
    """URLs beyond the limit that were still met."""
    complete: bool = True
    """False when it was cut off: too long, too deep, or not well-formed to its end."""


class _Beginning(msgspec.Struct, frozen=True):
    """What the first bytes of a response tell."""

    text: str
    cut: bool
    """Whether there is more."""
    root: str
    """Name of the root element, without its prefix; empty: it begins with no tag."""


def form_of(content_type: str, body: bytes) -> Form | None:
    """Whether a response is a list of URLs, which its first bytes must confirm, whatever it is called; None: it is not."""
    html = "html" in content_type.lower()
    if html and not _MAY_BE_LIST.match(body):
        # Most responses are pages, and need no second look.
        return None
    begins = _beginning(body, content_type)
    if begins.root:
        return _FORMS.get(begins.root)
    return "sitemap" if _is_text_list(begins, html) else None


def read_list(
    body: bytes, content_type: str, form: Form, limits: ListLimits, url: str = "", whole: bool = True
) -> UrlList:
    """The URLs of a list that was found at `url`; its body may have been cut. Any bytes are answered, none raise."""
    stream = Unpacked(body, content_type, limits.max_bytes)
    if _beginning(body, content_type).root:
        return _read_xml(stream, whole, form, limits, url)
    return _read_text(stream, whole, limits)


def _beginning(body: bytes, content_type: str) -> _Beginning:
    text, cut = unpacked_start(body, content_type, _SNIFFED)
    end = _prolog_end(text)
    if cut and _MAY_BE_MORE.match(text, end):
        text, cut = unpacked_start(body, content_type, _SNIFFED_AT_MOST)
        end = _prolog_end(text)
    root = _ROOT.match(text, end)
    return _Beginning(text, cut, root[1] if root else "")


def _prolog_end(text: str) -> int:
    prolog = _PROLOG.match(text)
    return prolog.end() if prolog else 0


def robots_sitemaps(body: bytes, most: int = 100) -> list[str]:
    """The Sitemap lines of a robots.txt, as they are written."""
    found = dict.fromkeys(one for one in sitemaps_of(text_of(body)) if len(one) <= LONGEST_URL)
    return list(found)[:most]


def _is_text_list(begins: _Beginning, html: bool) -> bool:
    """Whether more than half of the lines, the last one apart if it is cut, are a URL and nothing else."""
    if html and "<" in begins.text:
        return False
    lines = _LINE_END.split(begins.text)
    whole = [line for line in map(str.strip, lines[:-1] if begins.cut else lines) if line]
    return 2 * sum(_is_url(line) for line in whole) > len(whole)


def _is_url(line: str) -> bool:
    return line[:8].lower().startswith(ABSOLUTE) and not _BLANK.search(line)


def _read_text(stream: Unpacked, whole: bool, limits: ListLimits) -> UrlList:
    links: list[RawLink] = []
    dropped = 0
    rest = ""
    for piece in stream.pieces():
        *lines, rest = _LINE_END.split(rest + piece)
        dropped += _take_lines(lines, links, limits)
        rest = rest[:LONGEST_URL]
    complete = whole and stream.complete
    if complete:
        dropped += _take_lines([rest], links, limits)
    return UrlList("sitemap", links, dropped, complete)


def _take_lines(lines: list[str], links: list[RawLink], limits: ListLimits) -> int:
    """Takes those that are URLs; gives how many were left out."""
    urls = [line for line in map(str.strip, lines) if _is_url(line)]
    room = limits.max_urls - len(links)
    links.extend([RawLink(url[:LONGEST_URL], "sitemap") for url in urls[:room]])
    return max(0, len(urls) - room)


def _read_xml(stream: Unpacked, whole: bool, form: Form, limits: ListLimits, url: str) -> UrlList:
    listed = SitemapUrls(limits.max_urls) if form == "sitemap" else FeedUrls(url, limits.max_urls)
    scanner = Scanner(listed)
    complete = whole
    try:
        for piece in stream.pieces():
            scanner.feed(piece)
    except TooMuch:
        complete = False
    listed_whole = listed.finished and not scanner.in_tag and not scanner.in_section
    listed.finish(scanner.in_tag)
    return UrlList(form, listed.links, listed.dropped, complete and stream.complete and listed_whole)
