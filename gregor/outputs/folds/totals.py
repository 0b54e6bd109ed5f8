"""The crawl in numbers: requests, statuses, outcomes, media types, bytes."""

import re
from functools import lru_cache
from typing import Final

from msgspec import Struct

from gregor.outputs.folds.counts import OTHERS, add_count, added
from gregor.outputs.folds.outcomes import NOT_ASKED
from gregor.outputs.folds.times import Times, add_times, times_of
from schemas.fetched import Fetched

MOST_TYPES: Final = 200
_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,64}")


class CrawlTotals(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Of all servers. Orders for robots.txt are counted in ``robots_requests`` alone."""

    requests: int = 0
    pages: int = 0
    """Requests answered with 2xx."""
    robots_requests: int = 0
    revisits: int = 0
    """Requests for URLs that were fetched before."""
    statuses: dict[str, int] = {}
    """Three digits, or ``none``: no response."""
    outcomes: dict[str, int] = {}
    types: dict[str, int] = {}
    """Media type of answers with 2xx to their number; ``none``: not said, ``invalid``: no media type."""
    truncated: int = 0
    wire_bytes: int = 0
    body_bytes: int = 0
    times: Times = Times()
    not_asked: int = 0
    """Results for which no request was made: the order had expired or was called off."""


def totals_of(record: Fetched) -> CrawlTotals:
    """What one order adds."""
    asked = [one for one in record.results if one.outcome not in NOT_ASKED]
    if record.kind == "robots":
        return CrawlTotals(robots_requests=len(asked))
    statuses: dict[str, int] = {}
    outcomes: dict[str, int] = {}
    types: dict[str, int] = {}
    for one in asked:
        status = f"{one.status}" if 100 <= one.status <= 999 else "none"
        statuses[status] = statuses.get(status, 0) + 1
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
        if one.outcome == "ok":
            add_count(types, media_type(one.content_type), 1, MOST_TYPES)
    return CrawlTotals(
        requests=len(asked),
        pages=outcomes.get("ok", 0),
        revisits=sum(1 for one in asked if one.visit > 0),
        statuses=statuses,
        outcomes=outcomes,
        types=types,
        truncated=sum(1 for one in asked if one.truncated),
        wire_bytes=sum(max(one.wire_bytes, 0) for one in asked),
        body_bytes=sum(max(one.body_bytes, 0) for one in asked),
        times=times_of(one.timings.total for one in asked if one.started_ms > 0),
        not_asked=len(record.results) - len(asked),
    )


def add_totals(one: CrawlTotals, other: CrawlTotals) -> CrawlTotals:
    return CrawlTotals(
        requests=one.requests + other.requests,
        pages=one.pages + other.pages,
        robots_requests=one.robots_requests + other.robots_requests,
        revisits=one.revisits + other.revisits,
        statuses=added(one.statuses, other.statuses, 1000),
        outcomes=added(one.outcomes, other.outcomes, MOST_TYPES),
        types=added(one.types, other.types, MOST_TYPES),
        truncated=one.truncated + other.truncated,
        wire_bytes=one.wire_bytes + other.wire_bytes,
        body_bytes=one.body_bytes + other.body_bytes,
        times=add_times(one.times, other.times),
        not_asked=one.not_asked + other.not_asked,
    )


@lru_cache(maxsize=1024)
def media_type(content_type: str) -> str:
    """Without parameters and in lower case; what a server made up is not repeated."""
    name = content_type.partition(";")[0].strip().lower()
    if not name:
        return "none"
    return name if _TYPE.fullmatch(name) and name != OTHERS else "invalid"
