"""Limits of the way that led to a URL: whether links are followed, depth, hops, hops across domains, redirects in a row.

They hold for each discovery by itself: the same URL may come again by a shorter way.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Final, Protocol

from msgspec import Struct

from gregor.config import Config
from gregor.config.servers import ServerSettings
from gregor.rules.answer import ALLOWED, UrlAnswer

NOT_FOLLOWED: Final = UrlAnswer("not-followed", "it is a link, and crawl.follow_links = false")
DEPTH: Final = UrlAnswer("depth", "it is deeper than crawl.max_depth")
HOPS: Final = UrlAnswer("hops", "it is more links away from its seed than crawl.max_hops")
OFF_SITE: Final = UrlAnswer("off-site", "the way to it crosses domains more often than frontier.max_off_site")
REDIRECTS: Final = UrlAnswer("redirects", "more redirects in a row lead to it than frontier.max_redirects")
REDIRECT_LIMIT: Final = UrlAnswer("redirect-limit", REDIRECTS.detail)
"""The extractor's word for REDIRECTS: it gives up the page that was redirected, the frontier refuses the target."""

WITHOUT_LINKS: Final = frozenset(("seed", "redirect", "requisite", "repetition"))
"""Kinds that are taken although no links are followed: they lead to a seed, or belong to one."""
REMEMBERED_TABLES: Final = 1024
_NO_LIMIT: Final = 1 << 63
"""Above every integer of a record."""


class Way(Protocol):
    """How far a URL is from its seed, as a record of ``discovered`` counts it."""

    @property
    def depth(self) -> int: ...
    @property
    def hops(self) -> int: ...
    @property
    def off_site(self) -> int: ...
    @property
    def redirects(self) -> int: ...


class WayLimit(Struct, frozen=True):
    """The most of one thing."""

    answer: UrlAnswer
    """Beyond it."""
    key: str
    """The setting."""
    most: int
    count: Callable[[Way], int]
    limited: bool = True
    """False: there is no limit, whatever ``most`` says."""

    def judge(self, way: Way) -> UrlAnswer:
        return self.answer if self.limited and self.count(way) > self.most else ALLOWED


class WayLimits:
    """Those of a configuration."""

    def __init__(self, config: Config, for_server: Callable[[str], ServerSettings] | None = None) -> None:
        """``for_server``: the settings of a server, where they are not those of the configuration alone."""
        self._config = config
        self._for_server = for_server or config.for_server
        self._followed = config.crawl.follow_links
        self._table: Final = lru_cache(maxsize=REMEMBERED_TABLES)(self._limits)
        """By the deepest level, which is all that servers differ in."""
        self._hops, self._off_site, self._redirects = [
            limit.most if limit.limited else _NO_LIMIT for limit in self._limits(0)[1:]
        ]

    def judge(self, server: str, kind: str, way: Way) -> UrlAnswer:
        """Of what was found as a ``kind`` of link to the server."""
        if not self._followed and not self.judge_kind(kind).allowed:
            return NOT_FOLLOWED
        deepest = self._for_server(server).max_depth
        # Most ways are within all limits, and that is told without going through them one by one.
        if (
            (not deepest or way.depth <= deepest)
            and way.hops <= self._hops
            and way.off_site <= self._off_site
            and way.redirects <= self._redirects
        ):
            return ALLOWED
        return next(answer for limit in self._table(deepest) if not (answer := limit.judge(way)).allowed)

    def judge_kind(self, kind: str) -> UrlAnswer:
        """The part that asks for nothing but how it was found."""
        return ALLOWED if self._followed or kind in WITHOUT_LINKS else NOT_FOLLOWED

    def may_redirect(self, redirects: int) -> bool:
        """Whether the target of one more redirect, after so many in a row, is within the limit."""
        return redirects < self._redirects

    def of_server(self, server: str) -> tuple[WayLimit, ...]:
        """One by one, for people; also those without a limit."""
        return self._table(self._for_server(server).max_depth)

    def _limits(self, deepest: int) -> tuple[WayLimit, ...]:
        """In the order in which they have the word."""
        hops, off_site = self._config.crawl.max_hops, self._config.frontier.max_off_site
        redirects = self._config.frontier.max_redirects
        return (
            WayLimit(DEPTH, "crawl.max_depth", deepest, attrgetter("depth"), deepest > 0),
            WayLimit(HOPS, "crawl.max_hops", hops, attrgetter("hops"), hops > 0),
            WayLimit(OFF_SITE, "frontier.max_off_site", off_site, attrgetter("off_site"), off_site > 0),
            WayLimit(REDIRECTS, "frontier.max_redirects", redirects, attrgetter("redirects")),
        )
