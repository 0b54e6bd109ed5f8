"""Topic ``fetched``: the results of one order, one per URL, committed together."""

from typing import Literal

from msgspec import Struct

from schemas.codec import Integer, decoder
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
    "undecodable",
    "expired",
    "cancelled",
    "internal",
]
"""The class of a result. ``undecodable``: 2xx, and its content coding could not be undone. ``expired``: met after the deadline, no
request was made. ``internal``: our own fault, see ``detail``."""

Truncation = Literal["", "length", "time", "disconnect"]
"""Why a body is not whole: it was longer than the limit, took longer, or the server left; empty: it is whole."""


class Timings(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """Milliseconds from the start of the request."""

    dns: Integer = 0
    """Until the name was resolved; 0: it did not have to be."""
    connect: Integer = 0
    """Until the connection stood, TLS included; 0: one was used again."""
    first_byte: Integer = 0
    """Until the first byte of the response; 0: none came."""
    total: Integer = 0
    """Until the last byte or the failure; 0: no request was made."""


class FetchResult(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What became of one URL of the order."""

    path: str
    """Path and query, as ordered."""
    outcome: Outcome
    """The class of the result."""
    scheme: Literal["http", "https"] = "https"
    """Scheme, as ordered."""
    status: Integer = 0
    """HTTP status; 0: no response."""
    started_ms: Integer = 0
    """When the request started, milliseconds since 1970; 0: none was made."""
    timings: Timings = Timings()
    """How long its phases took; left out: no request was made."""
    address: str = ""
    """IP address that was connected to; empty: none."""
    wire_bytes: Integer = 0
    """Length of the body as it came, before content decoding; 0: no body."""
    body_bytes: Integer = 0
    """Content-decoded length, as kept, or that of an undecodable body as it came; 0: no body."""
    truncated: Truncation = ""
    """Why the body is not whole; empty: it is."""
    digest: str = ""
    """xxh3_128 of the body as kept in hex; empty: no body was read."""
    text_digest: str = ""
    """xxh3_128 of an HTML page's text in hex, where adaptive visits judge a change by it; empty: they do not."""
    previous_digest: str = ""
    """Digest of the previous visit, as ordered; empty: none."""
    content_type: str = ""
    """Content-Type as sent; empty: none."""
    etag: str = ""
    """ETag as sent; empty: none."""
    last_modified: str = ""
    """Last-Modified as sent; empty: none."""
    location: str = ""
    """Target of a redirect as sent; empty: none."""
    cookies: str = ""
    """Of a redirect: the name=value pairs of its Set-Cookie headers, joined by "; ", for one retry if it leads to itself; empty: none."""
    retry_after_ms: Integer = 0
    """The server's Retry-After in milliseconds from the end of the response on; of a URL that is ``cancelled`` because too many servers
    share an address, when there may be a turn for it; 0: none."""
    detail: str = ""
    """What went wrong, for people; empty when nothing did."""
    depth: Integer = 1
    """Depth of the URL, as ordered; 1: a seed, or the first of its domain."""
    visit: Integer = 0
    """How often the URL was fetched before; 0: first visit."""


class RobotsRules(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What one robots.txt says to our agent."""

    scheme: Literal["http", "https"]
    """Origin inside the server that the file belongs to."""
    verdict: Literal["rules", "allow-all", "refuse-all", "unreachable"]
    """What follows from the answer; ``unreachable``: none came that settles it, so that it is asked for again."""
    text: str = ""
    """The lines for our agent, normalised; empty unless ``verdict`` is "rules"."""
    crawl_delay_ms: Integer = 0
    """Crawl-delay in milliseconds; 0: none was asked for."""
    sitemaps: tuple[str, ...] = ()
    """URLs of sitemaps as the file has them; empty: it names none."""
    fetched_ms: Integer = 0
    """When the file was asked for, milliseconds since 1970; 0: not known."""
    status: Integer = 0
    """HTTP status of the file; 0: no response."""


class Fetched(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One order's results."""

    server: str
    """Server of the order; also the record's key."""
    lease: str
    """The order's lease."""
    results: tuple[FetchResult, ...]
    """One for each URL of the order, in its order."""
    kind: OrderKind = "pages"
    """The order's kind."""
    attempt: Integer = 1
    """The order's attempt, from 1."""
    worker: str = ""
    """Id of the fetcher process; empty: not recorded."""
    schedule_partition: Integer = -1
    """Partition of ``schedule`` in which the order stood; -1: not recorded."""
    schedule_offset: Integer = -1
    """Offset at which it stood; -1: not recorded."""
    received_ms: Integer = 0
    """When the order was received, milliseconds since 1970; 0: not known."""
    started_ms: Integer = 0
    """When its first request started, milliseconds since 1970; 0: none was made."""
    finished_ms: Integer = 0
    """When its last result was there, milliseconds since 1970; 0: not known."""
    busy_ms: Integer = 0
    """Sum of request times in milliseconds, without the waits between them; 0: no request was made."""
    robots: tuple[RobotsRules, ...] = ()
    """For orders of kind ``robots``: one entry an origin; empty: another kind."""


decode_fetched = decoder(Fetched)
