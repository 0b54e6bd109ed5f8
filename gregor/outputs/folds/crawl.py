"""All views of one crawl together, as one process folds them."""

from msgspec import Struct, field
from msgspec.structs import replace

from gregor.outputs.folds.deepest import Deepest, deep_urls_of
from gregor.outputs.folds.rates import RecentWindows, Timeline, recents, seconds_of_fetched, seconds_of_verdict
from gregor.outputs.folds.refusals import Refusals, refusal_of
from gregor.outputs.folds.servers import ServerTable, row_of_fetched, row_of_verdict
from gregor.outputs.folds.totals import CrawlTotals, add_totals, totals_of
from schemas.codec import Undecodable
from schemas.fetched import Fetched, decode_fetched
from schemas.verdicts import Verdict, decode_verdict


class CrawlView(Struct):
    """Grows with each record of ``fetched`` and ``verdicts``; the order of the records does not matter."""

    totals: CrawlTotals = CrawlTotals()
    servers: ServerTable = field(default_factory=ServerTable)
    refusals: Refusals = field(default_factory=Refusals)
    deepest: Deepest = field(default_factory=Deepest)
    timeline: Timeline = field(default_factory=Timeline)
    recent: list[RecentWindows] = field(default_factory=recents)
    unreadable: int = 0
    """Records that are not what their topic carries."""

    def fetched(self, record: Fetched) -> None:
        self.totals = add_totals(self.totals, totals_of(record))
        self.servers.add(row_of_fetched(record))
        self.deepest.add(deep_urls_of(record, self.deepest.least.depth))
        seconds = seconds_of_fetched(record)
        self.timeline.add(seconds)
        for windows in self.recent:
            windows.add(seconds)

    def verdict(self, record: Verdict) -> None:
        self.servers.add(row_of_verdict(record))
        self.refusals.add(refusal_of(record))
        seconds = seconds_of_verdict(record)
        self.timeline.add(seconds)
        for windows in self.recent:
            windows.add(seconds)

    def record(self, topic: str, value: bytes | None) -> None:
        """A record as it was read from ``fetched`` or ``verdicts``; those of other topics add nothing."""
        try:
            if topic == "fetched":
                self.fetched(decode_fetched(value))
            elif topic == "verdicts":
                self.verdict(decode_verdict(value))
        except Undecodable:
            self.unreadable += 1

    def copy(self) -> "CrawlView":
        """As it is at this moment, for another thread: the values are shared and never change, what holds them is not."""
        return CrawlView(
            totals=self.totals,
            servers=replace(self.servers, rows=dict(self.servers.rows)),
            refusals=Refusals(dict(self.refusals.lines)),
            deepest=replace(self.deepest, urls=dict(self.deepest.urls)),
            timeline=replace(self.timeline, windows=dict(self.timeline.windows)),
            recent=[replace(one, windows=dict(one.windows)) for one in self.recent],
            unreadable=self.unreadable,
        )

    def merge(self, other: "CrawlView") -> None:
        """Take in what another view has folded from other records."""
        self.totals = add_totals(self.totals, other.totals)
        self.servers.merge(other.servers)
        self.refusals.merge(other.refusals)
        self.deepest.merge(other.deepest)
        self.timeline.merge(other.timeline)
        for windows, others in zip(self.recent, other.recent, strict=True):
            windows.merge(others)
        self.unreadable += other.unreadable
