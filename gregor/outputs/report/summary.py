"""summary.json: the figures of a crawl. Its keys are stable: one may be added, none changes its meaning without a new `format`."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.folds.rates import TimeWindow
from gregor.outputs.folds.refusals import RefusalCount
from gregor.outputs.folds.servers import ServerRow
from gregor.outputs.folds.times import Times
from gregor.run.progress import Progress
from gregor.run.topology import FRONTIER
from schemas.archive import ArchiveFile
from schemas.verdicts import VerdictKind

FORMAT: Final = 1
MOST_SERVERS: Final = 200
MOST_SLOWEST: Final = 10

_COUNTED: Final[tuple[tuple[str, VerdictKind], ...]] = (
    ("refused_", "refused"),
    ("dropped_", "refused"),
    ("failed_", "given-up"),
)
"""Prefix of the frontier's exact counters to the kind of its verdicts."""


class UrlCounts(Struct, frozen=True, kw_only=True):
    """URLs that the crawl knows, by what became of them; exact."""

    fetched: int
    """Visits that ended with an answer, also 3xx and 4xx."""
    waiting: int
    """Queued, under way, or waiting for another attempt."""
    failed: int
    """Given up after all attempts."""
    dropped: int
    """Closed by robots.txt."""
    revisiting: int
    """Fetched, and due for another visit some day."""


class Links(Struct, frozen=True, kw_only=True):
    """Links that the frontier judged; what the extractor knew already or refused is not among them."""

    found: int
    new: int
    known: int
    refused: int


class Spans(Struct, frozen=True, kw_only=True):
    """How long requests took, milliseconds; percentiles are at most an eighth off."""

    mean: float
    p50: float
    p95: float
    max: int


class ServerLine(Struct, frozen=True, kw_only=True):
    """One server; `server` is empty for all that have no line of their own."""

    server: str
    servers: int
    requests: int
    pages: int
    statuses: Mapping[str, int]
    errors: Mapping[str, int]
    wire_bytes: int
    times_ms: Spans
    first_ms: int
    last_ms: int
    depth: int
    robots: str
    """What its robots.txt said: rules, allow-all, refuse-all, unreachable; empty: not asked, or several servers."""
    crawl_delay_s: float
    refused: Mapping[str, int]
    """Reason to URLs, as far as verdicts were written."""


class DeepLine(Struct, frozen=True, kw_only=True):
    """One of the deepest URLs."""

    url: str
    depth: int
    segments: int


class WindowLine(Struct, frozen=True, kw_only=True):
    """One window of the time line."""

    start_ms: int
    requests: int
    pages: int
    errors: int
    wire_bytes: int
    refused: int


class TimelineLines(Struct, frozen=True, kw_only=True):
    """All windows from the first to the last, each `width_s` seconds long."""

    width_s: int
    windows: tuple[WindowLine, ...]


class ArchiveLine(Struct, frozen=True, kw_only=True):
    """Committed WARC files."""

    files: int
    bytes: int
    records: int


class Summary(Struct, frozen=True, kw_only=True):
    """The whole file. Times are milliseconds since 1970, 0 where there is none."""

    format: int
    crawl: str
    state: Literal["done", "waiting", "unfinished"]
    """Waiting: only re-crawls are left."""
    waiting_until_ms: int
    """Before when no URL may be asked for, also where that is not because of re-crawls; 0: the crawl does not wait."""
    made_ms: int
    first_ms: int
    last_ms: int
    """When the first and the last request were over."""
    duration_s: float
    """Between the two."""
    pages_per_s: float
    """Requests in that time, robots.txt apart."""
    urls: UrlCounts
    requests: int
    pages: int
    """Requests answered with 2xx."""
    robots_requests: int
    revisits: int
    wire_bytes: int
    body_bytes: int
    times_ms: Spans
    statuses: Mapping[str, int]
    outcomes: Mapping[str, int]
    types: Mapping[str, int]
    truncated: int
    links: Links
    refusals: tuple[RefusalCount, ...]
    """Largest first. Those of the frontier are exact, also where its verdicts were too many to be written."""
    server_count: int
    servers: tuple[ServerLine, ...]
    """The largest, and the others in one line."""
    slowest: tuple[ServerLine, ...]
    deepest: tuple[DeepLine, ...]
    timeline: TimelineLines
    archive: ArchiveLine
    complete: bool
    """False: older records were trimmed, so that figures from the log tell only of the rest."""
    unreadable: int
    """Records that could not be read."""


