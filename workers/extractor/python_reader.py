"""Links of HTML pages by parsers that Python has: a pure function of a page's text, its charset and its URL.

Two parsers read pages. Lexbor builds the tree a browser would build and is the fast one; it gets the pages that cannot cost it much
time or memory whatever they hold (tree_bounds.py). All others go through libxml2's event parser (events.py); where that stops, what
was found until then is the answer, marked incomplete.

Links come element by element (all of <link>, then all of <a>, …); those to the same place are one, with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError

from gregor.url.canonical import Url, join
from gregor.url.links import without_fragment
from workers.extractor.charset import decode, encode_query
from workers.extractor.events import EventReader
from workers.extractor.page_links import (
    MAX_TITLE,
    REQUISITE_RELS,
    ExtractLimits,
    LinkKind,
    PageLinks,
    RawLink,
    kind_of,
    refresh_target,
    rel_bits,
)
from workers.extractor.reduction import reduced
from workers.extractor.requisites import REQUISITES, css_urls, requisites_of
from workers.extractor.robots_meta import RobotsDirectives, from_content
from workers.extractor.tree_bounds import fits_lexbor

T = TypeVar("T")

_ELEMENTS: Final = ("base", "title", "meta", "link", "a", "area", "iframe", "frame")
_ALL_ELEMENTS: Final = (*_ELEMENTS, *REQUISITES)
_FOREIGN: Final = frozenset(("svg", "math"))
_HTML_INSIDE: Final = frozenset(("head", "body", "foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext"))
"""Elements with nothing but HTML directly in them, also those of drawings and formulas."""
_MAX_STEPS_UP: Final = 10_000


def read(body: bytes, content_type: str, url: str, limits: ExtractLimits) -> PageLinks:
    """The links of a page of HTML."""
    page = decode(body, content_type)
    elements = _ALL_ELEMENTS if limits.requisites else _ELEMENTS
    try:
        found = _Collector(url, page.charset, limits)
        if _read_by_tree(page.utf8, found, elements):
            return found.result()
    except SelectolaxError:
        # It found no memory for its tree, say; what was taken until then is taken again.
        pass
    return read_events(page.utf8, page.charset, url, limits)


def read_tree(data: bytes, charset: str, url: str, limits: ExtractLimits) -> PageLinks:
    """Of a page in UTF-8 all that lexbor's tree of it holds, whatever that costs: what other readers are measured by."""
    found = _Collector(url, charset, limits)
    _read_tree(data, found, _ALL_ELEMENTS if limits.requisites else _ELEMENTS)
    return found.result()


def read_events(data: bytes, charset: str, url: str, limits: ExtractLimits) -> PageLinks:
    """The same by libxml2, which builds no tree."""
    found = _Collector(url, charset, limits)
    found.complete = _PageEvents(found, _ALL_ELEMENTS if limits.requisites else _ELEMENTS).read(data)
    return found.result()


def _read_by_tree(data: bytes, found: _Collector, elements: Sequence[str]) -> bool:
    """False: the page is not for a tree."""
    # Requisites are in so many elements that there is little to leave out.
    plain = reduced(data) if elements is _ELEMENTS else None
    pieces = plain.pieces() if plain is not None else []
    if plain is not None and all(map(fits_lexbor, pieces)):
        found.add_hrefs(plain.hrefs)
    elif fits_lexbor(data):
        pieces = [data]
    else:
        return False
    for piece in pieces:
        _read_tree(piece, found, elements)
    return True


def _read_tree(data: bytes, found: _Collector, elements: Sequence[str]) -> None:
    parser = LexborHTMLParser(data, options=LexborDocumentOptions.WO_EVENTS)
    for tag in elements:
        # One walk over the tree for each is still faster than one selector for all of them.
        nodes = parser.tags(tag)
        if tag == "a":
            found.add_anchors([node.attributes for node in nodes])
        elif tag == "title":
            for node in islice(_of_html(nodes), 1):
                found.add_text(tag, node.text(deep=False))
        elif tag == "base":
            for node in islice(_of_html(node for node in nodes if "href" in node.attributes), 1):
                found.add(tag, node.attributes)
        elif tag == "style":
            for node in nodes:
                found.add_text(tag, node.text(deep=False))
        else:
            for node in nodes:
                found.add(tag, node.attributes)


