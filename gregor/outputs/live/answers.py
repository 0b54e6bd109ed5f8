"""What the live page and programs are told: JSON made from a view and the frontier's counters, in the shapes of summary.json."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.folds.outcomes import FINE
from gregor.outputs.folds.rates import RecentWindows, TimeWindow
from gregor.outputs.folds.servers import ServerRow
from gregor.outputs.report.meanings import REASONS, STATUSES
from gregor.outputs.report.summary import (
    Links,
    ServerLine,
    Spans,
    TimelineLines,
    UrlCounts,
    largest_first,
    links_of,
    refusals_of,
    server_line,
    spans_of,
    timeline_of,
    urls_of,
    window_line,
)

Span = Literal["5m", "1h", "24h", "all"]
SPANS: Final[Mapping[str, int]] = {"5m": 0, "1h": 1, "24h": 2}
"""Name of a span to the place of its windows in a view; ``all`` has none."""
MOST_SERVERS: Final = 500
"""Lines of one answer."""

SORTED_BY: Final[Mapping[str, Callable[[ServerRow], Any]]] = {
    "server": lambda row: row.server,
    "requests": lambda row: row.requests,
    "pages": lambda row: row.pages,
    "errors": lambda row: row.error_count,
    "refused": lambda row: row.refused_count,
    "wire_bytes": lambda row: row.wire_bytes,
    "mean": lambda row: row.times.mean_ms,
    "p95": lambda row: row.times.percentile(0.95),
    "depth": lambda row: row.depth,
    "last": lambda row: row.last_ms,
}


class StatusLine(Struct, frozen=True, kw_only=True):
    """One status code; the meaning of a rare one is empty."""

    status: str
    meaning: str
    count: int


class Overview(Struct, frozen=True, kw_only=True):
    """``/api/summary``; keys that summary.json has too mean the same."""

    crawl: str
    now_ms: int
    behind: int | None
    """Offsets of ``fetched`` and ``verdicts`` that are not in these figures yet; None: reading has not begun, or no broker answers."""
    unreadable: int
    first_ms: int
    last_ms: int
    requests: int
    pages: int
    errors: int
    robots_requests: int
    revisits: int
    wire_bytes: int
    body_bytes: int
    truncated: int
    times_ms: Spans
    statuses: tuple[StatusLine, ...]
    """Largest first."""
    outcomes: Mapping[str, int]
    types: Mapping[str, int]
    server_count: int
    urls: UrlCounts
    links: Links


class RefusalLine(Struct, frozen=True, kw_only=True):
    stage: str
    kind: str
    reason: str
    meaning: str
    count: int
    example: str


class ServerQuestion(Struct, frozen=True, kw_only=True):
    """Which part of the table of servers."""

    sort: str = "requests"
    descending: bool = True
    offset: int = 0
    limit: int = 50
    find: str = ""
    """Text that names must contain; empty: all."""


class ServerLines(Struct, frozen=True, kw_only=True):
    """``/api/servers``."""

    found: int
    """Servers that have a line and match."""
    offset: int
    servers: tuple[ServerLine, ...]
    others: ServerLine | None
    """Servers beyond those that have lines of their own, together; None: there are none."""


def overview_of(
    crawl: str, view: CrawlView, counters: Mapping[str, int], *, behind: int | None, now_ms: int
) -> Overview:
    totals, rows = view.totals, [*view.servers.rows.values(), view.servers.others]
    return Overview(
        crawl=crawl,
        now_ms=now_ms,
        behind=behind,
        unreadable=view.unreadable,
        first_ms=min(filter(None, (row.first_ms for row in rows)), default=0),
        last_ms=max(row.last_ms for row in rows),
        requests=totals.requests,
        pages=totals.pages,
        errors=totals.requests - sum(totals.outcomes.get(name, 0) for name in FINE),
        robots_requests=totals.robots_requests,
        revisits=totals.revisits,
        wire_bytes=totals.wire_bytes,
        body_bytes=totals.body_bytes,
        truncated=totals.truncated,
        times_ms=spans_of(totals.times),
        statuses=tuple(
            StatusLine(status=status, meaning=STATUSES.get(status, ""), count=count)
            for status, count in largest_first(totals.statuses).items()
        ),
        outcomes=largest_first(totals.outcomes),
        types=largest_first(totals.types),
        server_count=sum(row.servers for row in rows),
        urls=urls_of(counters),
        links=links_of(counters),
    )


def rates_of(view: CrawlView, span: Span, now_ms: int) -> TimelineLines:
    """Whole windows up to now, also those in which nothing happened; of the whole crawl, those from its first to its last."""
    if span == "all":
        return timeline_of(view)
    return _recent(view.recent[SPANS[span]], view.timeline.first_ms, now_ms)


def _recent(recent: RecentWindows, first_ms: int, now_ms: int) -> TimelineLines:
    """From the crawl's first moment on, if it is within; then at least a fifth of the span, so that columns are not too wide."""
    width = recent.width_ms
    end = now_ms - now_ms % width
    begun = min(first_ms - first_ms % width, end - recent.keep // 5 * width)
    starts = range(max(begun, end - recent.keep * width), end, width)
    return TimelineLines(
        width_s=width // 1000,
        windows=tuple(window_line(start, recent.windows.get(start, TimeWindow())) for start in starts),
    )


def refusals_told(view: CrawlView, counters: Mapping[str, int]) -> tuple[RefusalLine, ...]:
    """``/api/refusals``: largest first, those of the frontier exact."""
    return tuple(
        RefusalLine(
            stage=line.stage,
            kind=line.kind,
            reason=line.reason,
            meaning=REASONS.get(line.reason, ""),
            count=line.count,
            example=line.example,
        )
        for line in refusals_of(view, counters)
    )


def servers_of(view: CrawlView, asked: ServerQuestion) -> ServerLines:
    wanted = asked.find.lower()
    rows = [row for row in view.servers.rows.values() if wanted in row.server]
    # Equal ones by name, whichever way round.
    rows.sort(key=lambda row: row.server)
    rows.sort(key=SORTED_BY[asked.sort], reverse=asked.descending)
    others = view.servers.others
    return ServerLines(
        found=len(rows),
        offset=asked.offset,
        servers=tuple(map(server_line, rows[asked.offset : asked.offset + asked.limit])),
        others=server_line(others) if others.servers else None,
    )
