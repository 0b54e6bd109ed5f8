"""How a crawl is doing: what each stage lags behind, what waits and for what, rates and servers folded from its records."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from gregor.operate import dead_letters
from gregor.operate.active_stages import stages_of
from gregor.operate.control_state import ControlState, control_state
from gregor.operate.crawl_handle import CrawlHandle
from gregor.operate.site_status import SitesStatus, sites_status, sites_wait_for
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.folds.rates import TimeWindow
from gregor.outputs.folds.servers import ServerRow
from gregor.run.progress import Progress, is_done, look
from gregor.run.topology import COORDINATOR, FRONTIER
from gregor.runtime.transport.port import LogReader, Position, Record, StageSpec, TopicPartition
from schemas.codec import Undecodable
from schemas.discovered import Discovered, decode_discovery

FOLDED: Final = ("fetched", "verdicts")
RECENT_MS: Final = 300_000
"""What is read when only rates are wanted."""
SECOND_LOOK_S: Final = 0.3
RATES_S: Final = (10, 60, 300)
SERVERS_NAMED: Final = 20
REPETITIONS: Final = 10_000
"""Unread records that are looked at for whether they matter."""

Phase = Literal["done", "waiting", "paused", "stopped by a limit", "working", "interrupted", "not begun"]
"""``waiting``: nothing but re-crawls is left, or no URL may be asked for before a time.
``interrupted``: work is left and no process has the folder."""


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
    sites: SitesStatus | None = None
    """None: nobody places sites in this crawl."""


class Watch:
    """Looks again and again, reading what is new; ``whole`` folds the crawl from its beginning, for the table of servers."""

    def __init__(self, handle: CrawlHandle, whole: bool) -> None:
        self._handle = handle
        self._whole = whole
        self._view = CrawlView()
        self._at: dict[TopicPartition, int] = {}
        self._letters = 0
        self._put_back: set[dead_letters.Place] = set()

    def status(self, now_ms: int, servers: int = 10, folded: CrawlView | None = None) -> Status:
        """As of now; ``servers``: rows of the table, at most. ``folded``: what somebody else folds, so that no record is read for it."""
        handle, reader = self._handle, self._handle.reader
        handle.catch_up()
        stages = stages_of(reader)
        running = handle.running()
        seen = look(reader, stages, handle.partitions)
        done = seen.idle and self._still_idle(seen, stages, running)
        done = done or (running is False and _only_repetitions(reader, seen))
        if folded is None:
            self._advance(now_ms)
        self._count_letters()
        moment = _Moment(seen, control_state(reader), done, running, now_ms, self._letters)
        return _status(handle, folded or self._view, moment, self._rows(servers))

    def _still_idle(self, before: Progress, stages: Sequence[StageSpec], running: bool | None) -> bool:
        if running is False:
            return True
        time.sleep(SECOND_LOOK_S)
        self._handle.catch_up()
        return is_done(before, look(self._handle.reader, stages, self._handle.partitions))

    def _rows(self, count: int) -> list[ServerRow]:
        return self._view.servers.all()[:count] if self._whole else []

    def _advance(self, now_ms: int) -> None:
        reader = self._handle.reader
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
        at = TopicPartition(dead_letters.TOPIC, 0)
        first, end = self._handle.reader.ends(at.topic)[0]
        start = max(first, self._at.get(at, first))
        for facts in dead_letters.facts_of(self._handle.reader, start, end):
            if facts.receipt_of >= 0:
                self._letters -= 1
                self._put_back.add(dead_letters.place_of(facts))
            elif dead_letters.place_of(facts) not in self._put_back:
                self._letters += 1
        self._at[at] = max(start, end)


def _only_repetitions(reader: LogReader, seen: Progress) -> bool:
    """Whether all that is left unread are counts of known links, which the extractor may send after the last page was fetched."""
    left = sum(seen.counters.get(name, 0) for name in ("queued", "leased", "retrying", "revisiting"))
    unread = seen.lag.get(FRONTIER.name, 0)
    if (
        left - seen.counters.get("held", 0)
        or seen.unanswered
        or unread != sum(seen.lag.values())
        or not 0 < unread <= REPETITIONS
    ):
        return False
    positions = reader.committed(FRONTIER.name, FRONTIER.spec.inputs)
    records = [
        record
        for topic in FRONTIER.spec.inputs
        for partition, (first, end) in reader.ends(topic).items()
        for record in reader.read(topic, partition, _after(positions, TopicPartition(topic, partition), first), end)
    ]
    return all(record.topic == "discovered" and _is_repetition(record) for record in records)


def _after(positions: Mapping[TopicPartition, Position], at: TopicPartition, first: int) -> int:
    position = positions.get(at)
    return position.offset if position is not None else first


def _is_repetition(record: Record) -> bool:
    try:
        found = decode_discovery(record.value)
        return isinstance(found, Discovered) and found.kind == "repetition"
    except Undecodable:
        return False


class _Moment(Struct, frozen=True):
    seen: Progress
    known: ControlState
    done: bool
    running: bool | None
    now_ms: int
    letters: int


def _status(handle: CrawlHandle, view: CrawlView, moment: _Moment, rows: list[ServerRow]) -> Status:
    seen, known, now_ms = moment.seen, moment.known, moment.now_ms
    counters = dict(seen.counters)
    sites: SitesStatus | None = None
    if COORDINATOR.name in seen.lag:
        sites = sites_status(handle.reader, counters, handle.partitions, handle.members(COORDINATOR.name))
    stages = {name: StageStatus(lag=lag, members=handle.members(name)) for name, lag in seen.lag.items()}
    return Status(
        crawl=handle.crawl,
        where=handle.where,
        now_ms=now_ms,
        running=moment.running,
        phase=_phase(moment),
        waits_for=[
            *([] if moment.done else _waits_for(seen, stages, known, now_ms)),
            *(sites_wait_for(sites) if sites is not None else ()),
        ],
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
        sites=sites,
    )


def _phase(moment: _Moment) -> Phase:
    seen = moment.seen
    if not any(seen.ends.values()):
        return "not begun"
    if moment.done:
        return "stopped by a limit" if seen.counters.get("held", 0) else "done"
    if seen.waiting_until_ms is not None or seen.waits_until_ms(moment.now_ms):
        return "waiting"
    if moment.known.crawl is not None:
        return "paused"
    return "interrupted" if moment.running is False else "working"


def _waits_for(seen: Progress, stages: Mapping[str, StageStatus], known: ControlState, now_ms: int) -> Iterator[str]:
    counts = seen.counters
    for name, stage in stages.items():
        if stage.lag:
            yield f"{stage.lag:,} records for the {name}" + (", of which no worker runs" if stage.members == 0 else "")
    if counts.get("leased", 0):
        yield f"{counts['leased']:,} URLs that are being fetched"
    queued = counts.get("queued", 0)
    if queued:
        turn = f"their servers' turn{_in(seen.waits_until_ms(now_ms), now_ms)}"
        why = "the crawl to be resumed" if known.crawl else turn
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
    total: TimeWindow = view.recent[0].last(seconds, now_ms)
    return Rate(
        seconds=seconds,
        requests=total.requests / seconds,
        pages=total.pages / seconds,
        errors=total.errors / seconds,
        refused=total.refused / seconds,
        bytes=total.wire_bytes / seconds,
    )
