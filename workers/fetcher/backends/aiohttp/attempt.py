"""One request while it runs: its phase and time-out, its connection, and what becomes known of it."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final

from aiohttp.client_proto import ResponseHandler

from schemas.fetched import Outcome
from workers.fetcher.backends.backend import Exchange, FetchRequest, Headers
from workers.fetcher.body import NO_BODY, Body, BodyReader
from workers.fetcher.sockets import let_go

CONNECT: Final = "connecting"
FIRST_BYTE: Final = "the first byte"
BODY: Final = "the whole response"
LOOK_AGAIN_S: Final = 1.0


class Attempt:
    """Everything that is noted between the first step of a request and its exchange.

    One timer serves all phases: a phase that ends only moves ``_expires``, and the timer looks again when it fires too early.
    """

    __slots__ = (
        "_ends", "_expires", "_loop", "_task", "_timer", "_waiting", "address", "answered_at", "caps", "complete",
        "connected", "dns_ms", "named", "phase", "protocol", "reader", "reason", "refused", "request", "request_headers",
        "response_headers", "reused", "sent_at", "sockets", "started", "started_ms", "status", "timed_out", "version",
    )  # fmt: skip

    def __init__(self, request: FetchRequest) -> None:
        self.request = request
        self.caps = request.caps
        self.started = time.monotonic()
        self.started_ms = time.time_ns() // 1_000_000
        self.phase = CONNECT
        self.timed_out = False
        self.refused = ""
        """Why the guard refused an address; another address of the same name may have passed."""
        self.sockets: list[socket.socket] = []
        """Those that were made for it."""
        self.connected = False
        self.address = ""
        self.reused = False
        self.complete = False
        """Whether the response was read to its end, so that the connection can carry another request."""
        self.dns_ms = 0
        self.sent_at = 0.0
        self.answered_at = 0.0
        self.status = 0
        self.reason = ""
        self.version = "HTTP/1.1"
        self.request_headers: Headers = ()
        self.response_headers: Headers = ()
        self.named: dict[str, str] = {}
        self.protocol: ResponseHandler | None = None
        self.reader: BodyReader | None = None
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task = task
        self._waiting = False
        self._ends = self.started + request.caps.total_s
        self._expires = min(self.started + request.caps.connect_s, self._ends)
        self._timer = self._loop.call_later(self._expires - self.started, self._look)

    def enter(self, phase: str, now: float, seconds: float) -> None:
        """From now on this phase's time-out holds, within that of the whole request."""
        self.phase = phase
        expires = min(now + seconds, self._ends)
        if expires < self._expires:
            self._timer.cancel()
            self._timer = self._loop.call_later(expires - now, self._look)
        self._expires = expires

    def connect(self, transport: asyncio.BaseTransport | None) -> None:
        """A connection stands; others of its sockets came to nothing."""
        self.connected = True
        if len(self.sockets) > 1 and transport is not None:
            let_go(self.sockets, transport.get_extra_info("socket").fileno())

    async def wait(self, until: Callable[[], Awaitable[None]]) -> None:
        """Wait for politeness, which no time-out counts."""
        begun = time.monotonic()
        self._waiting = True
        await until()
        self._waiting = False
        self._ends += time.monotonic() - begun

    def close(self) -> None:
        """The request is over. Timer and task hold contexts, which hold the attempt: without this cut each body would wait
        for the garbage collector."""
        if not self.connected:
            let_go(self.sockets)
        self.sockets.clear()
        self._timer.cancel()
        del self._timer, self._task
        self.reader = self.protocol = None

    def uncancelled(self) -> int:
        """Take the timer's cancellation back; how many others are left."""
        return self._task.uncancel()

    def _look(self) -> None:
        left = LOOK_AGAIN_S if self._waiting else self._expires - time.monotonic()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self.timed_out = True
            self._task.cancel()

    def ended(self, outcome: Outcome, detail: str = "", body: Body = NO_BODY) -> Exchange:
        """The exchange as far as it came."""
        return Exchange(
            outcome=outcome,
            detail=detail,
            status=self.status,
            reason=self.reason,
            protocol=self.version,
            started_ms=self.started_ms,
            dns_ms=self.dns_ms,
            connect_ms=0 if self.reused else self._until(self.sent_at),
            first_byte_ms=self._until(self.answered_at),
            total_ms=self._until(time.monotonic()),
            sent_at=self.sent_at,
            answered_at=self.answered_at,
            reused=self.reused,
            address=self.address,
            wire_bytes=body.wire_bytes,
            body=body.data,
            undecoded=body.undecoded,
            truncated=body.truncated,
            request_headers=self.request_headers,
            response_headers=self.response_headers,
            named=self.named,
        )

    def _until(self, moment: float) -> int:
        return max(0, round((moment - self.started) * 1000)) if moment else 0


current_attempt: ContextVar[Attempt] = ContextVar("current_attempt")
