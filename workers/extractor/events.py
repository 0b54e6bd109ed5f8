"""HTML as events: libxml2's parser builds no tree, and is stopped where the depth of a page would cost too much time.

It walks its open elements only at an end tag, so that tags times depth bounds its time. A page of many tags may be less deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lxml import etree  # type: ignore[import-untyped]

STEPS: Final = 300_000_000
MIN_DEPTH_LIMIT: Final = 256
_PIECE: Final = 65_536


class EventReader:
    """Told of the elements whose names are ``wanted``, and of all text if there is a method ``data``.

    Python's share of reading is the calls, so that nothing stands between the parser and these methods. What a template
    holds is no part of the page until a script copies it, and is not told of.
    """

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted | {"template"}
        self._depth = 0
        self._max_depth = MIN_DEPTH_LIMIT
        self._templates = 0

    def opened(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def closed(self, tag: str) -> None:
        """An element ends."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._max_depth:
            raise _TooDeep
        if tag in self._wanted:
            if tag == "template":
                self._templates += 1
            elif not self._templates:
                self.opened(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in self._wanted:
            if tag == "template":
                self._templates -= 1
            elif not self._templates:
                self.closed(tag)

    def close(self) -> None:
        return None

    @property
    def in_template(self) -> bool:
        return self._templates > 0

    def read(self, data: bytes) -> bool:
        """Everything of a page in UTF-8; False when it was too deep to be read to its end."""
        self._max_depth = max(MIN_DEPTH_LIMIT, STEPS // (data.count(b"<") + 1))
        parser = etree.HTMLParser(target=self, encoding="utf-8", huge_tree=True)
        try:
            for start in range(0, len(data), _PIECE):
                parser.feed(data[start : start + _PIECE])
            parser.close()
        except _TooDeep:
            return False
        except etree.LxmlError:
            # The event parser recovers from everything but a document without any element.
            pass
        return True


class _TooDeep(Exception):
    """Ends reading."""
