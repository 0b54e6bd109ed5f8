"""r(K): when a URL that was fetched is fetched again."""

from typing import Final

from gregor.config.frontier import Revisit
from schemas.fetched import FetchResult
from streams.frontier.entry import Extra

HOUR_S: Final = 3600
SHORTER: Final = 0.5
LONGER: Final = 1.5
GONE_AFTER: Final = 2
"""Visits in a row answered 404 or 410."""
_GONE: Final = (404, 410)


def next_visit(settings: Revisit, result: FetchResult, before: Extra) -> Extra | None:
    """What the next visit needs to know of this one, its interval among it; None: the URL is gone."""
    misses = before.misses + 1 if result.status in _GONE else 0
    if misses >= GONE_AFTER:
        return None
    unchanged = result.outcome == "not-modified" or (bool(before.digest) and result.digest == before.digest)
    same_validators = result.outcome == "not-modified"
    return Extra(
        visit=before.visit + 1,
        etag=result.etag or (before.etag if same_validators else ""),
        last_modified=result.last_modified or (before.last_modified if same_validators else ""),
        digest=before.digest if same_validators else result.digest,
        interval_s=_interval_s(settings, before, unchanged),
        misses=misses,
    )


def _interval_s(settings: Revisit, before: Extra, unchanged: bool) -> int:
    usual = settings.interval_hours * HOUR_S
    if settings.mode == "fixed" or not before.visit:
        return max(1, int(usual))
    last = before.interval_s or usual
    wanted = last * (LONGER if unchanged else SHORTER)
    return max(1, int(min(max(wanted, settings.shortest_hours * HOUR_S), settings.longest_hours * HOUR_S)))
