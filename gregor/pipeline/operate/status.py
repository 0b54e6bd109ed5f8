"""How a crawl is doing: what each stage lags behind, what waits and for what, rates and servers folded from its records."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from gregor.pipeline.operate import letters
from gregor.pipeline.operate.access import Access
from gregor.pipeline.operate.parts import stages_of
from gregor.pipeline.operate.pauses import Held, held
from gregor.pipeline.progress import Look, is_done, look
from gregor.pipeline.stages import ROLES
from gregor.transport.port import LogReader, Position, Record, StageSpec, TopicPartition
from gregor.views.crawl import CrawlView
from gregor.views.rates import Window
from gregor.views.servers import ServerRow
from schemas.codec import Undecodable
from schemas.discovered import decode_discovered

FOLDED: Final = ("fetched", "verdicts")
RECENT_MS: Final = 300_000
"""What is read when only rates are wanted."""
SECOND_LOOK_S: Final = 0.3
RATES_S: Final = (10, 60, 300)
SERVERS_NAMED: Final = 20
REPETITIONS: Final = 10_000
"""Unread records that are looked at for whether they matter."""
FRONTIER: Final = ROLES["frontier"].spec

Phase = Literal["done", "waiting", "paused", "stopped by a limit", "working", "interrupted", "not begun"]
"""``waiting``: nothing but re-crawls is left. ``interrupted``: work is left and no process has the folder."""


class StageStatus(Struct, frozen=True, kw_only=True):
    lag: int
    """Records of its inputs that it has not passed."""
    members: int | None = None
    """Processes in its group; None: cannot be told."""


class Rate(Struct, frozen=True, kw_only=True):
    """Of the last whole seconds."""

    seconds: int
    requests: float
    pages: float
    errors: float
    refused: float
    bytes: float


class Status(Struct, frozen=True, kw_only=True):
    """The crawl at one moment."""

    crawl: str
    where: str
    now_ms: int
    running: bool | None
    phase: Phase
    waits_for: list[str]
    """For people; empty: for nothing."""
    stages: dict[str, StageStatus]
    counters: dict[str, int]
    """The frontier's own, added up."""
    queued: int
    in_flight: int
    retrying: int
    revisiting: int
    due_ms: int
    """When the first URL that waits for a time is due; 0: none waits."""
    fetched: int
    failed: int
    dropped: int
    crawl_paused: bool
    paused_servers: list[str]
    paused_count: int
    dead_letters: int
    """That were not put back."""
    rates: list[Rate]
    servers: list[ServerRow]
    """Largest first; empty unless the whole crawl was folded."""


class Watch:
    """Looks again and again, reading what is new; ``whole`` folds the crawl from its beginning, for the table of servers."""

    def __init__(self, access: Access, whole: bool) -> None:
        self._access = access
        self._whole = whole
        self._view = CrawlView()
        self._at: dict[TopicPartition, int] = {}
        self._letters = 0
        self._put_back: set[letters.Place] = set()

    def status(self, now_ms: int, servers: int = 10, folded: CrawlView | None = None) -> Status:
        """As of now; ``servers``: rows of the table, at most. ``folded``: what somebody else folds, so that no record is read for it."""
        access, reader = self._access, self._access.reader
        access.catch_up()
        stages = stages_of(reader)
        running = access.running()
        seen = look(reader, stages, access.partitions)
        done = seen.idle and self._still_idle(seen, stages, running)
        done = done or (running is False and _only_repetitions(reader, seen))
        if folded is None:
            self._advance(now_ms)
        self._count_letters()
        moment = _Moment(seen, held(reader), done, running, now_ms, self._letters)
        return _status(access, folded or self._view, moment, self._rows(servers))

    def _still_idle(self, before: Look, stages: Sequence[StageSpec], running: bool | None) -> bool:
        if running is False:
            return True
        time.sleep(SECOND_LOOK_S)
        self._access.catch_up()
        return is_done(before, look(self._access.reader, stages, self._access.partitions))

    def _rows(self, count: int) -> list[ServerRow]:
        return self._view.servers.all()[:count] if self._whole else []

    def _advance(self, now_ms: int) -> None:
        reader = self._access.reader
        for topic in FOLDED:
            ends = reader.ends(topic)
            begin = {} if self._whole else reader.since(topic, now_ms - RECENT_MS)
            for partition, (first, end) in ends.items():
                at = TopicPartition(topic, partition)
                start = max(first, self._at.get(at, begin.get(partition, first)))
                for record in reader.read(topic, partition, start, end) if start < end else ():
                    self._view.record(topic, record.value)
                self._at[at] = max(start, end)

    def _count_letters(self) -> None:
        """Every letter of a record that is put back gets a receipt, so that the difference of both is what is left."""
        at = TopicPartition(letters.TOPIC, 0)
        first, end = self._access.reader.ends(at.topic)[0]
        start = max(first, self._at.get(at, first))
        for facts in letters.facts_of(self._access.reader, start, end):
            if facts.receipt_of >= 0:
                self._letters -= 1
                self._put_back.add(letters.place_of(facts))
            elif letters.place_of(facts) not in self._put_back:
                self._letters += 1
        self._at[at] = max(start, end)


