"""What the museum's own log says of a crawl."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gregor.demo.museum import Museum


class SiteJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl as the site saw it."""

    urls: int
    """URLs that a complete crawl asks for, the endless calendar apart."""
    requests: int
    """All that were made, robots.txt apart."""
    missed: tuple[str, ...]
    """Never asked for, though they should have been."""
    strange: tuple[str, ...]
    """Asked for, though they should not have been: closed by robots.txt, behind nofollow, too deep in a trap."""
    too_often: tuple[str, ...]
    """Asked for more often than needed."""
    endless: int
    """URLs of the calendar that were asked for."""
    endless_allowed: int

    @property
    def clean(self) -> bool:
        return not (self.missed or self.strange or self.too_often) and self.endless <= self.endless_allowed


def judge(museum: Museum, requested: Mapping[str, int]) -> SiteJudgement:
    expected = museum.asked()
    endless = {url: times for url, times in requested.items() if museum.is_endless(url)}
    asked = {url: times for url, times in requested.items() if url not in endless}
    return SiteJudgement(
        urls=len(expected),
        requests=sum(requested.values()),
        missed=tuple(sorted(expected.keys() - asked.keys())),
        strange=tuple(sorted(asked.keys() - expected.keys())),
        too_often=tuple(
            sorted(
                [url for url, times in asked.items() if 0 < expected[url] < times]
                + [url for url, times in endless.items() if times > 1]
            )
        ),
        endless=len(endless),
        endless_allowed=museum.endless_asked,
    )
