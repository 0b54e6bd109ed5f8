"""The deepest URLs that were fetched: by depth, then by the segments of their path."""

from heapq import nlargest
from typing import Final

from msgspec import Struct

from gregor.views.outcomes import NOT_ASKED
from schemas.fetched import Fetched

KEPT: Final = 20


class DeepUrl(Struct, frozen=True, order=True):
    """Greater is deeper; equal ones are told apart by the URL."""

    depth: int
    segments: int
    """Of the path, without its query."""
    url: str


def deep_urls_of(record: Fetched) -> list[DeepUrl]:
    if record.kind == "robots":
        return []
    return [
        DeepUrl(one.depth, _segments(one.path), f"{one.scheme}://{record.server}{one.path}")
        for one in record.results
        if one.outcome not in NOT_ASKED
    ]


class Deepest(Struct):
    """The deepest URLs, each once."""

    urls: dict[str, DeepUrl] = {}

    def add(self, found: list[DeepUrl]) -> None:
        for one in found:
            self.urls[one.url] = max(self.urls.get(one.url, one), one)
        if len(self.urls) > KEPT:
            self.urls = {one.url: one for one in self.all()}

    def merge(self, other: "Deepest") -> None:
        self.add(list(other.urls.values()))

    def all(self) -> list[DeepUrl]:
        """Deepest first."""
        return nlargest(KEPT, self.urls.values())


def _segments(path: str) -> int:
    return sum(map(bool, path.partition("?")[0].split("/")))