def summary_of(
    crawl: str, view: CrawlView, look: Progress, archive: Iterable[ArchiveFile], *, complete: bool, now_ms: int
) -> Summary:
    totals, counters = view.totals, look.counters
    rows = view.servers.all()
    first, last = (
        min(filter(None, (row.first_ms for row in rows)), default=0),
        max((row.last_ms for row in rows), default=0),
    )
    duration = (last - first) / 1000
    return Summary(
        format=FORMAT,
        crawl=crawl,
        state="done" if look.idle else "waiting" if look.waiting_until_ms is not None else "unfinished",
        waiting_until_ms=look.waits_until_ms(now_ms),
        made_ms=now_ms,
        first_ms=first,
        last_ms=last,
        duration_s=round(duration, 3),
        pages_per_s=round(totals.requests / duration, 1) if duration else 0.0,
        urls=urls_of(counters),
        requests=totals.requests,
        pages=totals.pages,
        robots_requests=totals.robots_requests,
        revisits=totals.revisits,
        wire_bytes=totals.wire_bytes,
        body_bytes=totals.body_bytes,
        times_ms=spans_of(totals.times),
        statuses=dict(sorted(totals.statuses.items())),
        outcomes=largest_first(totals.outcomes),
        types=largest_first(totals.types),
        truncated=totals.truncated,
        links=links_of(counters),
        refusals=tuple(refusals_of(view, counters)),
        server_count=sum(row.servers for row in rows),
        servers=tuple(map(server_line, view.servers.largest(MOST_SERVERS))),
        slowest=tuple(map(server_line, view.servers.slowest(MOST_SLOWEST))),
        deepest=tuple(DeepLine(url=one.url, depth=one.depth, segments=one.segments) for one in view.deepest.all()),
        timeline=timeline_of(view),
        archive=_archive(archive),
        complete=complete,
        unreadable=view.unreadable,
    )


def urls_of(counters: Mapping[str, int]) -> UrlCounts:
    return UrlCounts(
        fetched=counters.get("confirmed", 0),
        waiting=sum(counters.get(name, 0) for name in ("queued", "leased", "retrying")),
        failed=counters.get("failed", 0),
        dropped=counters.get("dropped", 0),
        revisiting=counters.get("revisiting", 0),
    )


def links_of(counters: Mapping[str, int]) -> Links:
    return Links(
        found=counters.get("discovered", 0),
        new=counters.get("admitted", 0),
        known=counters.get("duplicates", 0),
        refused=sum(count for name, count in counters.items() if name.startswith("refused_")),
    )


def refusals_of(view: CrawlView, counters: Mapping[str, int]) -> list[RefusalCount]:
    """What verdicts tell, with the frontier's counters in place of its verdicts' counts wherever there is one."""
    lines = {key: line for key, line in view.refusals.lines.items() if line.kind != "delayed" and line.count}
    for prefix, kind in _COUNTED:
        for name, count in counters.items():
            if name.startswith(prefix) and count:
                reason = name.removeprefix(prefix)
                known = lines.get((FRONTIER.name, kind, reason))
                lines[FRONTIER.name, kind, reason] = RefusalCount(
                    stage=FRONTIER.name, kind=kind, reason=reason, count=count, example=known.example if known else ""
                )
    return sorted(lines.values(), key=lambda line: (-line.count, line.reason, line.kind, line.stage))


def server_line(row: ServerRow) -> ServerLine:
    robots = max(row.robots.values(), default=None)
    return ServerLine(
        server=row.server,
        servers=row.servers,
        requests=row.requests,
        pages=row.pages,
        statuses=dict(sorted(row.statuses.items())),
        errors=largest_first(row.errors),
        wire_bytes=row.wire_bytes,
        times_ms=spans_of(row.times),
        first_ms=row.first_ms,
        last_ms=row.last_ms,
        depth=row.depth,
        robots=robots.verdict if robots else "",
        crawl_delay_s=robots.crawl_delay_ms / 1000 if robots else 0.0,
        refused=largest_first(row.refused),
    )


def timeline_of(view: CrawlView) -> TimelineLines:
    return TimelineLines(
        width_s=view.timeline.width_ms // 1000,
        windows=tuple(window_line(start, window) for start, window in view.timeline.series()),
    )


def window_line(start_ms: int, window: TimeWindow) -> WindowLine:
    return WindowLine(
        start_ms=start_ms,
        requests=window.requests,
        pages=window.pages,
        errors=window.errors,
        wire_bytes=window.wire_bytes,
        refused=window.refused,
    )


def _archive(files: Iterable[ArchiveFile]) -> ArchiveLine:
    found = list(files)
    return ArchiveLine(
        files=len(found), bytes=sum(one.length for one in found), records=sum(one.records for one in found)
    )


def spans_of(times: Times) -> Spans:
    return Spans(
        mean=round(times.mean_ms, 1),
        p50=round(times.percentile(0.5), 1),
        p95=round(times.percentile(0.95), 1),
        max=times.most_ms,
    )


def largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