def _only_repetitions(reader: LogReader, seen: Look) -> bool:
    """Whether all that is left unread are counts of known links, which the extractor may send after the last page was fetched."""
    left = sum(seen.counters.get(name, 0) for name in ("queued", "leased", "retrying", "revisiting"))
    unread = seen.lag.get("frontier", 0)
    if left - seen.counters.get("held", 0) or unread != sum(seen.lag.values()) or not 0 < unread <= REPETITIONS:
        return False
    positions = reader.committed("frontier", FRONTIER.inputs)
    records = [
        record
        for topic in FRONTIER.inputs
        for partition, (first, end) in reader.ends(topic).items()
        for record in reader.read(topic, partition, _after(positions, TopicPartition(topic, partition), first), end)
    ]
    return all(record.topic == "discovered" and _is_repetition(record) for record in records)


def _after(positions: Mapping[TopicPartition, Position], at: TopicPartition, first: int) -> int:
    position = positions.get(at)
    return position.offset if position is not None else first


def _is_repetition(record: Record) -> bool:
    try:
        return decode_discovered(record.value).kind == "repetition"
    except Undecodable:
        return False


class _Moment(Struct, frozen=True):
    seen: Look
    known: Held
    done: bool
    running: bool | None
    now_ms: int
    letters: int


def _status(access: Access, view: CrawlView, moment: _Moment, rows: list[ServerRow]) -> Status:
    seen, known, now_ms = moment.seen, moment.known, moment.now_ms
    counters = dict(seen.counters)
    stages = {name: StageStatus(lag=lag, members=access.members(name)) for name, lag in seen.lag.items()}
    return Status(
        crawl=access.crawl,
        where=access.where,
        now_ms=now_ms,
        running=moment.running,
        phase=_phase(moment),
        waits_for=[] if moment.done else list(_waits_for(seen, stages, known, now_ms)),
        stages=stages,
        counters=counters,
        queued=counters.get("queued", 0),
        in_flight=counters.get("leased", 0),
        retrying=counters.get("retrying", 0),
        revisiting=counters.get("revisiting", 0),
        due_ms=counters.get("due_later_ms", 0),
        fetched=counters.get("confirmed", 0),
        failed=counters.get("failed", 0),
        dropped=counters.get("dropped", 0),
        crawl_paused=known.crawl is not None,
        paused_servers=sorted(known.servers)[:SERVERS_NAMED],
        paused_count=len(known.servers),
        dead_letters=moment.letters,
        rates=[_rate(view, seconds, now_ms) for seconds in RATES_S],
        servers=rows,
    )


def _phase(moment: _Moment) -> Phase:
    seen = moment.seen
    if not any(seen.ends.values()):
        return "not begun"
    if moment.done:
        return "stopped by a limit" if seen.counters.get("held", 0) else "done"
    if seen.waiting_until_ms is not None:
        return "waiting"
    if moment.known.crawl is not None:
        return "paused"
    return "interrupted" if moment.running is False else "working"


def _waits_for(seen: Look, stages: Mapping[str, StageStatus], known: Held, now_ms: int) -> Iterator[str]:
    counts = seen.counters
    for name, stage in stages.items():
        if stage.lag:
            yield f"{stage.lag:,} records for the {name}" + (", of which no worker runs" if stage.members == 0 else "")
    if counts.get("leased", 0):
        yield f"{counts['leased']:,} URLs that are being fetched"
    queued = counts.get("queued", 0)
    if queued:
        why = "the crawl to be resumed" if known.crawl else "their servers' turn"
        yield f"{queued:,} URLs for {why}"
    if counts.get("retrying", 0):
        yield f"{counts['retrying']:,} URLs for another attempt{_in(counts.get('due_later_ms', 0), now_ms)}"
    elif counts.get("revisiting", 0):
        yield f"{counts['revisiting']:,} URLs for their next visit{_in(counts.get('due_later_ms', 0), now_ms)}"
    if known.servers and queued:
        yield f"{len(known.servers):,} servers to be resumed"


def _in(due_ms: int, now_ms: int) -> str:
    return f", the first in {max(0, due_ms - now_ms) / 1000:,.0f} s" if due_ms else ""


def _rate(view: CrawlView, seconds: int, now_ms: int) -> Rate:
    total: Window = view.recent[0].last(seconds, now_ms)
    return Rate(
        seconds=seconds,
        requests=total.requests / seconds,
        pages=total.pages / seconds,
        errors=total.errors / seconds,
        refused=total.refused / seconds,
        bytes=total.wire_bytes / seconds,
    )
