"""HTML as events: libxml2's parser builds no tree, and is stopped where the depth of a page would cost too much time.

It walks its open elements only at an end tag, so that tags times depth bounds its time. A page of many tags may be less deep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from lxml import etree  # type: ignore[import-untyped]

STEPS: Final = 300_000_000
MIN_DEPTH_LIMIT: Final = 256
_PIECE: Final = 65_536


class Events(Protocol):
    """Who is told."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def data(self, text: str) -> None: ...


def read_events(text: str, told: Events) -> bool:
    """Tell of every element and text; False when the page was too deep to be read to its end."""
    target = _Guard(told, max(MIN_DEPTH_LIMIT, STEPS // (text.count("<") + 1)))
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    data = text.encode("utf-8", "replace")
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


class _Guard:
    """Passes events on and counts the depth; what a template holds is no part of the page until a script copies it."""

    def __init__(self, told: Events, max_depth: int) -> None:
        self._told = told
        self._max_depth = max_depth
        self._depth = 0
        self._templates = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > self._max_depth:
            raise _TooDeep
        if tag == "template":
            self._templates += 1
        elif not self._templates:
            self._told.start(tag, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "template":
            self._templates -= 1
        elif not self._templates:
            self._told.end(tag)

    def data(self, text: str) -> None:
        if not self._templates:
            self._told.data(text)

    def close(self) -> None:
        return None
