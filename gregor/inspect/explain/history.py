"""What the topics say of a URL: the partition of its server, read from end to end, a record at a time. Where sites are placed, orders and
pages stand at its home, results at its slot, discoveries and verdicts at both.

A record is decoded when it is keyed by the URL's server and its bytes hold the URL's path; of each kind the latest few are kept.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from gregor.inspect.explain.story import Discoveries, Discovery, OrderSeen, Result, UrlHistory, VerdictSeen
from gregor.operate.site_table import Whereabouts
from gregor.outputs.folds.counts import added
from gregor.runtime.transport.port import LogReader, Record
from gregor.url.canonical import Url
from schemas.codec import Undecodable
from schemas.discovered import Discovered, decode_discovered
from schemas.fetched import Fetched, FetchResult, RobotsRules, decode_fetched
from schemas.schedule import decode_order
from schemas.verdicts import decode_verdict
from streams.frontier.inspect import times_forwarded

T = TypeVar("T")

KEPT: Final = 20
REASONS: Final = 50
REMEMBERED: Final = 100_000
_ROBOTS: Final = b'"robots"'


class Gathered(Struct, frozen=True):
    """What was logged, and the last robots.txt of the URL's origin."""

    logged: UrlHistory
    robots: RobotsRules | None


def gather(reader: LogReader, url: Url, where: Whereabouts) -> Gathered:
    topics = _Topics(reader, url, where)
    verdicts, verdict_count, server_verdicts = topics.verdicts()
    orders, order_count = topics.orders()
    results = topics.results()
    logged = UrlHistory(
        discoveries=topics.discoveries(),
        verdicts=verdicts,
        verdict_count=verdict_count,
        server_verdicts=server_verdicts,
        orders=orders,
        order_count=order_count,
        results=list(results.kept),
        result_count=results.count,
        robots_asked=results.robots_asked,
        robots_last=results.robots_last,
        gaps=topics.gaps,
    )
    return Gathered(logged, results.robots)


class _Results(Struct):
    """What ``fetched`` says of the URL, and of its origin's robots.txt."""

    kept: deque[Result]
    count: int = 0
    robots: RobotsRules | None = None
    """The last that settled anything."""
    robots_asked: int = 0
    robots_last: Result | None = None


