"""The links of an HTML page: a pure function of its bytes, its content type and its URL.

Two parsers read pages. Lexbor builds the tree a browser would build and is the fast one, but some of its steps walk
all open elements or all attributes of a tag: 100,000 nested <div> take it 45 s, 100,000 attributes 57 s. So it gets
pages whose number of tags and of possible attributes bounds that time to a fraction of a second whatever they hold.
All others go through libxml2's event parser, which builds nothing and walks open elements only at an end tag, so that
tags times depth bounds its time. Past the depth that a page of so many tags may have, reading stops, and what was found
until then is the answer, marked incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntFlag
from typing import Final, Literal, TypeAlias

import msgspec
from lxml import etree  # type: ignore[import-untyped]
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from gregor.url.canonical import Url, join
from workers.extractor.charset import decode, encode_query
from workers.extractor.robots_meta import RobotsDirectives, from_content

LinkKind: TypeAlias = Literal[
    "a", "area", "iframe", "frame", "link-next", "link-prev", "canonical", "alternate", "refresh", "redirect"
]

LEXBOR_MAX_TAGS: Final = 5_000
LEXBOR_MAX_SEPARATORS: Final = 10_000
EVENT_STEPS: Final = 300_000_000
MIN_DEPTH_LIMIT: Final = 256
MAX_TITLE: Final = 512

_ELEMENTS: Final = "a[href],area[href],iframe[src],frame[src],link[href],meta,base[href],title"
# An attribute's name is preceded by one of these.
_NOT_SEPARATORS: Final = bytes(set(range(256)) - set(b" \t\n\f\r/\"'"))
_REFRESH = re.compile(r"\s*+[\d.]++(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(.*)", re.IGNORECASE | re.DOTALL)
_FEED_BYTES: Final = 65_536
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")


class Rel(IntFlag):
    """What a link says about itself."""

    NOFOLLOW = 1
    UGC = 2
    SPONSORED = 4


_REL_WORDS: Final = {"nofollow": Rel.NOFOLLOW, "ugc": Rel.UGC, "sponsored": Rel.SPONSORED}


class RawLink(msgspec.Struct, frozen=True):
    """A link as it stands in the page, not joined yet; its query is already in the page's charset."""

    href: str
    kind: LinkKind
    rel: int = 0
    """Bits of Rel."""


class PageLinks(msgspec.Struct, frozen=True):
    """What a page says about other pages, and about itself to robots."""

    base: str
    """What hrefs are joined to: the page's URL, or that of its base element."""
    links: list[RawLink] = []
    """In the order of the page."""
    dropped: int = 0
    """Links beyond the limit."""
    robots: RobotsDirectives = RobotsDirectives()
    title: str = ""
    charset: str = ""
    complete: bool = True
    """False when the page was nested too deeply to be read to its end."""


class ExtractLimits(msgspec.Struct, frozen=True):
    """Bounds of one page, and the name under which robots directives address this crawler."""

    max_links: int = 10_000
    agent: str = "gregor"


DEFAULT_LIMITS: Final = ExtractLimits()


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a response is read as HTML; without a type the first bytes decide."""
    essence = content_type.partition(";")[0].strip().lower()
    return essence in _HTML_TYPES if essence else body[:512].lstrip(b"\xef\xbb\xbf \t\r\n\f").startswith(b"<")


def extract(body: bytes, content_type: str, url: str, limits: ExtractLimits = DEFAULT_LIMITS) -> PageLinks:
    """The links of one page. Any bytes are answered, none raise; what is not HTML has no links."""
    if not body or not is_html(content_type, body):
        return PageLinks(url)
    page = decode(body, content_type)
    found = _Collector(url, page.charset, limits)
    if fits_lexbor(page.text):
        _read_tree(page.text, found)
    else:
        _read_events(page.text, found)
    return found.result()


def redirect(location: str) -> RawLink:
    """The link of a Location header, whose bytes beyond ASCII an HTTP client hands over as surrogates."""
    raw = location.encode("utf-8", "surrogateescape")
    try:
        return RawLink(raw.decode("utf-8"), "redirect")
    except UnicodeDecodeError:
        return RawLink(raw.decode("latin-1"), "redirect")


def fits_lexbor(text: str) -> bool:
    """Whether lexbor's time is bounded by what the page can hold at most."""
    if text.count("<") > LEXBOR_MAX_TAGS:
        return False
    return len(text.encode("utf-8", "replace").translate(None, _NOT_SEPARATORS)) <= LEXBOR_MAX_SEPARATORS


