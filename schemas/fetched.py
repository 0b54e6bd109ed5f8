"""Topic ``fetched``: the results of one order, one per URL, committed together."""

from typing import Literal

from msgspec import Struct

from schemas.codec import decoder
from schemas.schedule import OrderKind

Outcome = Literal[
    "ok",
    "not-modified",
    "redirect",
    "client-error",
    "server-error",
    "rate-limited",
    "dns",
    "address-refused",
    "connect",
    "tls",
    "timeout",
    "disconnected",
    "protocol",
    "type-refused",
    "expired",
    "cancelled",
    "internal",
]
"""The class of a result. ``expired``: met after the deadline, no request was made. ``internal``: our own fault, see ``detail``."""

Truncation = Literal["", "length", "time", "disconnect"]


class Timings(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Milliseconds from the start of the request; 0 for a phase that did not happen."""

    dns: int = 0
    connect: int = 0
    first_byte: int = 0
    total: int = 0


class FetchResult(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of one URL of the order."""

    path: str
    outcome: Outcome
    scheme: Literal["http", "https"] = "https"
    status: int = 0
    """HTTP status; 0: no response."""
    started_ms: int = 0
    """When the request started; 0: none was made."""
    timings: Timings = Timings()
    address: str = ""
    """IP address that was connected to; empty: none."""
    wire_bytes: int = 0
    body_bytes: int = 0
    """Content-decoded length, as kept."""
    truncated: Truncation = ""
    digest: str = ""
    """xxh3_128 of the decoded body in hex; empty: no body was read."""
    previous_digest: str = ""
    content_type: str = ""
    etag: str = ""
    last_modified: str = ""
    location: str = ""
    """Target of a redirect as sent; empty: none."""
    retry_after_ms: int = 0
    """The server's Retry-After from the end of the response on; 0: none."""
    detail: str = ""
    """What went wrong, for people; empty when nothing did."""
    depth: int = 1
    visit: int = 0


class RobotsRules(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one robots.txt says to our agent."""

    scheme: Literal["http", "https"]
    """Origin inside the server that the file belongs to."""
    verdict: Literal["rules", "allow-all", "refuse-all", "unreachable"]
    text: str = ""
    """The lines for our agent, normalised; empty unless ``verdict`` is "rules"."""
    crawl_delay_ms: int = 0
    """0: none was asked for."""
    sitemaps: tuple[str, ...] = ()
    fetched_ms: int = 0
    status: int = 0


class Fetched(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One order's results."""

    server: str
    lease: str
    results: tuple[FetchResult, ...]
    kind: OrderKind = "pages"
    attempt: int = 1
    worker: str = ""
    """Id of the fetcher process."""
    schedule_partition: int = -1
    """Where the order stood; -1: not recorded."""
    schedule_offset: int = -1
    received_ms: int = 0
    started_ms: int = 0
    finished_ms: int = 0
    busy_ms: int = 0
    """Sum of request times, without the waits between them."""
    robots: tuple[RobotsRules, ...] = ()
    """For orders of kind ``robots``: one entry an origin."""


decode_fetched = decoder(Fetched)
