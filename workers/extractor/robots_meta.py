"""What a page asks of robots in its meta elements and in X-Robots-Tag headers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec


class RobotsDirectives(msgspec.Struct, frozen=True):
    """The two directives a crawl obeys. Several sources add up: whatever one forbids is forbidden."""

    nofollow: bool = False
    noindex: bool = False

    def __or__(self, other: RobotsDirectives) -> RobotsDirectives:
        return RobotsDirectives(self.nofollow or other.nofollow, self.noindex or other.noindex)


def from_content(content: str) -> RobotsDirectives:
    """From a meta element's content: "noindex, nofollow"."""
    words = {word.strip().lower() for word in content.split(",")}
    return RobotsDirectives(nofollow=bool(words & {"nofollow", "none"}), noindex=bool(words & {"noindex", "none"}))


def from_headers(values: Iterable[str], agent: str) -> RobotsDirectives:
    """From X-Robots-Tag headers: "noindex, nofollow", or "name: noindex" for the agent of that name alone."""
    found = RobotsDirectives()
    for value in values:
        applies, words = True, []
        for part in value.split(","):
            name, colon, rest = part.partition(":")
            name = name.strip().lower()
            # "unavailable_after: 25 Jun 2030" and "max-snippet: 5" are directives with a value, not agents; nor is the rest of a date
            # with a comma in it, "Wed, 25 Jun 2030 15:00:00 GMT".
            if colon and _AGENT.fullmatch(name) and name.replace("_", "-") not in _VALUED:
                applies, part = name == agent.lower(), rest
            if applies:
                words.append(part)
        found |= from_content(",".join(words))
    return found


_AGENT = re.compile(r"(?!\d+\b)[\w.+/-]+")
_VALUED = frozenset(("unavailable-after", "max-snippet", "max-image-preview", "max-video-preview"))
