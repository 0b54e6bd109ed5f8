"""Sitemaps and feeds: XML (plain or gzipped), lists of URLs as text, and the Sitemap lines of robots.txt.

Both are read as a stream with bounds on bytes, URLs and depth, so that a bomb costs no more than its cap: gzip is
unpacked piece by piece, XML goes through libxml2's event parser, which builds nothing, loads nothing from outside, and
is never asked to expand an entity beyond the five of XML itself.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec
from lxml import etree  # type: ignore[import-untyped]

from workers.extractor.links import RawLink

PIECE: Final = 65_536
FED: Final = 4096
LONGEST_URL: Final = 65_536
DEEPEST: Final = 64
_SNIFFED: Final = 2048
# Whatever may stand before the root element, and the root. What is further inside, or in a comment, says nothing of the document.
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\][^>]*+)?+>)*+"
    rb"<(?:[A-Za-z_][\w.-]*+:)?(urlset|sitemapindex|rss|feed|RDF)[\s/>]",
    re.DOTALL,
)
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!--|<!DOCTYPE|<(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|RDF)\b)"
)
_SITEMAP_LINE = re.compile(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_ABSOLUTE = ("http://", "https://")

Form = Literal["sitemap", "feed"]


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


def form_of(content_type: str, body: bytes) -> Form | None:
    """Whether a response is a list of URLs, which its first bytes must confirm; None: it is not."""
    start = _unpacked_start(body)
    if _MARKUP.match(start):
        root = _ROOT.match(start)
        if root is None:
            return None
        return "sitemap" if root[1] in (b"urlset", b"sitemapindex") else "feed"
    essence = content_type.partition(";")[0].strip().lower()
    if essence in ("text/plain", "application/gzip", "application/x-gzip", "") and _is_text_list(start):
        return "sitemap"
    return None


def read_list(body: bytes, content_type: str, form: Form, limits: ListLimits) -> UrlList:
    """The URLs of a list. Any bytes are answered, none raise."""
    if _MARKUP.match(_unpacked_start(body)):
        return _read_xml(body, form, limits)
    return _read_text(body, content_type, limits)


def robots_sitemaps(body: bytes, most: int = 100) -> list[str]:
    """The Sitemap lines of a robots.txt, as they are written."""
    text = body.decode("utf-8-sig", "replace")
    found = dict.fromkeys(line[1] for line in _SITEMAP_LINE.finditer(text) if len(line[1]) <= LONGEST_URL)
    return list(found)[:most]


def _is_gzip(body: bytes) -> bool:
    return body.startswith(b"\x1f\x8b")


def _unpacked_start(body: bytes) -> bytes:
    return b"".join(_Stream(body[:PIECE], _SNIFFED).pieces())


def _is_text_list(start: bytes) -> bool:
    """Whether every line of the beginning, the last one apart, is an absolute URL and nothing else."""
    lines = start.decode("utf-8-sig", "replace").split("\n")
    whole = [line.strip() for line in (lines[:-1] if len(start) >= _SNIFFED else lines)]
    urls = [line for line in whole if line]
    return bool(urls) and all(line.lower().startswith(_ABSOLUTE) and " " not in line for line in urls)


class _Stream:
    """A body piece by piece, unpacked, up to a limit."""

    def __init__(self, body: bytes, max_bytes: int) -> None:
        self._body = body
        self._left = max_bytes
        self.complete = True

    def pieces(self) -> Iterator[bytes]:
        for piece in self._unpacked() if _is_gzip(self._body) else self._plain():
            if len(piece) > self._left:
                self.complete = False
                yield piece[: self._left]
                return
            self._left -= len(piece)
            yield piece

    def _plain(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), PIECE):
            yield self._body[start : start + PIECE]

    def _unpacked(self) -> Iterator[bytes]:
        """All members, one after the other, as gzip itself reads them; what follows the last one is padding."""
        unpacker, at = zlib.decompressobj(31), 0
        piece = b""
        try:
            # Little is handed over at a time, because what is left of it is copied with each piece and each member.
            while at < len(self._body) or (piece and not unpacker.eof):
                if unpacker.eof:
                    if not _is_gzip(self._body[at : at + 2]):
                        break
                    unpacker = zlib.decompressobj(31)
                given = self._body[at : at + FED]
                piece = unpacker.decompress(given, PIECE)
                at += len(given) - len(unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail)
                if piece:
                    yield piece
        except zlib.error:
            self.complete = False
        else:
            self.complete = self.complete and unpacker.eof


def _read_text(body: bytes, content_type: str, limits: ListLimits) -> UrlList:
    stream = _Stream(body, limits.max_bytes)
    links: list[RawLink] = []
    dropped = 0
    rest = b""
    for piece in stream.pieces():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            dropped += _take_line(line, links, limits)
        rest = rest[:LONGEST_URL]
    dropped += _take_line(rest, links, limits)
    return UrlList("sitemap", links, dropped, stream.complete)


def _take_line(line: bytes, links: list[RawLink], limits: ListLimits) -> int:
    """Takes a line that is a URL; gives how many were left out."""
    text = line[:LONGEST_URL].decode("utf-8-sig", "replace").strip()
    if not text.lower().startswith(_ABSOLUTE):
        return 0
    if len(links) >= limits.max_urls:
        return 1
    links.append(RawLink(text, "sitemap"))
    return 0


def _read_xml(body: bytes, form: Form, limits: ListLimits) -> UrlList:
    target = _ListTarget(form, limits.max_urls)
    # Entities stay unresolved, so that a bomb of them is a few bytes of text.
    parser = etree.XMLParser(
        target=target, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    stream = _Stream(body, limits.max_bytes)
    complete = True
    try:
        for piece in stream.pieces():
            parser.feed(piece)
        parser.close()
    except (etree.LxmlError, _TooDeep):
        complete = False
    complete = complete and stream.complete and target.finished
    return UrlList(form, target.links, target.dropped, complete)


class _TooDeep(Exception):
    """Ends reading."""


class _ListTarget:
    """Takes what libxml2 tells of a sitemap, a feed of RSS 0.9 to 2.0, or one of Atom; namespaces are not looked at."""

    def __init__(self, form: Form, max_urls: int) -> None:
        self.links: list[RawLink] = []
        self.dropped = 0
        self._form = form
        self._max_urls = max_urls
        self._open: list[str] = []
        self._text: list[str] | None = None
        self._length = 0
        self._url = ""
        self._lastmod = 0

    @property
    def finished(self) -> bool:
        """Whether every element was closed."""
        return not self._open

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        self._open.append(name)
        if len(self._open) > DEEPEST:
            raise _TooDeep
        if name in ("url", "sitemap", "item", "entry"):
            self._url, self._lastmod = "", 0
        elif name in ("loc", "lastmod", "link", "guid"):
            self._text, self._length = [], 0
            if name == "link" and "href" in attributes:
                self._atom_link(attributes)
            elif name == "guid" and attributes.get("isPermaLink", "true").lower() == "false":
                self._text = None

    def _atom_link(self, attributes: dict[str, str]) -> None:
        """An entry's own page is its link without rel, or "alternate"; a feed's next page is a link too."""
        self._text = None
        rel = attributes.get("rel", "alternate")
        if "entry" in self._open and rel == "alternate":
            self._url = self._url or attributes["href"]
        elif "entry" not in self._open and rel in ("next", "alternate"):
            self._add(attributes["href"], 0)

    def end(self, tag: str) -> None:
        name = tag.rpartition("}")[2]
        if self._open:
            self._open.pop()
        text, self._text = "".join(self._text or ()).strip(), None
        if name == "loc":
            # <image:loc> and <video:player_loc> stand deeper than the URL they belong to.
            self._url = self._url or text
        elif name == "lastmod":
            self._lastmod = lastmod_ms(text)
        elif name in ("link", "guid") and text and self._form == "feed":
            if "item" in self._open:
                self._url = text if name == "link" else self._url or text
            elif name == "link":
                self._add(text, 0)
        elif name in ("url", "sitemap", "item", "entry") and self._url:
            self._add(self._url, self._lastmod)
            self._url = ""

    def data(self, text: str) -> None:
        if self._text is not None and self._length <= LONGEST_URL:
            self._text.append(text)
            self._length += len(text)

    def close(self) -> None:
        return None

    def _add(self, url: str, lastmod: int) -> None:
        if len(self.links) < self._max_urls:
            self.links.append(RawLink(url, self._form, 0, lastmod))
        else:
            self.dropped += 1


def lastmod_ms(text: str) -> int:
    """A date of W3C's kind in milliseconds since 1970; 0: not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        day = _DATE.match(text)
        if day is None:
            return 0
        try:
            moment = datetime(int(day[1]), int(day[2] or 1), int(day[3] or 1))
        except ValueError:
            return 0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, int(moment.timestamp() * 1000))
