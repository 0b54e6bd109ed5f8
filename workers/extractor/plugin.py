"""What a user's own function is given and may yield.

Authors import both from `gregor.plugins`, which shows one.

It runs in a process of its own. What it raises becomes a verdict, and past its time it is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any

import msgspec
from parsel import Selector

from schemas.pages import PageFacts
from workers.extractor.charset import decode
from workers.extractor.headers import header


class Link(msgspec.Struct, frozen=True):
    """A link that the function found; joined to the page's URL and treated like any other."""

    url: str


class Page:
    """A response."""

    def __init__(self, facts: PageFacts, body: bytes) -> None:
        self.facts = facts
        self.body = body

    @property
    def url(self) -> str:
        return self.facts.url

    @property
    def status(self) -> int:
        return self.facts.status

    def header(self, name: str) -> str:
        """The first header of this name; empty: none."""
        return header(self.facts.response_headers, name.lower())

    @cached_property
    def text(self) -> str:
        return decode(self.body, self.header("content-type")).text

    @cached_property
    def selector(self) -> Selector:
        """The page for CSS and XPath (parsel)."""
        return Selector(text=self.text or "<html></html>", type="html", base_url=self.url)


Function = Callable[[Page], Iterable[Mapping[str, Any] | Link] | None]


def load(name: str) -> Function:
    """The function named "module:function"; raises what importing it raises."""
    module, _, attribute = name.partition(":")
    function: Function = getattr(import_module(module), attribute)
    if not callable(function):
        raise TypeError(f"{name} is not a function")
    return function
