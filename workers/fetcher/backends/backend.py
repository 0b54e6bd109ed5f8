"""The contract of a fetch backend: one request goes in, one exchange comes out, whatever the other side does.

One request is one GET on one connection. A backend follows no redirect, keeps no cookie, repeats nothing, reads no proxy from the
environment, and sends ``Host`` and the headers it is given, no others. A connection whose response was read to its end may carry the next
request to its server; the exchange says so (``reused``), because whether a request that was lost on it is repeated is not the backend's
decision.

What may be raised by ``fetch``: ``SkipRequest``, when ``before_send`` raises it, and ``CancelledError``, when somebody else cancels the
task. Everything else, a bug of the backend too, is an exchange with its outcome (``internal`` for a bug) and a ``detail`` that says why.

Caps hold for each request by itself, on a kept connection too: time by phase and together, one header, their number and their length
together, the body as it came and as it is decoded, what it may grow to. Bytes that are neither head nor body, and interim answers without
end, are counted and end the connection. What has no business in an answer costs no more than that: what was read of a body is kept
(``truncated`` says why it ended), and what follows an answer is never taken for the next. Sockets, busy and idle together, stay within
``connections``. The time that ``before_send`` takes counts towards none of the caps.

The address guard is part of the contract, because only the backend knows what it connects to. It judges every address before a socket is
made for it, of a name (each of its addresses) and of a literal in any spelling, and the peer of a new connection once more before the first
request leaves on it. Nothing is sent to an address that the guard objects to; when none is left, the outcome is ``address-refused``.

A backend that answers without a network (``OFFLINE_BACKENDS`` of the configuration) has nothing to judge. It promises instead that it
never makes a socket nor looks up a name, so that an address is neither known to it (``address_of`` and ``address`` stay empty) nor ever
met. Everything else of the contract holds for it.

``tests/workers/fetcher/backends/contract.py`` holds each backend to this, and ``tests/hostile`` runs with each of them that connects.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from gregor.config.secrets import HIDDEN
from gregor.config.sections import EmulateSection
from gregor.url.canonical import DEFAULT_RULES, CanonicalRules
from schemas.fetched import Outcome, Truncation
from workers.fetcher.addresses import AddressGuard

Scheme = Literal["http", "https"]
Headers = tuple[tuple[str, str], ...]


class Caps(Struct, frozen=True, kw_only=True):
    """What one request may cost; ``docs/fetching.md`` lists every one with its default."""

    connect_s: float
    """To look up the address, connect and shake hands."""
    first_byte_s: float
    """From the request to the end of the response's headers."""
    total_s: float
    body_bytes: int
    """Of the decoded body; also the most that is read from the wire."""
    header_bytes: int
    """Of one header, or of the status line; four times as much for all of them together."""
    headers: int
    ratio: int = 200
    """Decoded bytes for one byte on the wire, once a body is longer than ``ratio_from``."""
    ratio_from: int = 1024 * 1024
    types: tuple[str, ...] = ()
    """Media types whose bodies are read, in lower case, as ``fetch.types`` has them; empty: all."""


class FetchRequest(Struct, frozen=True, kw_only=True):
    """One GET. ``server`` and ``path`` are canonical; everything else about the target follows from them."""

    scheme: Scheme
    server: str
    path: str
    headers: Mapping[str, str]
    caps: Caps
    hidden: frozenset[str] = frozenset()
    """Headers (lower case) whose values must not appear in the exchange: they were given to us in confidence."""
    before_send: Callable[[], Awaitable[None]] | None = None
    """Awaited when the connection stands and before the first byte leaves: the last moment to wait for one's turn, or to raise
    ``SkipRequest``."""

    @property
    def sent_headers(self) -> Headers:
        """What is sent, ``Host`` first."""
        return (("Host", self.server), *self.headers.items())

    @property
    def told_headers(self) -> Headers:
        """The same as it may be told."""
        if not self.hidden:
            return self.sent_headers
        return tuple((name, HIDDEN if name.lower() in self.hidden else value) for name, value in self.sent_headers)


class Exchange(Struct, frozen=True, kw_only=True):
    """What became of one request. Times of day in ms since the epoch, durations in ms, moments in monotonic seconds."""

    outcome: Outcome
    detail: str = ""
    status: int = 0
    """0: no response."""
    reason: str = ""
    protocol: str = "HTTP/1.1"
    started_ms: int = 0
    dns_ms: int = 0
    connect_ms: int = 0
    first_byte_ms: int = 0
    total_ms: int = 0
    sent_at: float = 0.0
    """When the request left; 0: it did not."""
    answered_at: float = 0.0
    """When the headers were complete; 0: never."""
    reused: bool = False
    """Whether the connection had served a request before."""
    address: str = ""
    wire_bytes: int = 0
    body: bytes = b""
    undecoded: bool = False
    """``body`` is as it came: its content coding could not be undone."""
    truncated: Truncation = ""
    request_headers: Headers = ()
    response_headers: Headers = ()

    named: Mapping[str, str] = {}
    """The first response header of each name, in lower case."""

    def header(self, name: str) -> str:
        """The header of that (lower-case) name; empty: there is none."""
        return self.named.get(name, "")


class BackendOptions(Struct, frozen=True, kw_only=True):
    """What a backend is made from."""

    guard: AddressGuard
    connections: int
    """Sockets that are open, busy and idle together, at most."""
    name_servers: tuple[str, ...] = ()
    """Who is asked for addresses, as host:port; empty: whom the machine asks."""
    shortest_answer_s: float = 10.0
    """How long an answer of theirs is used, also when its own time to live is shorter."""
    tls: ssl.SSLContext | None = None
    """Which certificates hold; None: those that the machine trusts."""
    emulate: EmulateSection = EmulateSection()
    """For a backend without sockets: what it answers from, and how fast."""
    rules: CanonicalRules = DEFAULT_RULES
    """By which the crawl tells URLs apart."""


class FetchBackend(Protocol):
    """Made anywhere; from ``open`` to ``close`` it lives in one event loop, which carries many requests at once."""

    async def open(self) -> None:
        """Once, before the first request."""
        ...

    async def fetch(self, request: FetchRequest) -> Exchange:
        """Raises ``SkipRequest`` out of ``before_send``, and ``CancelledError``; nothing else."""
        ...

    def address_of(self, server: str) -> str:
        """Where the server's next request probably goes, without asking anybody: the address that its name spells, or the one that is
        remembered; empty: not known."""
        ...

    async def close(self) -> None:
        """After the last request: every socket is closed. Also without ``open``."""
        ...


MakeBackend = Callable[[BackendOptions], FetchBackend]
