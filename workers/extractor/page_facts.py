"""Facts of a page as a whole: its main text and its language, read in one pass without a tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from workers.extractor.charset import decode
from workers.extractor.events import EventReader
from workers.extractor.headers import Headers, header

# fmt: off
_SKIPPED: Final = frozenset((
    "script", "style", "noscript", "nav", "header", "footer", "aside", "form", "button", "select", "svg", "iframe",
    "object", "title",
))
_BLOCKS: Final = frozenset((
    "p", "div", "section", "article", "main", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "dl", "dt", "dd",
    "table", "tr", "td", "th", "pre", "blockquote", "br", "hr", "figure", "figcaption", "body",
))
# fmt: on
_MAIN: Final = ("main", "article")
_LEAST_SHARE: Final = 0.2
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")


class PageText(msgspec.Struct, frozen=True):
    """What a page says, and in which language."""

    text: str = ""
    """Main content, one block a line; everything outside of navigation where the page does not mark its main part."""
    language: str = ""
    """As declared, in lower case ("en-us"); empty: not declared."""


def read_text(body: bytes, content_type: str, headers: Headers, max_bytes: int) -> PageText:
    """Of an HTML page. Any bytes are answered, none raise."""
    reader = _TextReader(max_bytes)
    reader.read(decode(body, content_type).utf8)
    declared = reader.language or header(headers, "content-language").partition(",")[0]
    found = _LANGUAGE.fullmatch(declared.strip())
    return PageText(reader.text(), found[0].lower().replace("_", "-") if found else "")


class _TextReader(EventReader):
    """Collects text, that of the main part apart."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(frozenset())
        self.language = ""
        self._room = max_bytes
        self._max_bytes = max_bytes
        self._all: list[str] = []
        self._main: list[str] = []
        self._skipping = 0
        self._main_at: int | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        if tag in _SKIPPED:
            self._skipping += 1
        elif self._main_at is None and (tag in _MAIN or attributes.get("role") == "main"):
            self._main_at = self._depth
        elif tag == "html":
            self.language = attributes.get("lang") or attributes.get("xml:lang") or ""
        elif tag == "meta" and not self.language:
            name = (attributes.get("property") or attributes.get("http-equiv") or "").lower()
            if name in ("og:locale", "content-language"):
                self.language = attributes.get("content") or ""
        if tag in _BLOCKS:
            self.data("\n")

    def end(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        elif self._depth == self._main_at:
            self._main_at = None
        super().end(tag)
        if tag in _BLOCKS:
            self.data("\n")

    def data(self, text: str) -> None:
        if self._skipping or self._room <= 0:
            return
        self._room -= len(text)
        self._all.append(text)
        if self._main_at is not None:
            self._main.append(text)

    def text(self) -> str:
        main, everything = _clean(self._main), _clean(self._all)
        chosen = main if len(main) >= _LEAST_SHARE * len(everything) else everything
        return chosen.encode("utf-8", "replace")[: self._max_bytes].decode("utf-8", "ignore")


def _clean(pieces: list[str]) -> str:
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)
