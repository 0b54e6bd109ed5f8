"""Reads the topics against the current, and writes what is to be compared into the external sort."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.entries import (
    LEASES,
    PARTITION,
    PLACE,
    RESPONSES,
    ROW,
    ROW_PLACE,
    SITES,
    TIME,
    URLS,
    WORKED,
    Answered,
    OrderEntry,
    ResponseEntry,
    RowEntry,
    UrlAnswered,
    UrlOrdered,
    hashed,
    lease_bytes,
    lease_numbers,
    pack,
)
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.transport.port import LogReader, Record
from schemas.codec import Undecodable
from schemas.discovered import Discovered, SiteRows, decode_discovered, decode_discovery
from schemas.fetched import Fetched, decode_fetched
from schemas.pages import PageFacts, decode_facts
from schemas.schedule import FetchOrder, decode_order
from streams.frontier.inspect import times_forwarded

T = TypeVar("T")


class TopicTotals:
    """What the topics hold below the frontier's positions, by its partition."""

    def __init__(self, partitions: int) -> None:
        self.paths = [0] * partitions
        """Links in ``discovered``."""
        self.answers = [0] * partitions
        """Records in ``fetched``."""
        self.unreadable = 0
        """Records that are none of ours; they are dead letters, or will be."""
        self.strange_leases = 0
        self.forwarded = 0
        """Links that one partition sent to another."""


class Gatherer:
    """One pass over each topic."""

    def __init__(self, log: LogReader, cut: Cut, sorter: ExternalSort, site_of: Callable[[str], str] | None) -> None:
        """``site_of``: where a coordinator places sites, the site of a server."""
        self._log = log
        self._cut = cut
        self._sorter = sorter
        self._site_of = site_of
        self.totals = TopicTotals(cut.partitions)

    def gather(self) -> TopicTotals:
        """What was archived has been read before."""
        # A result and its page are committed together: of those that come while pages are read, the page may be missed.
        settled = {partition: end for partition, (_, end) in self._log.ends("fetched").items()}
        for record, facts in self._read("pages", lambda record: decode_facts(record.header)):
            self._page(record, facts)
        for record, fetched in self._read("fetched", lambda record: decode_fetched(record.value)):
            self._fetched(record, fetched, record.offset < settled.get(record.partition, 0))
        for record, order in self._read("schedule", lambda record: decode_order(record.value)):
            self._order(record, order)
        decode = decode_discovered if self._site_of is None else decode_discovery
        for record, found in self._read("discovered", lambda record: decode(record.value)):
            if isinstance(found, SiteRows):
                self._rows(record, found)
            else:
                self._discovered(record, found)
        return self.totals

    def _read(self, topic: str, decode: Callable[[Record], T]) -> Iterator[tuple[Record, T]]:
        for partition, (first, end) in self._log.ends(topic).items():
            for record in self._log.read(topic, partition, first, end):
                try:
                    yield record, decode(record)
                except Undecodable:
                    self.totals.unreadable += 1

    def _discovered(self, record: Record, found: Discovered) -> None:
        if record.offset < self._cut.passed("discovered", record.partition):
            self.totals.paths[record.partition] += len(found.paths)
        if self._site_of is not None and times_forwarded(record.header):
            # What it holds stands in another partition, too.
            self.totals.forwarded += len(found.paths)
            return
        for path in found.paths:
            self._sorter.put(URLS + hashed(f"{found.scheme}://{found.server}{path}") + b"d")

    def _rows(self, record: Record, found: SiteRows) -> None:
        for number, row in enumerate(found.sites):
            place = ROW_PLACE.pack(record.partition, record.offset, number)
            told = RowEntry(row.site, row.slot, row.state, row.version)
            self._sorter.put(SITES + hashed(row.site) + ROW + place, pack(told))

    def _page(self, record: Record, facts: PageFacts) -> None:
        lease = lease_bytes(facts.lease)
        if lease is not None:
            value = pack(ResponseEntry(facts.url, facts.kind == "robots"))
            place = PLACE.pack(record.partition, record.offset)
            self._sorter.put(RESPONSES + lease + hashed(facts.url) + b"p" + place, value)

    def _fetched(self, record: Record, fetched: Fetched, settled: bool) -> None:
        """``settled``: it was there before the pages were read."""
        if record.offset < self._cut.passed("fetched", record.partition):
            self.totals.answers[record.partition] += 1
        lease = lease_bytes(fetched.lease)
        if lease is None:
            self.totals.strange_leases += 1
            return
        place = PLACE.pack(record.partition, record.offset)
        urls = [f"{one.scheme}://{fetched.server}{one.path}" for one in fetched.results]
        started = tuple(one.started_ms for one in fetched.results if one.started_ms)
        self._sorter.put(LEASES + lease + b"r" + place, pack(Answered(fetched.server, _digest(urls), started)))
        if fetched.kind == "robots":
            return
        for url, one in zip(urls, fetched.results, strict=True):
            told = UrlAnswered(url, one.visit, one.outcome, one.status, fetched.finished_ms)
            self._sorter.put(URLS + hashed(url) + b"r" + lease + place, pack(told))
            if one.status:
                kind = b"r" if settled else b"s"
                self._sorter.put(RESPONSES + lease + hashed(url) + kind + place, pack(ResponseEntry(url, False)))

    def _order(self, record: Record, order: FetchOrder) -> None:
        lease = lease_bytes(order.lease)
        if lease is None:
            self.totals.strange_leases += 1
            return
        if self._site_of is not None:
            site, at = self._site_of(order.server), PARTITION.pack(lease_numbers(lease)[0])
            self._sorter.put(SITES + hashed(site) + WORKED + at, pack(RowEntry(order.server, -1, "", 0)))
        urls = [f"{url.scheme}://{order.server}{url.path}" for url in order.urls]
        place = PLACE.pack(record.partition, record.offset)
        value = OrderEntry(order.server, order.kind, len(urls), _digest(urls), order.delay_ms, order.connections)
        self._sorter.put(LEASES + lease + b"o" + place, pack(value))
        if order.kind == "robots":
            return
        for url, one in zip(urls, order.urls, strict=True):
            key = URLS + hashed(url) + b"o" + TIME.pack(max(0, order.created_ms)) + lease + place
            self._sorter.put(key, pack(UrlOrdered(url, one.visit, order.deadline_ms)))


def _digest(urls: list[str]) -> bytes:
    """Of the URLs of an order, whatever their order."""
    return hashed("\n".join(sorted(urls)))
