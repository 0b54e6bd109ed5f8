"""One partition of the frontier: which URLs are known, queued and leased, and which orders go out.

A URL's life here: discovered ──► seen + queue ──► lease (one order) ──► confirmed by a result.

Durable families:

    seen      fingerprint key of the URL                         -> empty
    queue     server 0x00 depth fingerprint                      -> the URL as an order needs it
    leases    lease id                                           -> the order
    servers   server                                             -> when it may be asked again

Ready servers live in a heap beside them, rebuilt from the families when anything was dropped.
"""

import heapq
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.state.overlay import Overlay
from gregor.state.packed import Mutation
from gregor.state.store import StateReader
from gregor.url.fingerprint import Placement, fingerprint, server_hash
from schemas.codec import decoder, encode
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, OrderUrl, decode_order

FAMILIES: Final = ("seen", "queue", "leases", "servers")
DEEPEST: Final = 0xFFFF
_RETURNED: Final = frozenset({"expired", "cancelled"})
"""Outcomes that say nothing of the URL: it goes back into the queue."""

_decode_url = decoder(OrderUrl)


class _ServerFacts(Struct, frozen=True):
    """What must survive of a server beside its queue."""

    next_ms: int


_decode_server = decoder(_ServerFacts)


class PartitionFrontier:
    """Decides for the servers of one partition."""

    def __init__(
        self, partition: int, state: StateReader, config: Config, counters: dict[str, int], sequence: int
    ) -> None:
        self._partition = partition
        self._state = state
        self._config = config
        self._overlay = Overlay(state, FAMILIES)
        self._counters = counters
        self._committed_counters = dict(counters)
        self._sequence = sequence
        self._orders = 0
        self._load()

    def _load(self) -> None:
        """Bring what lives in memory to the state as of the last checkpoint."""
        self._queues: dict[str, list[bytes]] = {}
        self._leased: dict[str, str] = {}
        self._next_ms: dict[str, int] = {}
        for key, value in self._state.scan("servers"):
            self._next_ms[key.decode()] = _decode_server(value).next_ms
        for key, _ in self._state.scan("queue"):
            # Keys come sorted, and a sorted list is a heap.
            self._queues.setdefault(_server_of(key), []).append(key)
        for key, value in self._state.scan("leases"):
            self._leased[decode_order(value).server] = key.decode()
        self._ready = [(self._next_ms.get(server, 0), server) for server in self._queues if server not in self._leased]
        heapq.heapify(self._ready)

    def discover(self, found: Discovered, now_ms: int) -> int:
        """Admit what is new; gives how many URLs were decided."""
        limit = self._config.for_server(found.server).max_depth
        too_deep = bool(limit) and found.depth > limit
        for number, path in enumerate(found.paths):
            key = _seen_key(found.server, found.scheme, path)
            if self._overlay.get("seen", key) is not None:
                self._count("duplicates")
            elif too_deep:
                self._count("refused_depth")
            else:
                self._admit(found, number, key)
        return len(found.paths)

    def _admit(self, found: Discovered, number: int, key: bytes) -> None:
        path = found.paths[number]
        url = OrderUrl(
            path=path,
            scheme=found.scheme,
            depth=found.depth,
            hops=found.hops,
            off_site=found.off_site,
            redirects=found.redirects,
            seed=found.seed,
        )
        self._overlay.put(found.server.encode(), "seen", key, b"")
        self._count("admitted")
        self._enqueue(found.server, url)

    def _enqueue(self, server: str, url: OrderUrl) -> None:
        key = _queue_key(server, url)
        self._overlay.put(server.encode(), "queue", key, encode(url))
        queue = self._queues.setdefault(server, [])
        heapq.heappush(queue, key)
        self._count("queued")
        if len(queue) == 1 and server not in self._leased:
            heapq.heappush(self._ready, (self._next_ms.get(server, 0), server))

    def confirm(self, fetched: Fetched, now_ms: int) -> int:
        """A result for each URL of a lease; a result without its lease is late or repeated, and ignored."""
        name, lease = fetched.server.encode(), fetched.lease.encode()
        held = self._overlay.get("leases", lease)
        if held is None:
            self._count("results_ignored")
            return 0
        order = decode_order(held)
        self._overlay.delete(name, "leases", lease)
        del self._leased[fetched.server]
        self._count("leased", -len(order.urls))
        outcomes = {(one.scheme, one.path): one.outcome for one in fetched.results}
        for url in order.urls:
            if outcomes.get((url.scheme, url.path), "cancelled") in _RETURNED:
                self._enqueue(fetched.server, url)
            else:
                self._count("confirmed")
        last = max((one.started_ms for one in fetched.results), default=now_ms)
        self._next_ms[fetched.server] = last + order.delay_ms
        self._overlay.put(name, "servers", name, encode(_ServerFacts(self._next_ms[fetched.server])))
        if self._queues.get(fetched.server):
            heapq.heappush(self._ready, (self._next_ms[fetched.server], fetched.server))
        return len(order.urls)

    def release(self, now_ms: int) -> list[FetchOrder]:
        """Orders for the servers that may be asked now, one in flight for each."""
        orders = []
        while self._ready and self._ready[0][0] <= now_ms and len(self._leased) < self._config.fetch.orders_in_flight:
            _, server = heapq.heappop(self._ready)
            if server not in self._leased and self._queues.get(server):
                orders.append(self._order(server, now_ms))
        return orders

    def _order(self, server: str, now_ms: int) -> FetchOrder:
        name = server.encode()
        queue = self._queues[server]
        urls: list[OrderUrl] = []
        while queue and len(urls) < self._config.fetch.urls_per_order:
            key = heapq.heappop(queue)
            urls.append(_decode_url(self._overlay.get("queue", key)))
            self._overlay.delete(name, "queue", key)
        self._orders += 1
        order = FetchOrder(
            server=server,
            lease=f"{self._partition}-{self._sequence + 1}-{self._orders}",
            urls=tuple(urls),
            delay_ms=int(self._config.for_server(server).delay_s * 1000),
            created_ms=now_ms,
            config_version=self._config.config_version,
        )
        self._overlay.put(name, "leases", order.lease.encode(), encode(order))
        self._leased[server] = order.lease
        self._count("queued", -len(urls))
        self._count("leased", len(urls))
        self._count("ordered", len(urls))
        return order

    def next_due_ms(self) -> int | None:
        """When ``release`` has something to do; None: not before a result or a discovery."""
        if not self._ready or len(self._leased) >= self._config.fetch.orders_in_flight:
            return None
        return self._ready[0][0]

    @property
    def counters(self) -> dict[str, int]:
        return self._counters

    def mutations(self) -> Sequence[Mutation]:
        return self._overlay.mutations()

    def committed(self) -> None:
        self._overlay.clear()
        self._committed_counters = dict(self._counters)
        self._sequence += 1
        self._orders = 0

    def dropped(self) -> None:
        self._overlay.clear()
        self._counters = dict(self._committed_counters)
        self._load()

    def _count(self, name: str, by: int = 1) -> None:
        self._counters[name] = self._counters.get(name, 0) + by


def route(order: FetchOrder, placement: Placement) -> int:
    """The partition of ``schedule`` that an order goes to: by host hash."""
    return placement.partition(order.server)


def _seen_key(server: str, scheme: str, path: str) -> bytes:
    return server_hash(server).to_bytes(8, "big") + fingerprint(scheme, path).to_bytes(8, "big")


def _queue_key(server: str, url: OrderUrl) -> bytes:
    depth = min(url.depth, DEEPEST)
    return server.encode() + b"\0" + depth.to_bytes(2, "big") + fingerprint(url.scheme, url.path).to_bytes(8, "big")


def _server_of(queue_key: bytes) -> str:
    return queue_key[: queue_key.index(b"\0")].decode()
