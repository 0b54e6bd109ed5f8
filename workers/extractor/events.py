"""HTML as events, without templates: libxml2's parser builds no tree, and is stopped where the depth of a page would cost too much time.

It walks its open elements only at an end tag, so that tags times depth bounds its time. A page of many tags may be less deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lxml import etree  # type: ignore[import-untyped]

from workers.extractor.templates import without_templates

STEPS: Final = 300_000_000
MIN_DEPTH_LIMIT: Final = 256
_PIECE: Final = 65_536


class EventReader:
    """Told of the elements whose names are ``wanted``, and of all text if there is a method ``data``.

    Python's share of reading is the calls, so that nothing stands between the parser and these methods.
    """

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._depth = 0
        self._max_depth = MIN_DEPTH_LIMIT

    def opened(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def closed(self, tag: str) -> None:
        """An element ends."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._max_depth:
            raise _PageTooDeep
        if tag in self._wanted:
            self.opened(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag in self._wanted:
            self.closed(tag)

    def close(self) -> None:
        return None

    def read(self, data: bytes) -> bool:
        """Everything of a page in UTF-8; False when it was too deep to be read to its end."""
        page = without_templates(data)
        data = page.data
        self._max_depth = max(MIN_DEPTH_LIMIT, STEPS // (data.count(b"<") + 1))
        parser = etree.HTMLParser(target=self, encoding="utf-8", huge_tree=True)
        try:
            for start in range(0, len(data), _PIECE):
                parser.feed(data[start : start + _PIECE])
            parser.close()
        except _PageTooDeep:
            return False
        except etree.LxmlError:
            # The event parser recovers from everything but a document without any element.
            pass
        return page.complete


class _PageTooDeep(Exception):
    """Ends reading."""
