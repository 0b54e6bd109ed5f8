"""Release: orders for the servers whose turn it is, as many as there is room for in flight.

A server's visit ends in one of four ways: an order of pages, an order for robots.txt, URLs that turn out to be refused, or nothing.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from schemas.schedule import FetchOrder, OrderUrl
from streams.frontier import queue
from streams.frontier.books import Books
from streams.frontier.entry import Scheme, attempts_of, order_url, path_of, scheme_of
from streams.frontier.finals import drop
from streams.frontier.later import RETRY
from streams.frontier.leases import Lease, deadline_ms, returns_ms
from streams.frontier.politeness import delay_of, urls_of_order
from streams.frontier.queue import Entry
from streams.frontier.robots import ROBOTS_PATH, missing
from streams.frontier.server import LiveServer

DRAINED: Final = 1000
"""URLs of a server given up that are taken from its queue at once."""
REFUSED_IN_A_ROW: Final = 256
"""URLs looked at in one visit before the next server has its turn."""
DUE_AT_ONCE: Final = 5000
ORDER_BYTES: Final = 512 * 1024
"""Of URLs, after which an order is full: it, its lease and its results are one record each, and JSON may make six bytes of one."""
EFFORT: Final = 4096
"""URLs that the releases of one tick take without an order, or ask robots.txt about: the rest waits until the loop has polled again."""
REFUSAL: Final = 16
"""For how many of them a refused one counts: what is allowed fills an order, and nothing else bounds how many refused ones follow each
other. Of rules that are made to be slow, each takes tens of milliseconds."""
VISITED_TOGETHER: Final = 4096
"""Servers whose queues are read together."""


class Quota:
    """What a release may still do, and what it did."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        """That may still be ordered."""
        self.moved = 0
        """URLs that are not where they were: ordered, returned, queued because their time came, dropped."""
        self.effort = EFFORT
        """What it may still take, so that it comes to an end in time for the next poll."""

    @property
    def left(self) -> bool:
        return self.pages > 0 and self.effort > 0


def release(books: Books, now_ms: int, quota: Quota) -> list[FetchOrder]:
    """What is due: expired leases return, waiting URLs are queued, then orders go out."""
    quota.moved += return_overdue(books, now_ms) + queue_due(books, now_ms)
    books.servers.wake(now_ms)
    orders: list[FetchOrder] = []
    room = books.config.fetch.orders_in_flight - len(books.leases)
    while room > 0 and quota.left and (taken := books.servers.take_ready(min(room, VISITED_TOGETHER))):
        queue.read_ahead(
            [(live, _most(books, live) + 1) for live in taken if live.record.dead_until_ms <= now_ms], books.state
        )
        for live in taken:
            if quota.left:
                books.servers.touch(live)
                order = _visit(books, live, now_ms, quota)
                if order is not None:
                    orders.append(order)
                    quota.moved += len(order.urls)
                    room -= 1
            live.ahead = []
            books.servers.place(live, now_ms)
    return orders


def return_overdue(books: Books, now_ms: int) -> int:
    """Leases that nobody answered give their URLs back; it is not the URLs' fault. Gives how many."""
    returned = 0
    while (lease := books.leases.overdue(now_ms)) is not None:
        live = books.servers.open(lease.server)
        books.servers.touch(live)
        books.leases.end(live, lease)
        live.record.in_flight -= lease.weight
        # Whoever had the order may have asked a moment ago and told nobody.
        live.record.next_ms = max(live.record.next_ms, now_ms + lease.delay_ms)
        for place, value in lease.entries:
            books.enqueue(live, place, value, now_ms)
        books.count("leased", -len(lease.entries))
        books.count("returned", len(lease.entries))
        books.count("leases_expired")
        books.servers.place(live, now_ms)
        returned += max(1, len(lease.entries))
    return returned


def queue_due(books: Books, now_ms: int) -> int:
    """Retries and re-crawls whose time has come; gives how many."""
    due = books.later.due(now_ms, DUE_AT_ONCE)
    books.servers.prefetch(dict.fromkeys(waiting.server for _, waiting in due))
    for key, waiting in due:
        live = books.servers.open(waiting.server)
        books.servers.touch(live)
        books.later.take(live, key, waiting)
        if waiting.kind == RETRY:
            books.count("retrying", -1)
        else:
            books.count("revisiting", -1)
            books.count("recrawled")
        books.enqueue(live, waiting.place, waiting.value, now_ms)
        books.servers.place(live, now_ms)
    return len(due)


def _visit(books: Books, live: LiveServer, now_ms: int, quota: Quota) -> FetchOrder | None:
    if live.record.dead_until_ms > now_ms:
        entries, following = _cut(queue.first_entries(live, books.state, DRAINED + 1), DRAINED)
        _take(books, live, entries, following)
        drop(books, live, entries, "failed", "server-unreachable")
        quota.moved += len(entries)
        quota.effort -= len(entries)
        return None
    settings = books.config.for_server(live.text)
    delay = delay_of(settings, live.record)
    most = min(urls_of_order(books.config, delay), quota.pages)
    if not settings.obey_robots:
        entries, following = _cut(queue.first_entries(live, books.state, most + 1), most)
        _take(books, live, entries, following)
        return make_order(books, live, entries, delay, now_ms, quota) if entries else None
    return _visit_by_rules(books, live, delay, most, now_ms, quota)


