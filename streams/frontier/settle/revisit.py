"""r(K): when a URL that was fetched is fetched again."""

from typing import Final

from msgspec.structs import replace

from gregor.config.frontier import RevisitSection
from schemas.fetched import FetchResult
from streams.frontier.storage.queue_codec import Extra

HOUR_S: Final = 3600
SHORTER: Final = 0.5
LONGER: Final = 1.5
GONE_AFTER: Final = 2
"""Visits in a row answered 404 or 410."""
_GONE: Final = (404, 410)
LONGEST_KEPT: Final = 1024
"""Characters of a validator or digest; a fetcher brings none that is longer, so that whoever wrote it is not believed."""


def next_visit(settings: RevisitSection, result: FetchResult, before: Extra) -> Extra | None:
    """What the next visit needs to know of this one, its interval among it; None: the URL is gone."""
    misses = before.misses + 1 if result.status in _GONE else 0
    if misses >= GONE_AFTER:
        return None
    visit = Extra(
        visit=before.visit + 1,
        # What is known of the content stays what it was when a visit brings none, such as a redirect or an error.
        etag=before.etag,
        last_modified=before.last_modified,
        digest=before.digest,
        text_digest=before.text_digest,
        content_ms=before.content_ms,
        interval_s=_interval_s(settings, before, _growth(result, before)),
        misses=misses,
    )
    if result.outcome == "not-modified":
        etag, last_modified = _kept(result.etag) or before.etag, _kept(result.last_modified) or before.last_modified
        return replace(visit, etag=etag, last_modified=last_modified)
    if not _brought_content(result):
        return visit
    return replace(
        visit,
        etag=_kept(result.etag),
        last_modified=_kept(result.last_modified),
        digest=_kept(result.digest),
        text_digest=_kept(result.text_digest),
        content_ms=result.started_ms,
    )


def _kept(text: str) -> str:
    return text if len(text) <= LONGEST_KEPT else ""


def _brought_content(result: FetchResult) -> bool:
    return result.outcome == "ok" and bool(result.digest)


def _growth(result: FetchResult, before: Extra) -> float:
    """By what the interval is multiplied: changed is another text, or another digest where no text was read. A visit without content
    says nothing of a change, nor does the first one with any."""
    if result.outcome == "not-modified":
        return LONGER
    if not _brought_content(result) or not before.digest:
        return 1.0
    same_text = bool(result.text_digest) and result.text_digest == before.text_digest
    return LONGER if same_text or result.digest == before.digest else SHORTER


def _interval_s(settings: RevisitSection, before: Extra, growth: float) -> int:
    usual = settings.interval_hours * HOUR_S
    if settings.mode == "fixed" or not before.visit:
        return max(1, int(usual))
    wanted = (before.interval_s or usual) * growth
    return max(1, int(min(max(wanted, settings.shortest_hours * HOUR_S), settings.longest_hours * HOUR_S)))
