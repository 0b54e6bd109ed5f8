"""The entries of a sitemap, of a feed of RSS 0.9 to 2.0, or of one of Atom, from its tags and texts.

Elements are told by their names; of which namespace they are is not looked at, save that the URL of a sitemap's entry has its entry's
prefix. An entry ends where it is closed, where the next one begins, or where it gets a second URL.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, Literal

from gregor.url.canonical import Url, join
from workers.extractor.page_links import RawLink
from workers.extractor.xml_scan import TooMuch, attributes_of, names_an_entity, unescaped

LONGEST_URL: Final = 65_536
DEEPEST: Final = 64
ABSOLUTE: Final = ("http://", "https://")
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_ENTRIES: Final = frozenset(("url", "sitemap"))
_ROOTS: Final = frozenset(("urlset", "sitemapindex"))
_OF_SITEMAPS: Final = _ENTRIES | _ROOTS | {"loc", "lastmod", "changefreq", "priority"}

Form = Literal["sitemap", "feed"]


class ListedUrls:
    """What sitemaps and feeds have in common: open elements, the text of one of them, the URLs found."""

    def __init__(self, form: Form, max_urls: int) -> None:
        self.links: list[RawLink] = []
        self.dropped = 0
        self.own_entities = False
        self._form: Form = form
        self._max_urls = max_urls
        self._open: list[str] = []
        self._text: list[str] | None = None
        """What was heard of the text that is listened to, from its first character on that is not blank; None: nobody listens."""
        self._length = 0
        self._url = ""
        """Of the entry that is open."""

    @property
    def finished(self) -> bool:
        """Whether every element was closed."""
        return not self._open

    def start(self, name: str, attributes: str) -> None:
        if len(self._open) >= DEEPEST:
            raise TooMuch
        self._open.append(name)
        self._opened(name, attributes)

    def end(self, name: str) -> None:
        """Closes what is open inside as well; a tag that closes nothing is nothing."""
        while name in self._open:
            closed = self._open.pop()
            self._closed(closed)
            if closed == name:
                return

    def data(self, text: str) -> None:
        if self._text is not None and self._length <= LONGEST_URL and (self._text or not _is_blank(text)):
            self._text.append(text)
            self._length += len(text)

    def finish(self, in_tag: bool) -> None:
        """The document ended here; if in the middle of a tag, the text before that is whole."""
        raise NotImplementedError

    def _opened(self, name: str, attributes: str) -> None:
        raise NotImplementedError

    def _closed(self, name: str) -> None:
        raise NotImplementedError

    def _listen(self) -> None:
        self._text, self._length = [], 0

    def _heard(self) -> str:
        """The text since `_listen`, as it was written."""
        text, self._text = "".join(self._text or ()).strip(), None
        return text

    def _add(self, url: str, lastmod: int = 0) -> None:
        if len(self.links) < self._max_urls:
            self.links.append(RawLink(url, self._form, 0, lastmod))
        else:
            self.dropped += 1


class SitemapUrls(ListedUrls):
    """Of a sitemap or an index."""

    def __init__(self, max_urls: int) -> None:
        super().__init__("sitemap", max_urls)
        self._entry = ""
        """Name of the entry that is open, with its prefix."""
        self._lastmod = 0
        self._of = ""
        """The element whose text is listened to, without prefix: "loc", "lastmod", or that of the entry itself."""

    def _opened(self, name: str, attributes: str) -> None:
        """Neither an entry nor its URL holds another of its kind: what of them was left open is closed."""
        prefix, _, local = name.rpartition(":")
        if self._of == "loc" and not (local in _OF_SITEMAPS and self._text):
            # Some wrap their URL once more: <loc><url>http://…</url></loc>.
            return
        if self._of:
            self._take()
        if local in _ENTRIES:
            self._finish_entry()
            if self._entry in self._open[:-1]:
                del self._open[self._open.index(self._entry) : -1]
            self._entry = name
            self._begin(local)
        elif local in ("loc", "lastmod") and self._is_of_entry(prefix):
            if local == "loc" and self._url:
                self._finish_entry()
            if self._entry in self._open:
                del self._open[self._open.index(self._entry) + 1 : -1]
            self._begin(local)
        elif local == "link" and "href" in attributes:
            found = attributes_of(attributes)
            if found.get("rel") == "alternate" and found.get("href"):
                self._add(found["href"])

    def _is_of_entry(self, prefix: str) -> bool:
        """<image:loc>, and a <loc> within an <image>, belong to the picture."""
        if prefix != self._entry.rpartition(":")[0]:
            return False
        for name in self._open:
            other, _, local = name.rpartition(":")
            if other == prefix and local not in _OF_SITEMAPS:
                return False
        return True

    def _closed(self, name: str) -> None:
        local = name.rpartition(":")[2]
        if local == self._of:
            self._take()
        if self._of != "loc" and (name == self._entry or local in _ROOTS):
            self._finish_entry()
            self._entry = ""

    def finish(self, in_tag: bool) -> None:
        if in_tag:
            self._take()
        self._finish_entry()

    def _begin(self, local: str) -> None:
        self._listen()
        self._of = local

    def _take(self) -> None:
        """The text that was listened to."""
        of, self._of = self._of, ""
        text = self._heard()
        if of == "lastmod":
            self._lastmod = lastmod_ms(unescaped(text))
        elif of and not self._url and (of == "loc" or text.lower().startswith(ABSOLUTE)):
            # What the document defined itself is not known here, and a URL without it would be another one.
            self._url = "" if self.own_entities and names_an_entity(text) else unescaped(text).strip()

    def _finish_entry(self) -> None:
        if self._url:
            self._add(self._url, self._lastmod)
        self._url, self._lastmod = "", 0


class FeedUrls(ListedUrls):
    """Of a feed."""

    def __init__(self, url: str, max_urls: int) -> None:
        super().__init__("feed", max_urls)
        self._bases: list[tuple[int, str]] = [(0, url)]
        """How deep an element with xml:base is, and what links in it are joined to; first the document itself."""

    def _opened(self, name: str, attributes: str) -> None:
        local = name.rpartition(":")[2]
        if "xml:base" in attributes:
            base = self._bases[-1][1]
            joined = _joined(base, attributes_of(attributes).get("xml:base", ""), base)
            self._bases.append((len(self._open), joined))
        if local in ("item", "entry"):
            self._finish_entry()
        elif local in ("link", "guid"):
            found = attributes_of(attributes)
            self._text = None
            if local == "link" and "href" in found:
                self._atom_link(found)
            elif local == "link" or found.get("isPermaLink", "true").lower() != "false":
                self._listen()

    def _atom_link(self, attributes: dict[str, str]) -> None:
        """An entry's own page is its link without rel, or "alternate"; a feed's next page is a link too."""
        rel, url = attributes.get("rel", "alternate"), self._absolute(attributes["href"])
        if "entry" in self._open:
            # <source> speaks of the feed that the entry was first in.
            if rel == "alternate" and "source" not in self._open:
                self._url = self._url or url
        elif rel in ("next", "alternate"):
            self._add(url)

    def _closed(self, name: str) -> None:
        local = name.rpartition(":")[2]
        if local in ("link", "guid"):
            text = unescaped(self._heard()).strip()
            if text and "item" in self._open:
                self._url = self._absolute(text) if local == "link" or not self._url else self._url
            elif text and local == "link":
                self._add(self._absolute(text))
        elif local in ("item", "entry"):
            self._finish_entry()
        if self._bases[-1][0] > len(self._open):
            self._bases.pop()

    def finish(self, in_tag: bool) -> None:
        self._finish_entry()

    def _finish_entry(self) -> None:
        if self._url:
            self._add(self._url)
        self._url = ""

    def _absolute(self, href: str) -> str:
        """By xml:base; without one, links are joined to the document's URL like those of any page."""
        return href if len(self._bases) == 1 else _joined(self._bases[-1][1], href, href)


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _joined(base: str, href: str, otherwise: str) -> str:
    joined = join(base, href)
    return joined.text if isinstance(joined, Url) else otherwise


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