def _of_html(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Those that belong to the page and not to a drawing or formula in it, as far as that many steps towards the root tell."""
    left = _MAX_STEPS_UP
    for node in nodes:
        above = node.parent
        while above is not None and (name := (above.tag or "").lower()) not in _HTML_INSIDE and name not in _FOREIGN:
            left -= 1
            if left < 0:
                return
            above = above.parent
        if above is None or name not in _FOREIGN:
            yield node


class _PageEvents(EventReader):
    """What the event parser tells of a page, for the collector."""

    def __init__(self, found: _Collector, wanted: Sequence[str]) -> None:
        super().__init__(frozenset(wanted) | _FOREIGN)
        self._found = found
        self._text: list[str] | None = None
        self._foreign = 0

    def opened(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _FOREIGN:
            self._foreign += 1
        elif self._foreign and (tag == "title" or tag == "base"):
            # That of a drawing.
            pass
        elif tag == "title" or tag == "style":
            self._text = []
        else:
            self._found.add(tag, attributes)

    def closed(self, tag: str) -> None:
        if tag in _FOREIGN:
            self._foreign -= 1
        elif (tag == "title" or tag == "style") and self._text is not None:
            text, self._text = "".join(self._text), None
            self._found.add_text(tag, text)

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)


class _Collector:
    """Takes the elements of a page in any order and keeps what is asked for."""

    def __init__(self, url: str, charset: str, limits: ExtractLimits) -> None:
        self.complete = True
        self._url = url
        self._charset = charset
        self._utf = charset.startswith("utf-")
        self._limits = limits
        self._base: str | None = None
        self._links: dict[str, list[RawLink]] = {tag: [] for tag in _ALL_ELEMENTS}
        self._anchors: Counter[tuple[str, int]] = Counter()
        """(href, bits of rel) → how often."""
        self._room = limits.max_links
        self._dropped = 0
        self._robots = RobotsDirectives()
        self._title: str | None = None

    def add(self, tag: str, attributes: Mapping[str, str | None]) -> None:
        if tag == "a":
            self.add_anchors((attributes,))
        elif tag == "area":
            if "href" in attributes:
                self._link(tag, attributes["href"] or "", "area", rel_bits(attributes.get("rel") or ""))
        elif tag == "link":
            self._link_element(attributes)
        elif tag == "meta":
            self._meta(attributes)
        elif tag == "base":
            if self._base is None and "href" in attributes:
                joined = join(self._url, attributes["href"] or "")
                self._base = joined.text if isinstance(joined, Url) else self._url
        elif tag == "iframe" or tag == "frame":
            if "src" in attributes:
                self._link(tag, attributes["src"] or "", "iframe" if tag == "iframe" else "frame")
        elif self._limits.requisites:
            for href in requisites_of(tag, attributes):
                self._link(tag, href, "requisite")

    def add_anchors(self, anchors: Sequence[Mapping[str, str | None]]) -> None:
        """Most links by far, hence without a call for each."""
        found = [
            (
                without_fragment(attributes["href"] or ""),
                rel_bits(attributes["rel"] or "") if "rel" in attributes else 0,
            )
            for attributes in anchors
            if "href" in attributes
        ]
        self._anchors.update(self._within_room(found))

    def add_hrefs(self, hrefs: list[bytes]) -> None:
        """Anchors of a plain page."""
        for href, times in Counter(self._within_room(hrefs)).items():
            self._anchors[(href.replace(b"&amp;", b"&") if b"&" in href else href).decode(), 0] += times

    def _within_room(self, found: list[T]) -> list[T]:
        dropped = max(0, len(found) - self._room)
        self._dropped += dropped
        self._room -= len(found) - dropped
        return found[: len(found) - dropped] if dropped else found

    def add_text(self, tag: str, text: str) -> None:
        """The content of a <title> or <style>."""
        if tag == "title":
            if self._title is None:
                self._title = " ".join(text.split())[:MAX_TITLE]
        elif self._limits.requisites:
            for href in css_urls(text):
                self._link(tag, href, "requisite")

    def result(self) -> PageLinks:
        for (href, rel), times in self._anchors.items():
            href = href if self._utf else encode_query(href, self._charset)
            self._links["a"].append(RawLink(href, "a", rel, 0, times))
        return PageLinks(
            base=self._base or self._url,
            links=[link for links in self._links.values() for link in links],
            dropped=self._dropped,
            robots=self._robots,
            title=self._title or "",
            charset=self._charset,
            complete=self.complete,
        )

    def _link(self, tag: str, href: str, kind: LinkKind, rel: int = 0) -> None:
        if self._room <= 0:
            self._dropped += 1
            return
        self._room -= 1
        self._links[tag].append(RawLink(href if self._utf else encode_query(href, self._charset), kind, rel))

    def _link_element(self, attributes: Mapping[str, str | None]) -> None:
        href, words = attributes.get("href"), (attributes.get("rel") or "").lower().split()
        if href is None:
            return
        kind = kind_of(words)
        if kind is not None:
            self._link("link", href, kind, rel_bits(" ".join(words)))
        elif self._limits.requisites and not REQUISITE_RELS.isdisjoint(words):
            self._link("link", href, "requisite")

    def _meta(self, attributes: Mapping[str, str | None]) -> None:
        content = attributes.get("content") or ""
        name = (attributes.get("name") or "").strip().lower()
        if name == "robots" or name == self._limits.agent.lower():
            self._robots |= from_content(content)
        if (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            target = refresh_target(content)
            if target is not None:
                self._link("meta", target, "refresh")
