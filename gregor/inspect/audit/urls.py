"""URLs: each is ordered once for each visit, again only after a result that allows it or when its lease is over."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.entries import (
    HASH,
    LEASE,
    TIME,
    URLS,
    UrlAnswered,
    UrlOrdered,
    lease_numbers,
    lease_text,
    url_answered,
    url_ordered,
)
from gregor.inspect.audit.finding import Check, Finding
from gregor.runtime.state.external_sort import Entry, ExternalSort

FINAL: Final = frozenset({"ok", "not-modified", "client-error", "type-refused", "undecodable", "address-refused"})
"""After these a visit is over; a redirect may lead to itself, and is then asked for once more."""


class UrlChecks:
    """One pass over all URLs."""

    def __init__(self, cut: Cut, sorter: ExternalSort, tolerance_ms: int) -> None:
        self._cut = cut
        self._sorter = sorter
        self._tolerance_ms = tolerance_ms
        self._once = Check("visits-once", "every admitted URL is ordered once for each visit")
        self._known = Check("discovered-first", "every URL that was ordered had been discovered")
        self._all = Check("admitted-ordered", "every admitted URL is ordered, or still queued, or was given up")
        self._seen = [0] * cut.partitions
        """URLs that were ordered or answered before the cut."""

    def check(self) -> Iterator[Finding]:
        discovered_whole = self._cut.whole("discovered")
        for _, entries in self._sorter.groups(URLS, HASH):
            self._judge(entries, discovered_whole)
        if not discovered_whole:
            self._known.note = "discovered was trimmed"
        self._count_admitted()
        yield self._once.finding()
        yield self._known.finding()
        yield self._all.finding()

    def _judge(self, entries: Iterable[Entry], discovered_whole: bool) -> None:
        discovered = False
        orders: list[tuple[int, bytes, UrlOrdered]] = []
        results: dict[bytes, UrlAnswered] = {}
        for rest, value in entries:
            kind, key = rest[:1], rest[1:]
            if kind == b"d":
                discovered = True
            elif kind == b"o":
                orders.append((TIME.unpack(key[: TIME.size])[0], key[TIME.size :][:LEASE], url_ordered(value)))
            else:
                results[key[:LEASE]] = url_answered(value)
        if not orders and not results:
            return
        leases = [lease for _, lease, _ in orders] or list(results)
        self._count(leases)
        url = orders[0][2].url if orders else next(iter(results.values())).url
        if discovered_whole:
            self._known.require(discovered, f"{url} was ordered by {lease_text(leases[0])} and never discovered")
        self._check_orders(url, orders, results)
        self._check_results(url, results)

    def _count(self, leases: list[bytes]) -> None:
        partition, number = min(lease_numbers(lease) for lease in leases)
        if partition < self._cut.partitions and number <= self._cut.counters(partition).get("orders", 0):
            self._seen[partition] += 1

    def _check_orders(
        self, url: str, orders: list[tuple[int, bytes, UrlOrdered]], results: dict[bytes, UrlAnswered]
    ) -> None:
        for (_, lease, order), (created, again, following) in pairwise(orders):
            result = results.get(lease)
            why = self._why_not(order, result, created, following)
            self._once.require(
                not why, f"{url} was ordered by {lease_text(lease)} and again by {lease_text(again)}: {why}"
            )
        self._once.checked += bool(orders)

    def _why_not(self, order: UrlOrdered, result: UrlAnswered | None, created: int, following: UrlOrdered) -> str:
        """Why one order must not follow another; empty: it may."""
        if order.deadline_ms and created >= order.deadline_ms:
            return ""
        if result is None:
            return "the first had no result yet and was not expired"
        if result.finished_ms > created + self._tolerance_ms:
            return "the first was still being fetched"
        if following.visit == order.visit and result.outcome in FINAL and result.status != 503:
            return f"the first had ended its visit ({result.outcome})"
        return ""

    def _check_results(self, url: str, results: dict[bytes, UrlAnswered]) -> None:
        """Where leases expired, a late result may tell of the same visit once more, and is ignored."""
        ended: dict[int, bytes] = {}
        for lease, result in results.items():
            if result.outcome not in FINAL or result.status == 503:
                continue
            first = ended.setdefault(result.visit, lease)
            partition = lease_numbers(lease)[0]
            if first != lease and not self._cut.counters(partition).get("leases_expired", 0):
                self._once.fail(
                    f"{url} was fetched by {lease_text(first)} and again by {lease_text(lease)}, on its visit {result.visit}"
                )

    def _count_admitted(self) -> None:
        schedule_whole = self._cut.whole("schedule")
        if not schedule_whole and not self._cut.whole("fetched"):
            self._all.note = "schedule and fetched were trimmed"
            self._all.unknown += self._cut.partitions
            return
        for partition in range(self._cut.partitions):
            counters = self._cut.counters(partition)
            admitted, seen = counters.get("admitted", 0), self._seen[partition]
            may_lack = ["queued", "dropped", "failed_server-unreachable"] + ([] if schedule_whole else ["leased"])
            lacking = sum(counters.get(name, 0) for name in may_lack)
            self._all.checked += seen
            if seen > admitted:
                self._all.fail(f"partition {partition}: {admitted:,} URLs were admitted, {seen:,} ordered")
            elif admitted - seen > lacking:
                self._all.fail(
                    f"partition {partition}: of {admitted:,} admitted URLs {seen:,} were ordered and at most {lacking:,} are queued "
                    "or were given up"
                )
