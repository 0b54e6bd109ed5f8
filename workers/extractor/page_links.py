"""The links of a page as its readers give them, whoever read it: what is said of one link, of a page, and what is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from gregor.url.canonical import DEFAULT_RULES, CanonicalRules, Url, UrlRefusal
from gregor.url.links import Joiner
from schemas.discovered import Rel
from workers.extractor.robots_meta import RobotsDirectives

LinkKind: TypeAlias = Literal[
    "a",
    "area",
    "iframe",
    "frame",
    "link-next",
    "link-prev",
    "canonical",
    "alternate",
    "refresh",
    "redirect",
    "requisite",
    "sitemap",
    "feed",
    "plugin",
]

MAX_TITLE: Final = 512
REQUISITE_RELS: Final = frozenset(("stylesheet", "icon", "apple-touch-icon", "manifest", "preload", "modulepreload"))
"""What a <link> is to a page that makes it one of its requisites."""
_REFRESH: Final = re.compile(
    r"\s*+[\d.]++(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(.*)", re.IGNORECASE | re.DOTALL | re.ASCII
)
_REL_WORDS: Final = {"nofollow": Rel.NOFOLLOW, "ugc": Rel.UGC, "sponsored": Rel.SPONSORED}


class RawLink(msgspec.Struct, frozen=True, gc=False):
    """A link as it stands in the page, not joined yet; its query is already in the page's charset. Anchors are without fragment."""

    href: str
    kind: LinkKind
    rel: int = 0
    """Bits of schemas.discovered.Rel."""
    lastmod_ms: int = 0
    """What a sitemap says of its last change; 0: nothing."""
    times: int = 1
    """How often it stands in the page like this."""
    url: Url | str | None = None
    """Where it leads, or for what reason nowhere, if who read the page knows; None: it is still to be joined."""

    def joined(self, joiner: Joiner, href: str) -> Url | UrlRefusal:
        """Where it leads; ``href`` is what is joined if nobody has."""
        if self.url is None:
            return joiner.join(href)
        return UrlRefusal(self.url) if isinstance(self.url, str) else self.url


class PageLinks(msgspec.Struct, frozen=True):
    """What a page says about other pages, and about itself to robots."""

    base: str
    """What hrefs are joined to: the page's URL, or that of its base element."""
    links: list[RawLink] = []
    dropped: int = 0
    """Links beyond the limit."""
    robots: RobotsDirectives = RobotsDirectives()
    title: str = ""
    charset: str = ""
    complete: bool = True
    """False when the page was nested too deeply to be read to its end."""


class ExtractLimits(msgspec.Struct, frozen=True):
    """Bounds of one page, what counts as a link, and the name under which robots directives address this crawler."""

    max_links: int = 50_000
    agent: str = "gregor"
    requisites: bool = False
    rules: CanonicalRules = DEFAULT_RULES
    """By which links are joined, if they are."""


def refresh_target(content: str) -> str | None:
    """Where a meta refresh leads: "5; url='next.html'" → "next.html"; None when it only reloads the page."""
    refresh = _REFRESH.fullmatch(content)
    if refresh is None:
        return None
    target = refresh[1].strip()
    if target[:1] in ("'", '"'):
        target = target[1:].partition(target[0])[0]
    return target or None


def kind_of(words: Sequence[str]) -> LinkKind | None:
    """What the words of a <link>'s rel make of it; None: it leads to no page."""
    if "canonical" in words:
        return "canonical"
    if "next" in words:
        return "link-next"
    if "prev" in words or "previous" in words:
        return "link-prev"
    if "alternate" in words and "stylesheet" not in words:
        return "alternate"
    return None


def rel_bits(rel: str) -> int:
    """The bits of schemas.discovered.Rel in a rel attribute."""
    bits = 0
    for word in rel.lower().split():
        bits |= _REL_WORDS.get(word, 0)
    return int(bits)