def _visit_by_rules(
    books: Books, live: LiveServer, delay: int, most: int, now_ms: int, quota: Quota
) -> FetchOrder | None:
    """Take URLs until an order is full; those that robots.txt refuses are dropped on the way."""
    chosen: list[Entry] = []
    looked = 0
    while (
        len(chosen) < most
        and looked < REFUSED_IN_A_ROW
        and quota.effort > 0
        and live.record.queued
        and _bytes(chosen) < ORDER_BYTES
    ):
        wanted = most - len(chosen)
        entries, following = _cut(queue.first_entries(live, books.state, wanted + 1), wanted)
        unknown = missing(live, tuple(dict.fromkeys(scheme_of(value) for _, value in entries)), now_ms)
        if unknown:
            # The rules of one origin may be old while another's are not: the order goes with what it has.
            return (
                make_order(books, live, chosen, delay, now_ms, quota) if chosen else ask(books, live, unknown, now_ms)
            )
        _take(books, live, entries, following)
        looked += len(entries)
        quota.effort -= len(entries)
        refused: dict[str, list[Entry]] = {}
        for entry in entries:
            reason = books.robots.refusal(live, scheme_of(entry[1]), path_of(entry[1]))
            if reason:
                refused.setdefault(reason, []).append(entry)
            else:
                chosen.append(entry)
        for reason, dropped in refused.items():
            drop(books, live, dropped, "dropped", reason)
            quota.moved += len(dropped)
            quota.effort -= (REFUSAL - 1) * len(dropped)
    return make_order(books, live, chosen, delay, now_ms, quota) if chosen else None


def _most(books: Books, live: LiveServer) -> int:
    return urls_of_order(books.config, delay_of(books.config.for_server(live.text), live.record))


def _cut(entries: list[Entry], count: int) -> tuple[list[Entry], bytes]:
    """The first ones, as many as fit into one record, and the place that follows them (empty: none)."""
    if _bytes(entries) > ORDER_BYTES:
        sizes = accumulate(len(value) for _, value in entries)
        count = min(count, 1 + next(at for at, size in enumerate(sizes) if size > ORDER_BYTES))
    return (entries[:count], entries[count][0]) if len(entries) > count else (entries, b"")


def _bytes(entries: list[Entry]) -> int:
    return sum([len(value) for _, value in entries])


def _take(books: Books, live: LiveServer, entries: list[Entry], following: bytes) -> None:
    if entries:
        queue.take(live, entries, following)
        books.count("queued", -len(entries))


def make_order(
    books: Books, live: LiveServer, entries: list[Entry], delay: int, now_ms: int, quota: Quota
) -> FetchOrder:
    """An order of pages that are not in the queue any more."""
    quota.pages -= len(entries)
    books.count("leased", len(entries))
    books.count("ordered", len(entries))
    attempt = 1 + max([attempts_of(value) for _, value in entries])
    urls = tuple([order_url(value) for _, value in entries])
    return _lease(books, live, urls, delay, now_ms, attempt, entries=tuple(entries))


def ask(books: Books, live: LiveServer, schemes: tuple[Scheme, ...], now_ms: int) -> FetchOrder:
    """An order for robots.txt."""
    books.count("robots_ordered", len(schemes))
    delay = delay_of(books.config.for_server(live.text), live.record)
    urls = tuple(OrderUrl(path=ROBOTS_PATH, scheme=scheme, depth=0) for scheme in schemes)
    attempt = 1 + max(live.origin(scheme).attempts for scheme in schemes)
    return _lease(books, live, urls, delay, now_ms, attempt, schemes=schemes)


def _lease(
    books: Books,
    live: LiveServer,
    urls: Sequence[OrderUrl],
    delay: int,
    now_ms: int,
    attempt: int,
    entries: tuple[Entry, ...] = (),
    schemes: tuple[Scheme, ...] = (),
) -> FetchOrder:
    books.facts.orders += 1
    books.count("orders")
    deadline = deadline_ms(books.config, now_ms, books.facts.wait_ms, len(urls), delay)
    lease = Lease(
        id=f"{books.partition}-{books.facts.orders}",
        server=live.name,
        created_ms=now_ms,
        returns_ms=returns_ms(books.config, deadline),
        delay_ms=delay,
        entries=entries,
        schemes=schemes,
    )
    live.record.in_flight += lease.weight
    books.leases.make(live, lease, urls)
    return FetchOrder(
        server=live.text,
        lease=lease.id,
        urls=tuple(urls),
        kind=lease.kind,
        attempt=attempt,
        delay_ms=delay,
        # Kept by a fetcher, by its own clock.
        deadline_ms=deadline - books.ahead_ms,
        created_ms=now_ms,
        config_version=books.config.config_version,
    )