class _Topics:
    """One pass over each topic."""

    def __init__(self, reader: LogReader, url: Url, where: Whereabouts) -> None:
        self._reader = reader
        self._url = url
        self._partitions = {"schedule": (where.home,), "fetched": (where.slot,)}
        self._both = where.partitions
        self._seen: set[int] = set()
        """Records of ``discovered`` that were met, to know them again where they were forwarded to."""
        self._key = url.server.encode()
        # As the path stands within a JSON string.
        self._path = msgspec.json.encode(url.path)[1:-1]
        self.gaps: dict[str, int] = {}

    def discoveries(self) -> Discoveries:
        first: Discovery | None = None
        last: Discovery | None = None
        records = times = 0
        kinds: dict[str, int] = {}
        for record in self._records("discovered", self._path):
            found = _decoded(decode_discovered, record)
            if found is None or found.scheme != self._url.scheme or self._url.path not in found.paths:
                continue
            if self._is_repeated(record):
                continue
            times += sum(_counts(found, self._url.path))
            kinds = added(kinds, {found.kind: 1}, REASONS)
            if found.kind == "repetition":
                continue
            records += 1
            last = _found(record, found)
            first = first or last
        return Discoveries(first=first, last=last, records=records, times=times, kinds=kinds)

    def _is_repeated(self, record: Record) -> bool:
        """Whether it was met before it was forwarded. A record that comes to neither by itself, by an old table, is met once as well."""
        if len(self._both) == 1 and not times_forwarded(record.header):
            return False
        digest = xxh3_64_intdigest(record.value or b"")
        if digest in self._seen:
            return True
        if len(self._seen) < REMEMBERED:
            self._seen.add(digest)
        return False

    def verdicts(self) -> tuple[list[VerdictSeen], int, dict[str, int]]:
        named: deque[VerdictSeen] = deque(maxlen=KEPT)
        count = 0
        of_server: dict[str, int] = {}
        for record in self._records("verdicts", b""):
            verdict = _decoded(decode_verdict, record)
            if verdict is None:
                continue
            of_server = added(of_server, {f"{verdict.kind} by {verdict.reason}": max(0, verdict.count)}, REASONS)
            if verdict.url == self._url.text:
                count += 1
                named.append(
                    VerdictSeen(
                        kind=verdict.kind,
                        reason=verdict.reason,
                        stage=verdict.stage,
                        detail=verdict.detail,
                        decided_ms=verdict.decided_ms,
                        count=verdict.count,
                    )
                )
        return list(named), count, of_server

    def orders(self) -> tuple[list[OrderSeen], int]:
        kept: deque[OrderSeen] = deque(maxlen=KEPT)
        count = 0
        for record in self._records("schedule", self._path):
            order = _decoded(decode_order, record)
            if order is None:
                continue
            for one in order.urls:
                if (one.scheme, one.path) == (self._url.scheme, self._url.path):
                    count += 1
                    kept.append(
                        OrderSeen(
                            lease=order.lease,
                            offset=record.offset,
                            created_ms=order.created_ms,
                            deadline_ms=order.deadline_ms,
                            delay_ms=order.delay_ms,
                            attempt=order.attempt,
                            visit=one.visit,
                            urls=len(order.urls),
                        )
                    )
        return list(kept), count

    def results(self) -> _Results:
        found = _Results(deque(maxlen=KEPT))
        for record in self._records("fetched", b""):
            value = record.value or b""
            if self._path not in value and _ROBOTS not in value:
                continue
            fetched = _decoded(decode_fetched, record)
            if fetched is not None:
                self._add(found, record, fetched)
        return found

    def _add(self, found: _Results, record: Record, fetched: Fetched) -> None:
        for rules in fetched.robots:
            if rules.scheme == self._url.scheme and rules.verdict != "unreachable":
                found.robots = rules
        for one in fetched.results:
            if one.scheme != self._url.scheme:
                continue
            if fetched.kind == "robots":
                found.robots_asked += 1
                found.robots_last = _result(record, fetched, one)
            if one.path == self._url.path:
                found.count += 1
                found.kept.append(_result(record, fetched, one))

    def _records(self, topic: str, needle: bytes) -> Iterator[Record]:
        """Records of the URL's server whose value holds the needle."""
        ends = self._reader.ends(topic)
        for partition in self._partitions.get(topic, self._both):
            first, end = ends[partition]
            if first:
                self.gaps[topic] = self.gaps.get(topic, 0) + first
            for record in self._reader.read(topic, partition, first, end):
                if record.key == self._key and needle in (record.value or b""):
                    yield record


def _decoded(decode: Callable[[bytes | None], T], record: Record) -> T | None:
    try:
        return decode(record.value)
    except Undecodable:
        return None


def _counts(found: Discovered, path: str) -> Iterator[int]:
    for number, one in enumerate(found.paths):
        if one == path:
            yield max(1, found.counts[number]) if found.counts else 1


def _found(record: Record, found: Discovered) -> Discovery:
    return Discovery(
        offset=record.offset,
        kind=found.kind,
        referrer=found.referrer,
        found_ms=found.found_ms,
        depth=found.depth,
        hops=found.hops,
        off_site=found.off_site,
        redirects=found.redirects,
        seed=found.seed,
    )


def _result(record: Record, fetched: Fetched, one: FetchResult) -> Result:
    return Result(
        lease=fetched.lease,
        offset=record.offset,
        written_ms=record.time_ms,
        outcome=one.outcome,
        status=one.status,
        started_ms=one.started_ms,
        total_ms=one.timings.total,
        address=one.address,
        wire_bytes=one.wire_bytes,
        body_bytes=one.body_bytes,
        digest=one.digest,
        content_type=one.content_type,
        location=one.location,
        truncated=one.truncated,
        detail=one.detail,
        worker=fetched.worker,
    )
