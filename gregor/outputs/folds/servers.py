"""One row for each server: what it was asked, what it answered and how fast, what its robots.txt says, what was refused of it."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gregor.outputs.folds.counts import added
from gregor.outputs.folds.outcomes import NOT_ASKED, ended_ms, is_error, refused_urls, status_class
from gregor.outputs.folds.times import Times, add_times, times_of
from schemas.fetched import Fetched, RobotsRules
from schemas.verdicts import Verdict

MOST_REASONS: Final = 60


class RobotsSeen(Struct, frozen=True, omit_defaults=True, order=True, kw_only=True):
    """The robots.txt of one origin, as it was last asked for; a later one is greater."""

    fetched_ms: int = 0
    verdict: str
    status: int = 0
    crawl_delay_ms: int = 0
    sitemaps: int = 0


class ServerRow(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is known of one server, or of several together."""

    server: str
    """Its name; empty: several servers together."""
    servers: int = 1
    requests: int = 0
    """For pages; robots.txt is counted on its own."""
    pages: int = 0
    """Requests answered with 2xx."""
    robots_requests: int = 0
    statuses: dict[str, int] = {}
    """``2xx`` … ``5xx``, ``none`` for no response, to requests for pages."""
    errors: dict[str, int] = {}
    """Outcome to requests. Of robots.txt only those that had no response: that there is none is no error."""
    wire_bytes: int = 0
    body_bytes: int = 0
    times: Times = Times()
    first_ms: int = 0
    """When the first request was over, milliseconds since 1970; 0: there was none."""
    last_ms: int = 0
    depth: int = 0
    """Greatest depth that was fetched."""
    robots: dict[str, RobotsSeen] = {}
    """By scheme."""
    refused: dict[str, int] = {}
    """Reason to URLs, as the verdicts tell."""

    @property
    def error_count(self) -> int:
        return sum(self.errors.values())

    @property
    def refused_count(self) -> int:
        return sum(self.refused.values())


def row_of_fetched(record: Fetched) -> ServerRow:
    """What one order adds to its server's row."""
    asked = [one for one in record.results if one.outcome not in NOT_ASKED]
    ends = [ms for ms in map(ended_ms, asked) if ms]
    errors: dict[str, int] = {}
    statuses: dict[str, int] = {}
    robots = record.kind == "robots"
    for one in asked:
        if is_error(one) and not (robots and one.status):
            errors[one.outcome] = errors.get(one.outcome, 0) + 1
        if not robots:
            name = status_class(one.status)
            statuses[name] = statuses.get(name, 0) + 1
    return ServerRow(
        server=record.server,
        requests=0 if robots else len(asked),
        pages=0 if robots else sum(1 for one in asked if one.outcome == "ok"),
        robots_requests=len(asked) if robots else 0,
        statuses=statuses,
        errors=errors,
        wire_bytes=sum(max(one.wire_bytes, 0) for one in asked),
        body_bytes=sum(max(one.body_bytes, 0) for one in asked),
        times=times_of(one.timings.total for one in asked if one.started_ms > 0),
        first_ms=min(ends, default=0),
        last_ms=max(ends, default=0),
        depth=0 if robots else max((one.depth for one in asked), default=0),
        robots=_robots_of(record.robots),
    )


def row_of_verdict(record: Verdict) -> ServerRow:
    """What one verdict adds to its server's row."""
    count = refused_urls(record)
    return ServerRow(server=record.server, refused={record.reason: count} if count else {})


def add_rows(one: ServerRow, other: ServerRow) -> ServerRow:
    """Two rows of one server; the name and the number of servers are the first's."""
    return ServerRow(
        server=one.server,
        servers=one.servers,
        requests=one.requests + other.requests,
        pages=one.pages + other.pages,
        robots_requests=one.robots_requests + other.robots_requests,
        statuses=added(one.statuses, other.statuses, MOST_REASONS) if other.statuses else one.statuses,
        errors=added(one.errors, other.errors, MOST_REASONS) if other.errors else one.errors,
        wire_bytes=one.wire_bytes + other.wire_bytes,
        body_bytes=one.body_bytes + other.body_bytes,
        times=add_times(one.times, other.times),
        first_ms=min(filter(None, (one.first_ms, other.first_ms)), default=0),
        last_ms=max(one.last_ms, other.last_ms),
        depth=max(one.depth, other.depth),
        robots=_latest(one.robots, other.robots) if other.robots else one.robots,
        refused=added(one.refused, other.refused, MOST_REASONS) if other.refused else one.refused,
    )


class ServerTable(Struct):
    """The rows of all servers, or of the largest and one row for the others.

    Rows are exact while nothing is among the others. After that a row that came back tells what was seen since; sums stay exact.
    """

    limit: int = 50_000
    """Rows, of about 2 kB each."""
    rows: dict[str, ServerRow] = {}
    others: ServerRow = ServerRow(server="", servers=0)

    def add(self, row: ServerRow) -> None:
        found = self.rows.get(row.server)
        self.rows[row.server] = add_rows(found, row) if found is not None else row
        # A quarter more than the limit, so that rows are sorted once in a while and not for each newcomer.
        if len(self.rows) > self.limit + self.limit // 4:
            self._shrink()

    def merge(self, table: "ServerTable") -> None:
        for row in table.rows.values():
            self.add(row)
        self.others = _joined(self.others, [table.others])

    def all(self) -> list[ServerRow]:
        """Largest first; the others, if there are any, last."""
        return self.largest(self.limit)

    def largest(self, count: int) -> list[ServerRow]:
        """The largest first, and one row for all others, if there are any."""
        rows = sorted(self.rows.values(), key=_size, reverse=True)
        spare = [*rows[count:], *([self.others] if self.others.servers else [])]
        return [*rows[:count], _joined(ServerRow(server="", servers=0), spare)] if spare else rows

    def slowest(self, count: int, at_least: int = 3) -> list[ServerRow]:
        """By the time within which 95 of 100 requests ended, of servers with ``at_least`` requests."""
        rows = [row for row in self.rows.values() if row.times.count >= at_least]
        return sorted(rows, key=lambda row: (-row.times.percentile(0.95), row.server))[:count]

    def _shrink(self) -> None:
        rows = sorted(self.rows.values(), key=_size, reverse=True)
        self.rows = {row.server: row for row in rows[: self.limit]}
        self.others = _joined(self.others, rows[self.limit :])


def _joined(others: ServerRow, rows: Iterable[ServerRow]) -> ServerRow:
    for row in rows:
        nameless = ServerRow(server="", servers=others.servers + row.servers)
        others = add_rows(add_rows(nameless, others), _without_robots(row))
    return others


def _without_robots(row: ServerRow) -> ServerRow:
    return replace(row, robots={}) if row.robots else row


def _size(row: ServerRow) -> tuple[int, int, str]:
    return row.requests + row.robots_requests, row.refused_count, row.server


def _robots_of(rules: tuple[RobotsRules, ...]) -> dict[str, RobotsSeen]:
    return {
        one.scheme: RobotsSeen(
            fetched_ms=one.fetched_ms,
            verdict=one.verdict,
            status=one.status,
            crawl_delay_ms=one.crawl_delay_ms,
            sitemaps=len(one.sitemaps),
        )
        for one in rules
    }


def _latest(one: dict[str, RobotsSeen], other: dict[str, RobotsSeen]) -> dict[str, RobotsSeen]:
    latest = dict(one)
    for scheme, seen in other.items():
        latest[scheme] = max(latest.get(scheme, seen), seen)
    return latest
