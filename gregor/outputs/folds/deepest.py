"""The deepest URLs that were fetched: by depth, then by the segments of their path."""

from heapq import nlargest
from typing import Final

from msgspec import Struct

from gregor.outputs.folds.outcomes import NOT_ASKED
from schemas.fetched import Fetched

KEPT: Final = 20


class DeepUrl(Struct, frozen=True, order=True):
    """Greater is deeper; equal ones are told apart by the URL."""

    depth: int
    segments: int
    """Of the path, without its query."""
    url: str


_NONE: Final = DeepUrl(-(2**63), 0, "")


def deep_urls_of(record: Fetched, floor: int = -(2**63)) -> list[DeepUrl]:
    """The URLs of one order that are at least ``floor`` deep."""
    if record.kind == "robots":
        return []
    return [
        DeepUrl(one.depth, _segments(one.path), f"{one.scheme}://{record.server}{one.path}")
        for one in record.results
        if one.depth >= floor and one.outcome not in NOT_ASKED
    ]


class Deepest(Struct):
    """The deepest URLs, each once."""

    urls: dict[str, DeepUrl] = {}
    least: DeepUrl = _NONE
    """What is not deeper cannot be among them any more."""

    def add(self, found: list[DeepUrl]) -> None:
        deeper = [one for one in found if one > self.least]
        for one in deeper:
            self.urls[one.url] = max(self.urls.get(one.url, one), one)
        if deeper and len(self.urls) >= KEPT:
            kept = self.all()
            self.urls = {one.url: one for one in kept}
            self.least = kept[-1]

    def merge(self, other: "Deepest") -> None:
        self.add(list(other.urls.values()))

    def all(self) -> list[DeepUrl]:
        """Deepest first."""
        return nlargest(KEPT, self.urls.values())


def _segments(path: str) -> int:
    return sum(map(bool, path.partition("?")[0].split("/")))
