"""What all orders of a fetcher share: its port, its bounds, its settings, and the gate that the loop holds open."""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from gregor.config import Config, resolve
from gregor.config.secrets import is_reference, is_secret
from gregor.rules.hosts import servers_in_scope
from gregor.runtime.loops.contract import Ticket
from gregor.url.fingerprint import Placement
from schemas.schedule import FetchOrder, OrderKind
from workers.fetcher.address_pace import AddressPace
from workers.fetcher.backends.backend import Caps, Exchange, FetchBackend
from workers.fetcher.pace import GUESTS_IN_LINE, Paces
from workers.fetcher.tally import RequestTally
from workers.fetcher.text import text_digest

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
MEMORY_BYTES: Final = 256 * 1024 * 1024
"""Bodies that wait for their order's end or for a checkpoint."""
POLL_S: Final = 0.02
NOTHING_HIDDEN: Final[frozenset[str]] = frozenset()


class Running(Struct, eq=False):
    """One order in the fetcher. ``cancelled`` is set by the loop's thread, everything else by whoever made or runs it."""

    ticket: Ticket
    order: FetchOrder
    redelivered: bool
    cancelled: bool = False
    held_bytes: int = 0


class Gate:
    """Open while the loop that commits is alive; shut when it was silent for so long that others may own its partitions."""

    def __init__(self, silence_s: float) -> None:
        self._silence = silence_s
        self._heard = time.monotonic()

    def heard(self) -> None:
        """The loop has polled, and what it learnt by that is already done. From any thread."""
        self._heard = time.monotonic()

    @property
    def shut(self) -> bool:
        return time.monotonic() - self._heard > self._silence

    async def open(self) -> None:
        while self.shut:  # noqa: ASYNC110  another thread opens it
            await asyncio.sleep(POLL_S)


class Memory:
    """Bytes of bodies held by orders. Above the bound an order that holds some ends early, so that no two wait for each other."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._handed = 0
        """Released so far, by the loop's thread alone; ``_held`` is everything ever held, by the fetching thread alone."""

    @property
    def full(self) -> bool:
        return self._held - self._handed > self._most

    def hold(self, running: Running, size: int) -> None:
        running.held_bytes += size
        self._held += size

    def forget(self, running: Running) -> None:
        """A cancelled order's bodies are gone."""
        self._held -= running.held_bytes

    def release(self, size: int) -> None:
        self._handed += size

    async def may_go_on(self, running: Running) -> bool:
        """False: end the order with what it has. An order that holds nothing waits for room."""
        while self.full and not running.held_bytes:  # noqa: ASYNC110  another thread makes room
            await asyncio.sleep(POLL_S)
        return not self.full


class FetchContext:
    """Lives in the fetching thread, except where said otherwise."""

    def __init__(
        self,
        config: Config,
        placement: Placement,
        worker: str,
        port: FetchBackend,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self.config = config
        self.placement = placement
        self.worker = worker
        self.port = port
        self.slots = asyncio.Semaphore(config.fetch.connections)
        self.memory = Memory(MEMORY_BYTES)
        self.tally = RequestTally()
        self.gate = Gate(config.kafka.session_timeout_s / 2)
        self.leaving = asyncio.Event()
        """Set when the fetcher ends: no request is begun any more."""
        self.addresses = AddressPace(self.leaving)
        self.paces = Paces(config.frontier.orders_per_server, self.leaving)
        self.guests = AddressPace(self.leaving, servers=1, line=GUESTS_IN_LINE)
        """Requests of other servers' orders, by server."""
        self.in_scope: Final = servers_in_scope(config)
        self.crawl_paused = False
        self.paused_servers: frozenset[str] = frozenset()
        self._base = {"User-Agent": config.user_agent_header, "Accept": ACCEPT, "Accept-Encoding": ACCEPT_ENCODING}
        self._env = env
        self._types = tuple(one.lower() for one in config.fetch.types)
        self._caps: dict[tuple[int, OrderKind], Caps] = {}

    def text_digest(self, exchange: Exchange) -> str:
        """Of what a change is judged by; empty: by the digest of the body."""
        wanted = self.config.revisit.mode == "adaptive" and self.config.revisit.changed == "text"
        return (
            text_digest(exchange.header("content-type"), exchange.body) if wanted and exchange.outcome == "ok" else ""
        )

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def least_delay_s(self, server: str) -> float:
        """What is configured, in whole milliseconds as the frontier has it: no order of the frontier asks for less."""
        return int(self.config.for_server(server).delay_s * 1000) / 1000

    def caps(self, server: str, kind: OrderKind) -> Caps:
        body = self.config.for_server(server).max_body_bytes
        key = (body, kind)
        if key not in self._caps:
            fetch = self.config.fetch
            self._caps[key] = Caps(
                connect_s=fetch.connect_timeout_s,
                first_byte_s=fetch.first_byte_timeout_s,
                total_s=fetch.total_timeout_s,
                body_bytes=self.config.robots.max_bytes if kind == "robots" else body,
                header_bytes=fetch.max_header_bytes,
                headers=fetch.max_headers,
                types=() if kind == "robots" else self._types,
            )
        return self._caps[key]

    def headers(self, server: str) -> dict[str, str]:
        """What every request to the server carries; its own headers are sent to no other."""
        own = self.config.for_server(server).headers
        return {**self._base, **resolve(own, self._env)} if own else self._base

    def hidden(self, server: str) -> frozenset[str]:
        """Those of its headers that are secrets."""
        own = self.config.for_server(server).headers
        if not own:
            return NOTHING_HIDDEN
        return frozenset(name.lower() for name, value in own.items() if is_secret(name) or is_reference(value))

    def paused(self, server: str) -> str:
        """Why no request may be made now; empty: it may."""
        if self.leaving.is_set():
            return "not requested: the fetcher is leaving"
        if self.crawl_paused:
            return "not requested: the crawl is paused"
        return "not requested: the server is paused" if server in self.paused_servers else ""
