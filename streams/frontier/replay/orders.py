"""Orders that a crawl made once, made again: which URLs, under which lease and when is taken from the record, not decided.

What is ordered next, and when, follows from the clock, from politeness and from what happened to arrive together; no two runs agree in
it. What an order leads to does not: its results end the same lease, and confirming, retries, budgets and traps decide from there on
as they do in a crawl. The URLs of an order that the queue does not have are left out of it.

Robots rules are evaluated when a URL's turn comes, which is part of the clock too: `drop_refused` does it for URLs that are still queued.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np
from msgspec import Struct

from gregor.url.fingerprint import fingerprint
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, OrderKind
from streams.frontier.dispatch.dispatch import DRAINED, Quota, ask, make_order, queue_due, return_overdue
from streams.frontier.dispatch.politeness import delay_of
from streams.frontier.partition_state import PartitionState
from streams.frontier.settle.lifecycle import drop
from streams.frontier.storage import queue
from streams.frontier.storage.families import QUEUE
from streams.frontier.storage.queue import Entry
from streams.frontier.storage.queue_codec import PLACE_BYTES, Scheme, path_of, scheme_of
from streams.frontier.storage.server import LiveServer
from streams.frontier.storage.uniqueness.facts import Facts

EARLY_MS: Final = 5_000
"""A URL that waits for a time counts as due so much before it: the clock of a record is not that of the decision."""
_PRIORITIES: Final = range(256)

Reached = Callable[[int, Sequence[int]], Sequence[bool]]
"""Of a server's hash and fingerprints: whose turn had come."""


class PastUrl(Struct, frozen=True, gc=False):
    """One URL of an order."""

    scheme: Scheme
    path: str
    depth: int
    priority: int = -1
    """-1: not recorded."""


class PastOrder(Struct, frozen=True):
    """An order as far as it is recorded."""

    server: str
    number: int
    """Of the lease, among those of its partition."""
    kind: OrderKind
    urls: tuple[PastUrl, ...]
    made_ms: int


def from_schedule(order: FetchOrder) -> PastOrder:
    urls = tuple([PastUrl(one.scheme, one.path, one.depth, one.priority) for one in order.urls])
    return PastOrder(order.server, number_of(order.lease), order.kind, urls, order.created_ms)


def from_results(fetched: Fetched) -> PastOrder:
    """The order that these results answer; it was made before they were asked for."""
    urls = tuple([PastUrl(one.scheme, one.path, one.depth) for one in fetched.results])
    return PastOrder(fetched.server, number_of(fetched.lease), fetched.kind, urls, fetched.received_ms)


def number_of(lease: str) -> int:
    """The number in a lease's id, "PARTITION-NUMBER"; 0: it is none that a frontier gave."""
    number = lease.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 19 else 0


def order_again(state: PartitionState, order: PastOrder, now_ms: int, quota: Quota) -> int:
    """Make the order with what the queue has of it; gives how many of its URLs it does not have. An order of which nothing is left is
    not made."""
    return_overdue(state, now_ms)
    queue_due(state, now_ms + EARLY_MS)
    live = state.servers.open(order.server.encode())
    state.servers.touch(live)
    made = state.facts.orders
    state.facts.orders = order.number - 1
    absent = 0
    if order.kind == "robots":
        ask(state, live, tuple(dict.fromkeys(one.scheme for one in order.urls)), now_ms)
    else:
        entries = _allowed(state, live, _queued(state, live, order.urls))[: max(0, quota.pages)]
        absent = len(order.urls) - len(entries)
        if entries:
            queue.pick(live, [place for place, _ in entries])
            state.count("queued", -len(entries))
            delay = delay_of(state.config.for_server(live.text), live.record)
            make_order(state, live, entries, delay, now_ms, quota)
    state.facts.orders = max(made, state.facts.orders)
    state.servers.place(live, now_ms)
    return absent


