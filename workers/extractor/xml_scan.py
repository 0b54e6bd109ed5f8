"""The tags and texts of an XML document, however badly it is written.

Sitemaps are made by programs that escape nothing and close little, and a reader that keeps to the standard loses what follows the first
fault. This one has no faults: what is no tag is text, what is no reference is its characters, and which tag closes which is for the
listener to say. Nothing is loaded and no entity is expanded but those of XML and HTML, so that a bomb of them is a few bytes of text.

Work is linear in the document: a tag ends at the next "<" at the latest, and what is kept between pieces is bounded.
"""

from __future__ import annotations

import html
import re
from html.entities import html5
from typing import Final, Protocol

LONGEST_TAG: Final = 65_536
MOST_TAGS: Final = 3_000_000
"""A list at its limit of bytes has fewer unless it is made of nothing else; each costs about a microsecond."""
_TAG = re.compile(r"""([^<]*+)<(?:(/)|(?=[A-Za-z_:]))([^\s<>/"'=]++)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""")
_NO_TAG = re.compile(r"<+(?=<)|<[^<]*+")
_ATTRIBUTE = re.compile(r"""([^\s=/"'<>]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'))?+""")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,9}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{0,31}+);")
_DTD_INSIDE = re.compile(r"[\[>]")
_SECTIONS: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ""))


class TooMuch(Exception):
    """Ends reading: more tags, or deeper ones, than any list has."""


class Listener(Protocol):
    """Who is told what stands in a document, in its order."""

    own_entities: bool
    """Set when the document has a place in which it may define entities."""

    def start(self, name: str, attributes: str) -> None:
        """A start tag; its attributes as they are written, for `attributes_of`. An empty element is a start and an end."""

    def end(self, name: str) -> None: ...

    def data(self, text: str) -> None:
        """A part of a text, with its references."""


class Scanner:
    """Given a document piece by piece, tells a listener of it."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._kept = ""
        """Of the last piece: what may go on in the next one."""
        self._until = ""
        """What ends the comment, CDATA section, instruction or declaration that is open; empty: none is."""
        self._tags_left = MOST_TAGS

    def feed(self, text: str) -> None:
        text, self._kept = self._kept + text, ""
        at = 0
        while at < len(text):
            at = self._section(text, at) if self._until else self._outside(text, at)

    @property
    def in_tag(self) -> bool:
        """Whether what was given until now ends in the middle of a tag."""
        return bool(self._kept) and not self._until and not self._kept.startswith("<!")

    @property
    def in_section(self) -> bool:
        """Whether it ends in the middle of a comment or the like."""
        return bool(self._until) or self._kept.startswith("<!")

    def _outside(self, text: str, at: int) -> int:
        """Tags with the texts between them, as many as follow each other, and what then begins."""
        at = self._tags(text, at)
        sign = text.find("<", at)
        if sign < 0:
            self._listener.data(text[at:])
            return len(text)
        self._count(1)
        self._listener.data(text[at:sign])
        if text.startswith(("<!", "<?"), sign):
            return self._begin_section(text, sign)
        return self._no_tag(text, sign)

    def _tags(self, text: str, at: int) -> int:
        listener = self._listener
        tags = 0
        while (found := _TAG.match(text, at)) is not None:
            before, closing, name, rest = found.groups()
            if before:
                listener.data(before)
            if closing:
                listener.end(name)
            else:
                listener.start(name, rest)
                if rest.endswith("/"):
                    listener.end(name)
            at = found.end()
            tags += 1
        self._count(tags)
        return at

    def _count(self, tags: int) -> None:
        self._tags_left -= tags
        if self._tags_left < 0:
            raise TooMuch

    def _no_tag(self, text: str, sign: int) -> int:
        """A sign that begins no tag is text; at the end of a piece it may still begin one."""
        found = _NO_TAG.match(text, sign)
        end = found.end() if found else len(text)
        if end == len(text) and end - sign <= LONGEST_TAG:
            self._kept = text[sign:]
        else:
            self._listener.data(text[sign:end])
        return end

    def _begin_section(self, text: str, at: int) -> int:
        for start, until in _SECTIONS:
            if text.startswith(start, at):
                self._until = until or "[>"
                return at + len(start)
            if len(text) - at < len(start) and start.startswith(text[at:]):
                break
        self._kept = text[at:]
        return len(text)

    def _section(self, text: str, at: int) -> int:
        if self._until == "[>":
            return self._declaration(text, at)
        end = text.find(self._until, at)
        inside = self._until == "]]>"
        if end < 0:
            # Its end may be cut in two.
            kept = min(len(text) - at, len(self._until) - 1)
            if inside:
                self._cdata(text[at : len(text) - kept])
            self._kept = text[len(text) - kept :]
            return len(text)
        if inside:
            self._cdata(text[at:end])
        end += len(self._until)
        self._until = ">" if self._until == "]" else ""
        return end

    def _declaration(self, text: str, at: int) -> int:
        """A DOCTYPE has its end behind the part in brackets, if there is one."""
        found = _DTD_INSIDE.search(text, at)
        if found is None:
            return len(text)
        if found[0] == "[":
            self._listener.own_entities = True
            self._until = "]"
        else:
            self._until = ""
        return found.end()

    def _cdata(self, text: str) -> None:
        """What stands there has no references; written as text it has one for each ampersand."""
        if text:
            self._listener.data(text.replace("&", "&amp;"))


def attributes_of(text: str) -> dict[str, str]:
    """The attributes of a start tag, those of no value as empty; of several with one name the first."""
    found: dict[str, str] = {}
    for attribute in _ATTRIBUTE.finditer(text):
        found.setdefault(attribute[1], unescaped((attribute[2] or "  ")[1:-1]))
    return found


def unescaped(text: str) -> str:
    """With the references of XML and HTML replaced; an ampersand that begins none is one."""
    return _REFERENCE.sub(_replaced, text) if "&" in text else text


def names_an_entity(text: str) -> bool:
    """Whether a text with references, not yet replaced, has one that neither XML nor HTML knows."""
    return any(_replaced(reference) == reference[0] for reference in _REFERENCE.finditer(text))


def _replaced(reference: re.Match[str]) -> str:
    text = reference[0]
    return html.unescape(text) if text[1] == "#" or text[1:] in html5 else text
