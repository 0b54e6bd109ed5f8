"""Orders that are out (Qc): until when each one may be answered, and what comes back when it is not.

    deadline = now + expected wait for a fetcher + n x (delay + total time-out)         no request starts after it
    return   = deadline + longest request + clock tolerance                             the URLs are queued again

An order that returns says nothing of its URLs. A result without its lease is late or repeated.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Final

import msgspec
from msgspec import Struct

from gregor.config import Config
from gregor.runtime.state.store import StateReader
from schemas.schedule import OrderKind, OrderUrl
from streams.frontier.storage.families import LEASES
from streams.frontier.storage.queue import Entry
from streams.frontier.storage.queue_codec import Scheme, path_of, scheme_of
from streams.frontier.storage.server import LiveServer

LONGEST_WAIT_MS: Final = 3600 * 1000
ROBOTS_WEIGHT: Final = 100
"""More than orders of one server may ever be out: nothing else is asked of a server while its robots.txt is."""
_TIME: Final = 8


class Lease(Struct, frozen=True, array_like=True, gc=False):
    """One order that is out."""

    id: str
    server: bytes
    created_ms: int
    returns_ms: int
    delay_ms: int
    entries: tuple[Entry, ...] = ()
    """The URLs as they stood in the queue; none for an order of kind ``robots``."""
    schemes: tuple[Scheme, ...] = ()
    """Origins whose robots.txt was ordered."""

    @property
    def kind(self) -> OrderKind:
        return "robots" if self.schemes else "pages"

    @property
    def weight(self) -> int:
        """What it adds to its server's ``in_flight``."""
        return ROBOTS_WEIGHT if self.schemes else 1

    @property
    def key(self) -> bytes:
        return self.returns_ms.to_bytes(_TIME, "big") + self.id.encode()


_encode = msgspec.msgpack.Encoder().encode
decode_lease = msgspec.msgpack.Decoder(Lease).decode


def orders_out(in_flight: int) -> int:
    """How many orders a server's ``in_flight`` stands for."""
    return in_flight // ROBOTS_WEIGHT + in_flight % ROBOTS_WEIGHT


def deadline_ms(config: Config, now_ms: int, wait_ms: int, urls: int, delay_ms: int) -> int:
    """After which no request of an order starts."""
    least = int(config.frontier.queue_wait_s * 1000)
    expected = min(max(least, 2 * wait_ms), max(least, LONGEST_WAIT_MS))
    return now_ms + expected + urls * (delay_ms + int(config.fetch.total_timeout_s * 1000))


def returns_ms(config: Config, deadline: int) -> int:
    return deadline + int((config.fetch.total_timeout_s + config.frontier.clock_tolerance_s) * 1000)


class Leases:
    """The orders of a partition that are out, in memory and in the state."""

    def __init__(self, state: StateReader, start: bytes) -> None:
        self._held: dict[str, Lease] = {}
        self._urls: dict[str, tuple[list[str], list[str]]] = {}
        self._made: list[Lease] = []
        self._ended: list[Lease] = []
        self.kept = False
        """Whether none returns: results that came in time may not have been read yet."""
        for _, value in state.scan(LEASES, start):
            lease: Lease = decode_lease(value)
            self._held[lease.id] = lease
        self._heap = [(lease.returns_ms, lease.id) for lease in self._held.values()]
        heapify(self._heap)

    def __len__(self) -> int:
        return len(self._held)

    def get(self, lease_id: str) -> Lease | None:
        return self._held.get(lease_id)

    def urls(self, lease: Lease) -> tuple[list[str], list[str]]:
        """Schemes and paths of a lease; they are at hand while the process that made the order lives."""
        return self._urls.get(lease.id) or (
            [scheme_of(value) for _, value in lease.entries],
            [path_of(value) for _, value in lease.entries],
        )

    def make(self, live: LiveServer, lease: Lease, urls: Sequence[OrderUrl]) -> None:
        self._held[lease.id] = lease
        self._urls[lease.id] = ([url.scheme for url in urls], [url.path for url in urls])
        self._made.append(lease)
        heappush(self._heap, (lease.returns_ms, lease.id))
        live.put(LEASES, lease.key, _encode(lease))

    def end(self, live: LiveServer, lease: Lease) -> None:
        del self._held[lease.id]
        self._urls.pop(lease.id, None)
        self._ended.append(lease)
        live.delete(LEASES, lease.key)

    def overdue(self, now_ms: int) -> Lease | None:
        """One that returns; it is still held."""
        due = self.next_return_ms
        return self._held[self._heap[0][1]] if due is not None and due <= now_ms else None

    @property
    def next_return_ms(self) -> int | None:
        return None if self.kept else self._next_ms

    @property
    def _next_ms(self) -> int | None:
        while self._heap and self._heap[0][1] not in self._held:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def start(self) -> bytes:
        """The state holds no lease with a smaller key."""
        due = self._next_ms
        return b"" if due is None else due.to_bytes(_TIME, "big")

    def committed(self) -> None:
        self._made, self._ended = [], []

    def dropped(self) -> None:
        for lease in self._ended:
            self._held[lease.id] = lease
            heappush(self._heap, (lease.returns_ms, lease.id))
        for lease in self._made:
            self._held.pop(lease.id, None)
            self._urls.pop(lease.id, None)
        self._made, self._ended = [], []