def _queued(state: PartitionState, live: LiveServer, urls: Sequence[PastUrl]) -> list[Entry]:
    """The URLs as they stand in the queue, those that do not left out."""
    prints = [fingerprint(one.scheme, one.path) for one in urls]
    hashes = np.full(len(prints), live.hash, dtype=np.uint64)
    facts = Facts(state.engine.look_up(hashes, np.array(prints, dtype=np.uint64))[1])
    found: dict[bytes, bytes] = {}
    for number, (url, print_) in enumerate(zip(urls, prints, strict=True)):
        depth, priority = int(facts.depth[number]), int(facts.priority[number])
        for place in _places(state, url, print_.to_bytes(8, "big"), depth, priority):
            value = queue.value_at(live, state.store, place)
            if value is not None:
                found[place] = value
                break
    return list(found.items())


def _places(state: PartitionState, url: PastUrl, ending: bytes, depth: int, priority: int) -> Iterator[bytes]:
    """Where the URL may stand, the likeliest place first: its first discovery decided, and U may know of a better one since."""
    prefix = state.place_prefix
    if url.priority >= 0:
        yield prefix(url.depth, url.priority) + ending
    yield prefix(url.depth, priority) + ending
    yield prefix(depth, priority) + ending
    for other in _PRIORITIES:
        yield prefix(url.depth, other) + ending
    if depth != url.depth:
        for other in _PRIORITIES:
            yield prefix(depth, other) + ending


def _allowed(state: PartitionState, live: LiveServer, entries: list[Entry]) -> list[Entry]:
    """Those that robots.txt allows, as far as it is known; the others are dropped."""
    if not state.config.for_server(live.text).obey_robots:
        return entries
    allowed: list[Entry] = []
    refused: dict[str, list[Entry]] = {}
    for entry in entries:
        reason = state.robots.refusal(live, scheme_of(entry[1]), path_of(entry[1]))
        if reason:
            refused.setdefault(reason, []).append(entry)
        else:
            allowed.append(entry)
    _drop(state, live, refused)
    return allowed


def _drop(state: PartitionState, live: LiveServer, refused: dict[str, list[Entry]]) -> None:
    for reason, entries in refused.items():
        queue.pick(live, [place for place, _ in entries])
        state.count("queued", -len(entries))
        drop(state, live, entries, "dropped", reason)


def drain_dead(state: PartitionState, server: str, now_ms: int) -> bool:
    """Give up what waits for a server that was given up; False: it is not, or not any more."""
    live = state.servers.open(server.encode())
    if live.record.dead_until_ms <= now_ms:
        return False
    state.servers.touch(live)
    while live.record.queued:
        entries = queue.first_entries(live, state.store, DRAINED)
        queue.pick(live, [place for place, _ in entries])
        state.count("queued", -len(entries))
        drop(state, live, entries, "failed", "server-unreachable")
    return True


def drop_refused(state: PartitionState, start: bytes, count: int, reached: Reached) -> bytes | None:
    """Of ``count`` URLs that were queued at the last checkpoint, from a key of the queue on: drop those that robots.txt refuses, and
    whose turn had come. Gives the key to go on from; None: all were looked at."""
    last = b""
    looked = 0
    servers: dict[bytes, list[Entry]] = {}
    for key, value in islice(state.store.scan(QUEUE, start), count):
        servers.setdefault(key[: -PLACE_BYTES - 1], []).append((key[-PLACE_BYTES:], value))
        last = key
        looked += 1
    for name, entries in servers.items():
        live = state.servers.open(name)
        if state.config.for_server(live.text).obey_robots:
            _drop(state, live, _refused(state, live, entries, reached))
    return last + b"\0" if looked == count else None


def _refused(state: PartitionState, live: LiveServer, entries: list[Entry], reached: Reached) -> dict[str, list[Entry]]:
    came = reached(live.hash, [int.from_bytes(place[-8:], "big") for place, _ in entries])
    refused: dict[str, list[Entry]] = {}
    for entry, due in zip(entries, came, strict=True):
        reason = state.robots.refusal(live, scheme_of(entry[1]), path_of(entry[1])) if due else ""
        if reason:
            state.servers.touch(live)
            refused.setdefault(reason, []).append(entry)
    return refused
