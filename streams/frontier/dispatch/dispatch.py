"""Release: orders for the servers whose turn it is, as many as there is room for in flight.

A server's visit ends in one of four ways: an order of pages, an order for robots.txt, URLs that turn out to be refused, or nothing.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from schemas.schedule import FetchOrder, OrderUrl
from streams.frontier.dispatch.leases import Lease, deadline_ms, returns_ms
from streams.frontier.dispatch.politeness import delay_of, urls_of_order
from streams.frontier.dispatch.robots import ROBOTS_PATH, missing
from streams.frontier.partition_state import PartitionState
from streams.frontier.settle.lifecycle import drop
from streams.frontier.settle.timers import RETRY
from streams.frontier.storage import queue
from streams.frontier.storage.queue import Entry
from streams.frontier.storage.queue_codec import Scheme, attempts_of, order_url, path_of, scheme_of
from streams.frontier.storage.server import LiveServer

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
    """What a dispatch may still do, and what it did."""

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


def dispatch(state: PartitionState, now_ms: int, quota: Quota) -> list[FetchOrder]:
    """What is due: expired leases return, waiting URLs are queued, then orders go out."""
    quota.moved += return_overdue(state, now_ms) + queue_due(state, now_ms)
    state.servers.wake(now_ms)
    orders: list[FetchOrder] = []
    room = state.config.fetch.orders_in_flight - len(state.leases)
    while room > 0 and quota.left and (taken := state.servers.take_ready(min(room, VISITED_TOGETHER))):
        queue.read_ahead(
            [(live, _most(state, live) + 1) for live in taken if live.record.dead_until_ms <= now_ms], state.store
        )
        for live in taken:
            if quota.left:
                state.servers.touch(live)
                order = _visit(state, live, now_ms, quota)
                if order is not None:
                    orders.append(order)
                    quota.moved += len(order.urls)
                    room -= 1
            live.ahead = []
            state.servers.place(live, now_ms)
    return orders


def return_overdue(state: PartitionState, now_ms: int) -> int:
    """Leases that nobody answered give their URLs back; it is not the URLs' fault. Gives how many."""
    returned = 0
    while (lease := state.leases.overdue(now_ms)) is not None:
        live = state.servers.open(lease.server)
        state.servers.touch(live)
        state.leases.end(live, lease)
        live.record.in_flight -= lease.weight
        # Whoever had the order may have asked a moment ago and told nobody.
        live.record.next_ms = max(live.record.next_ms, now_ms + lease.delay_ms)
        for place, value in lease.entries:
            state.enqueue(live, place, value, now_ms)
        state.count("leased", -len(lease.entries))
        state.count("returned", len(lease.entries))
        state.count("leases_expired")
        state.servers.place(live, now_ms)
        returned += max(1, len(lease.entries))
    return returned


def queue_due(state: PartitionState, now_ms: int) -> int:
    """Retries and re-crawls whose time has come; gives how many."""
    due = state.timers.due(now_ms, DUE_AT_ONCE)
    state.servers.prefetch(dict.fromkeys(waiting.server for _, waiting in due))
    for key, waiting in due:
        live = state.servers.open(waiting.server)
        state.servers.touch(live)
        state.timers.take(live, key, waiting)
        if waiting.kind == RETRY:
            state.count("retrying", -1)
        else:
            state.count("revisiting", -1)
            state.count("recrawled")
        state.enqueue(live, waiting.place, waiting.value, now_ms)
        state.servers.place(live, now_ms)
    return len(due)


def _visit(state: PartitionState, live: LiveServer, now_ms: int, quota: Quota) -> FetchOrder | None:
    if live.record.dead_until_ms > now_ms:
        entries, following = cut(queue.first_entries(live, state.store, DRAINED + 1), DRAINED)
        take(state, live, entries, following)
        drop(state, live, entries, "failed", "server-unreachable")
        quota.moved += len(entries)
        quota.effort -= len(entries)
        return None
    settings = state.config.for_server(live.text)
    delay = delay_of(settings, live.record)
    most = min(urls_of_order(state.config, delay), quota.pages)
    if not settings.obey_robots:
        entries, following = cut(queue.first_entries(live, state.store, most + 1), most)
        take(state, live, entries, following)
        return make_order(state, live, entries, delay, now_ms, quota) if entries else None
    return _visit_by_rules(state, live, delay, most, now_ms, quota)


