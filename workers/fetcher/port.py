"""The fetch port: one request goes in, one exchange comes out, whatever the other side does."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from schemas.fetched import Outcome, Truncation

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


class Request(Struct, frozen=True, kw_only=True):
    """One GET. ``server`` and ``path`` are canonical; everything else about the target follows from them."""

    scheme: Scheme
    server: str
    path: str
    headers: Mapping[str, str]
    caps: Caps
    hidden: frozenset[str] = frozenset()
    """Headers (lower case) whose values must not appear in the exchange: they were given to us in confidence."""
    before_send: Callable[[], Awaitable[None]] | None = None
    """Awaited when the connection stands and before the first byte leaves: the last moment to wait for one's turn."""


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
    truncated: Truncation = ""
    request_headers: Headers = ()
    response_headers: Headers = ()

    named: Mapping[str, str] = {}
    """The first response header of each name, in lower case."""

    def header(self, name: str) -> str:
        """The header of that (lower-case) name; empty: there is none."""
        return self.named.get(name, "")


class FetchPort(Protocol):
    """Lives in one event loop. The address guard belongs to the implementation, because only it knows what it connects to."""

    async def open(self) -> None: ...

    async def fetch(self, request: Request) -> Exchange:
        """Never raises, except for being cancelled."""
        ...

    def address_of(self, server: str) -> str:
        """Where the server's next request probably goes; empty: not known."""
        ...

    async def close(self) -> None: ...