def _read_tree(text: str, found: _Collector) -> None:
    parser = LexborHTMLParser(text, options=LexborDocumentOptions.WO_EVENTS)
    for node in parser.css(_ELEMENTS):
        tag = node.tag
        if tag == "title":
            found.add_title(node.text())
        elif tag is not None:
            found.add(tag, node.attributes)


def _read_events(text: str, found: _Collector) -> None:
    target = _EventTarget(found, max(MIN_DEPTH_LIMIT, EVENT_STEPS // (text.count("<") + 1)))
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    data = text.encode("utf-8", "replace")
    try:
        for start in range(0, len(data), _FEED_BYTES):
            parser.feed(data[start : start + _FEED_BYTES])
        parser.close()
    except _TooDeep:
        found.complete = False
    except etree.LxmlError:
        # The event parser recovers from everything but a document without any element.
        pass


class _TooDeep(Exception):
    """Ends reading."""


class _EventTarget:
    """What libxml2 tells while it reads: elements opened and closed, and text."""

    def __init__(self, found: _Collector, max_depth: int) -> None:
        self._found = found
        self._max_depth = max_depth
        self._depth = 0
        self._template_depth = 0
        self._title: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._max_depth:
            raise _TooDeep
        if tag == "template":
            self._template_depth += 1
        elif self._template_depth:
            # A template's content is no part of the page until a script copies it.
            return
        elif tag == "title":
            self._title = []
        else:
            self._found.add(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "template":
            self._template_depth -= 1
        elif tag == "title" and self._title is not None:
            self._found.add_title("".join(self._title))
            self._title = None

    def data(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)

    def close(self) -> None:
        return None


class _Collector:
    """Takes the elements of a page in their order and keeps what is asked for."""

    def __init__(self, url: str, charset: str, limits: ExtractLimits) -> None:
        self.complete = True
        self._url = url
        self._charset = charset
        self._utf = charset.startswith("utf-")
        self._limits = limits
        self._base: str | None = None
        self._links: list[RawLink] = []
        self._dropped = 0
        self._robots = RobotsDirectives()
        self._title: str | None = None

    def add(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        if tag in ("a", "area"):
            if "href" in attributes:
                rel = attributes.get("rel")
                self._link(attributes["href"] or "", "a" if tag == "a" else "area", _rel_bits(rel) if rel else 0)
        elif tag in ("iframe", "frame"):
            if "src" in attributes:
                self._link(attributes["src"] or "", "iframe" if tag == "iframe" else "frame")
        elif tag == "link":
            self._link_element(attributes)
        elif tag == "meta":
            self._meta(attributes)
        elif tag == "base" and self._base is None and "href" in attributes:
            joined = join(self._url, attributes["href"] or "")
            self._base = joined.text if isinstance(joined, Url) else self._url

    def add_title(self, text: str) -> None:
        if self._title is None:
            self._title = " ".join(text.split())[:MAX_TITLE]

    def result(self) -> PageLinks:
        return PageLinks(
            base=self._base or self._url,
            links=self._links,
            dropped=self._dropped,
            robots=self._robots,
            title=self._title or "",
            charset=self._charset,
            complete=self.complete,
        )

    def _link(self, href: str, kind: LinkKind, rel: int = 0) -> None:
        if len(self._links) < self._limits.max_links:
            self._links.append(RawLink(href if self._utf else encode_query(href, self._charset), kind, rel))
        else:
            self._dropped += 1

    def _link_element(self, attributes: Mapping[str, str | None]) -> None:
        href, words = attributes.get("href"), (attributes.get("rel") or "").lower().split()
        if href is None:
            return
        if "canonical" in words:
            self._link(href, "canonical")
        elif "next" in words:
            self._link(href, "link-next")
        elif "prev" in words or "previous" in words:
            self._link(href, "link-prev")
        elif "alternate" in words and "stylesheet" not in words:
            self._link(href, "alternate", _rel_bits(" ".join(words)))

    def _meta(self, attributes: Mapping[str, str | None]) -> None:
        content = attributes.get("content") or ""
        name = (attributes.get("name") or "").strip().lower()
        if name == "robots" or name == self._limits.agent.lower():
            self._robots |= from_content(content)
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            target = refresh_target(content)
            if target is not None:
                self._link(target, "refresh")


def refresh_target(content: str) -> str | None:
    """Where a meta refresh leads: "5; url='next.html'" → "next.html"; None when it only reloads the page."""
    refresh = _REFRESH.fullmatch(content)
    if refresh is None:
        return None
    target = refresh[1].strip()
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return target or None


def _rel_bits(rel: str) -> int:
    bits = 0
    for word in rel.lower().split():
        bits |= _REL_WORDS.get(word, 0)
    return int(bits)
