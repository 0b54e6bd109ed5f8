"""One request while it runs: its phase and time-out, its connection, and what becomes known of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from aiohttp import ClientRequest, ClientResponse
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from gregor.config.secrets import HIDDEN
from schemas.fetched import Outcome
from workers.fetcher.body import NO_BODY, Body, BodyReader
from workers.fetcher.port import Exchange, Headers, Request


class Attempt:
    """Everything that is noted between the first step of a request and its exchange."""

    __slots__ = (
        "address", "answered_at", "caps", "dns_ms", "ends_at", "phase", "protocol", "reader", "reason", "refused", "request",
        "request_headers", "response_headers", "reused", "sent_at", "sockets", "started", "started_ms", "status", "timeout",
        "version", "when_connected",
    )  # fmt: skip

    def __init__(self, request: Request, when_connected: "Callable[[Attempt, Connection], None]") -> None:
        self.request = request
        self.when_connected = when_connected
        self.caps = request.caps
        self.started = time.monotonic()
        self.started_ms = time.time_ns() // 1_000_000
        self.ends_at = self.started + request.caps.total_s
        self.phase = "connect"
        self.timeout: asyncio.Timeout | None = None
        self.refused = ""
        """Why the guard refused an address; a later address of the same name may have passed."""
        self.sockets = 0
        """How many were made for it."""
        self.address = ""
        self.reused = False
        self.dns_ms = 0
        self.sent_at = 0.0
        self.answered_at = 0.0
        self.status = 0
        self.reason = ""
        self.version = "HTTP/1.1"
        self.request_headers: Headers = ()
        self.response_headers: Headers = ()
        self.protocol: ResponseHandler | None = None
        self.reader: BodyReader | None = None

    def enter(self, phase: str, seconds: float) -> None:
        """From now on this phase's time-out holds, within that of the whole request."""
        self.phase = phase
        assert self.timeout is not None
        left = min(seconds, self.ends_at - time.monotonic())
        self.timeout.reschedule(asyncio.get_running_loop().time() + left)

    def answered(self, response: ClientResponse) -> None:
        self.answered_at = time.monotonic()
        self.enter("body", self.caps.total_s)
        self.status = response.status
        self.reason = (response.reason or "").encode("utf-8", "surrogateescape").decode("latin-1")
        if response.version is not None:
            self.version = f"HTTP/{response.version.major}.{response.version.minor}"

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
            truncated=body.truncated,
            request_headers=self.request_headers,
            response_headers=self.response_headers,
        )

    def _until(self, moment: float) -> int:
        return max(0, round((moment - self.started) * 1000)) if moment else 0


current_attempt: ContextVar[Attempt] = ContextVar("current_attempt")


class GuardedRequest(ClientRequest):
    """A request that shows its connection to the port before anything is sent on it."""

    async def send(self, conn: Connection) -> ClientResponse:
        attempt = current_attempt.get()
        attempt.when_connected(attempt, conn)
        before_send = attempt.request.before_send
        if before_send is not None:
            await self._turn(attempt, before_send)
        attempt.enter("first byte", attempt.caps.first_byte_s)
        attempt.sent_at = time.monotonic()
        hidden = attempt.request.hidden
        attempt.request_headers = tuple(
            (str(name), HIDDEN if hidden and name.lower() in hidden else value) for name, value in self.headers.items()
        )
        return await super().send(conn)

    async def _turn(self, attempt: Attempt, before_send: Callable[[], Awaitable[None]]) -> None:
        """Waiting for one's turn is politeness, not slowness: no time-out counts it."""
        assert attempt.timeout is not None
        begun = time.monotonic()
        attempt.timeout.reschedule(None)
        await before_send()
        attempt.ends_at += time.monotonic() - begun