def _visit_by_rules(
    state: PartitionState, live: LiveServer, delay: int, most: int, now_ms: int, quota: Quota
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
        entries, following = cut(queue.first_entries(live, state.store, wanted + 1), wanted)
        unknown = missing(live, tuple(dict.fromkeys(scheme_of(value) for _, value in entries)), now_ms)
        if unknown:
            # The rules of one origin may be old while another's are not: the order goes with what it has.
            return (
                make_order(state, live, chosen, delay, now_ms, quota) if chosen else ask(state, live, unknown, now_ms)
            )
        take(state, live, entries, following)
        looked += len(entries)
        quota.effort -= len(entries)
        refused: dict[str, list[Entry]] = {}
        for entry in entries:
            reason = state.robots.refusal(live, scheme_of(entry[1]), path_of(entry[1]))
            if reason:
                refused.setdefault(reason, []).append(entry)
            else:
                chosen.append(entry)
        for reason, dropped in refused.items():
            drop(state, live, dropped, "dropped", reason)
            quota.moved += len(dropped)
            quota.effort -= (REFUSAL - 1) * len(dropped)
    return make_order(state, live, chosen, delay, now_ms, quota) if chosen else None


def _most(state: PartitionState, live: LiveServer) -> int:
    return urls_of_order(state.config, delay_of(state.config.for_server(live.text), live.record))


def cut(entries: list[Entry], count: int) -> tuple[list[Entry], bytes]:
    """The first ones, as many as fit into one record, and the place that follows them (empty: none)."""
    if _bytes(entries) > ORDER_BYTES:
        sizes = accumulate(len(value) for _, value in entries)
        count = min(count, 1 + next(at for at, size in enumerate(sizes) if size > ORDER_BYTES))
    return (entries[:count], entries[count][0]) if len(entries) > count else (entries, b"")


def _bytes(entries: list[Entry]) -> int:
    return sum([len(value) for _, value in entries])


def take(state: PartitionState, live: LiveServer, entries: list[Entry], following: bytes) -> None:
    """Out of the queue, whose first place is then ``following``."""
    if entries:
        queue.take(live, entries, following)
        state.count("queued", -len(entries))


def make_order(
    state: PartitionState, live: LiveServer, entries: list[Entry], delay: int, now_ms: int, quota: Quota
) -> FetchOrder:
    """An order of pages that are not in the queue any more."""
    quota.pages -= len(entries)
    state.count("leased", len(entries))
    state.count("ordered", len(entries))
    attempt = 1 + max([attempts_of(value) for _, value in entries])
    urls = tuple([order_url(value) for _, value in entries])
    return _lease(state, live, urls, delay, now_ms, attempt, entries=tuple(entries))


def ask(state: PartitionState, live: LiveServer, schemes: tuple[Scheme, ...], now_ms: int) -> FetchOrder:
    """An order for robots.txt."""
    state.count("robots_ordered", len(schemes))
    delay = delay_of(state.config.for_server(live.text), live.record)
    urls = tuple(OrderUrl(path=ROBOTS_PATH, scheme=scheme, depth=0) for scheme in schemes)
    attempt = 1 + max(live.origin(scheme).attempts for scheme in schemes)
    return _lease(state, live, urls, delay, now_ms, attempt, schemes=schemes)


def _lease(
    state: PartitionState,
    live: LiveServer,
    urls: Sequence[OrderUrl],
    delay: int,
    now_ms: int,
    attempt: int,
    entries: tuple[Entry, ...] = (),
    schemes: tuple[Scheme, ...] = (),
) -> FetchOrder:
    state.facts.orders += 1
    state.count("orders")
    deadline = deadline_ms(state.config, now_ms, state.facts.wait_ms, len(urls), delay)
    lease = Lease(
        id=f"{state.partition}-{state.facts.orders}",
        server=live.name,
        created_ms=now_ms,
        returns_ms=returns_ms(state.config, deadline),
        delay_ms=delay,
        entries=entries,
        schemes=schemes,
    )
    live.record.in_flight += lease.weight
    state.leases.make(live, lease, urls)
    return FetchOrder(
        server=live.text,
        lease=lease.id,
        urls=tuple(urls),
        kind=lease.kind,
        attempt=attempt,
        delay_ms=delay,
        # Kept by a fetcher, by its own clock.
        deadline_ms=deadline - state.ahead_ms,
        partition=state.results_partition,
        created_ms=now_ms,
        config_version=state.config.config_version,
    )
