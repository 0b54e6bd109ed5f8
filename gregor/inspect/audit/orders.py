"""Orders and their results: each order stands in the log once, and is answered once; URLs come back as they went out."""

from collections.abc import Iterable, Iterator

from gregor.config import Config
from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.entries import (
    LEASE,
    LEASES,
    NUMBER,
    PLACE,
    REQUESTS,
    TIME,
    Answered,
    OrderEntry,
    RequestEntry,
    answered,
    hashed,
    lease_numbers,
    lease_text,
    ordered,
    pack,
)
from gregor.inspect.audit.finding import Check, Finding
from gregor.inspect.audit.gather import TopicTotals
from gregor.runtime.state.external_sort import Entry, ExternalSort


class Orders:
    """One pass over all leases. Also brings the requests of each server into the order of time, for politeness.py."""

    def __init__(self, cut: Cut, totals: TopicTotals, config: Config, sorter: ExternalSort) -> None:
        self._cut = cut
        self._totals = totals
        self._config = config
        self._sorter = sorter
        self._finished = cut.finished()
        self._once = Check("orders-once", "every order that the frontier made stands in schedule once")
        self._answered = Check("orders-answered", "every order that fetchers are done with has one record of results")
        self._match = Check("results-match", "the results of an order are those of its URLs, and come to who ordered")
        self._ends = Check("orders-end", "every order is confirmed, leased, returned or expired")
        self._urls = [0] * cut.partitions
        """Ordered, those of robots.txt left out."""
        self._schedule_whole = cut.whole("schedule")
        self._fetched_whole = cut.whole("fetched")

    def check(self, leased: dict[int, int]) -> Iterator[Finding]:
        """``leased``: orders that are out by the state, where there is one."""
        expected = dict.fromkeys(range(self._cut.partitions), 1)
        for lease, entries in self._sorter.groups(LEASES, LEASE):
            partition, number = lease_numbers(lease)
            if partition in expected:
                self._missing(partition, expected[partition], number)
                expected[partition] = number + 1
                self._judge(lease, entries)
            else:
                self._once.fail(f"order {lease_text(lease)} is of a partition that there is not")
        for partition, following in expected.items():
            self._missing(partition, following, self._made(partition) + 1)
        if self._totals.strange_leases:
            self._once.fail(f"{self._totals.strange_leases} records with a lease that no frontier gave")
        self._add_up(leased)
        yield self._once.finding()
        yield self._answered.finding()
        yield self._match.finding()
        yield self._ends.finding()

    def _made(self, partition: int) -> int:
        return self._cut.counters(partition).get("orders", 0)

    def _missing(self, partition: int, first: int, end: int) -> None:
        """Numbers of which there is neither an order nor a result."""
        end = min(end, self._made(partition) + 1)
        if first >= end:
            return
        if not self._schedule_whole and not self._fetched_whole:
            self._once.unknown += end - first
            self._once.note = "schedule and fetched were trimmed"
            return
        # Only what fetchers have passed is trimmed, so that its result must be there.
        for number in range(first, min(end, first + 5)):
            self._once.require(False, f"order {partition}-{number} is lost: it is in no topic")
        self._once.failed += max(0, end - first - 5)

    def _judge(self, lease: bytes, entries: Iterable[Entry]) -> None:
        orders: list[tuple[int, int, OrderEntry]] = []
        results: list[tuple[int, int, Answered]] = []
        for rest, value in entries:
            at = PLACE.unpack(rest[1:])
            if rest[:1] == b"o":
                orders.append((*at, ordered(value)))
            else:
                results.append((*at, answered(value)))
        name = f"order {lease_text(lease)} of {(orders or results)[0][2].server}"
        self._once.require(len(orders) < 2, f"{name} stands in schedule {len(orders)} times, {_places(orders)}")
        self._answered.require(len(results) < 2, f"{name} was answered {len(results)} times, {_places(results)}")
        if not orders:
            if self._schedule_whole:
                self._once.fail(f"{name} was answered, and never ordered")
        elif not results:
            self._unanswered(name, *orders[0][:2])
        else:
            same = orders[0][2].digest == results[0][2].digest
            self._match.require(same, f"{name}: its results are not those of its URLs")
        partition, number = lease_numbers(lease)
        for came_to, offset, _ in results:
            self._match.require(
                came_to == partition, f"{name}: its results came to partition {came_to}, at offset {offset}"
            )
        if orders and orders[0][2].kind == "pages" and number <= self._made(partition):
            self._urls[partition] += orders[0][2].urls * len(orders)
        self._note_requests(lease, orders, results)

    def _unanswered(self, name: str, partition: int, offset: int) -> None:
        position = self._cut.fetcher.get(partition)
        done = position is not None and (offset < position.offset or offset in self._finished[partition])
        if done and self._fetched_whole:
            self._answered.fail(
                f"{name} at schedule[{partition}] {offset} is lost: passed by fetchers without a result"
            )
        elif done:
            self._answered.unknown += 1
            self._answered.note = "fetched was trimmed"

    def _note_requests(
        self, lease: bytes, orders: list[tuple[int, int, OrderEntry]], results: list[tuple[int, int, Answered]]
    ) -> None:
        """What is trimmed of schedule is judged by the configured delay, which is the least that any order had."""
        for _, _, result in results[:1]:
            if orders:
                order = orders[0][2]
                value = pack(RequestEntry(result.server, order.delay_ms, order.connections))
            else:
                delay = int(self._config.for_server(result.server).delay_s * 1000)
                value = pack(RequestEntry(result.server, delay, 1))
            server = hashed(result.server)
            for number, started in enumerate(result.started_ms):
                self._sorter.put(REQUESTS + server + TIME.pack(max(0, started)) + lease + NUMBER.pack(number), value)

    def _add_up(self, leased: dict[int, int]) -> None:
        """Orders made = orders out + results taken in, but for those that came too late + leases that expired."""
        if not self._fetched_whole:
            self._ends.note = "fetched was trimmed"
            self._ends.unknown += self._cut.partitions
            return
        for partition in range(self._cut.partitions):
            counters = self._cut.counters(partition)
            ended = self._totals.answers[partition] - counters.get("results_ignored", 0)
            out = self._made(partition) - ended - counters.get("leases_expired", 0)
            what = f"orders of partition {partition} that are out"
            if partition in leased:
                self._ends.equal(leased[partition], out, what)
            else:
                self._ends.require(out >= 0, f"{what}: expected none or more, found {out:,}")
                self._ends.require(
                    out > 0 or not counters.get("leased", 0), f"{what}: none, though {counters.get('leased')} URLs are"
                )

    def urls_ordered(self, partition: int) -> int | None:
        """None: schedule was trimmed."""
        return self._urls[partition] if self._schedule_whole else None


def _places(found: list[tuple[int, int, OrderEntry]] | list[tuple[int, int, Answered]]) -> str:
    return ", ".join(f"at [{partition}] {offset}" for partition, offset, _ in found[:3])
