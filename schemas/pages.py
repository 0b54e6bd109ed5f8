"""Topic ``pages``: one HTTP response of any status; the value is the content-decoded body, ONE header holds its facts as JSON.

Only a body that could not be decoded is there as it came; its facts say so (``undecoded``).
"""

from typing import Final, Literal

from msgspec import Struct

from schemas.codec import Integer, Undecodable, decoder
from schemas.fetched import Truncation
from schemas.schedule import OrderKind

FACTS_HEADER: Final = "facts"


class PageFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All that is known of a response beside its body."""

    server: str
    """Server that was asked; also the record's key."""
    path: str
    """Path and query that were asked for."""
    lease: str
    """Lease of the order; (URL, lease) is unique."""
    status: Integer
    """HTTP status."""
    scheme: Literal["http", "https"] = "https"
    """Scheme of the request."""
    kind: OrderKind = "pages"
    """Kind of the order: ``robots`` for a robots.txt."""
    robots_of: str = ""
    """Server whose robots.txt was redirected here; empty: none."""
    fetched_ms: Integer = 0
    """When the request started, milliseconds since 1970; 0: not known."""
    address: str = ""
    """IP address that was connected to; empty: not known."""
    protocol: str = "HTTP/1.1"
    """Version of HTTP that was spoken."""
    request_headers: tuple[tuple[str, str], ...] = ()
    """As sent, in order; bytes beyond ASCII as Latin-1; empty: not recorded."""
    response_headers: tuple[tuple[str, str], ...] = ()
    """As received, in order, in the same way; empty: the server sent none."""
    reason: str = ""
    """Reason phrase of the status line; empty: none was sent."""
    wire_bytes: Integer = 0
    """Length of the body as it came, before content decoding; 0: no body."""
    body_bytes: Integer = 0
    """The value's length, content-decoded unless ``undecoded``; 0: no body."""
    undecoded: bool = False
    """The content coding could not be undone: the value is the body as it came, still as Content-Encoding says, or not even that."""
    truncated: Truncation = ""
    """Why the body is not whole; empty: it is."""
    digest: str = ""
    """xxh3_128 of the value in hex; empty: no body was read."""
    previous_digest: str = ""
    """Digest of the previous visit; empty: none."""
    previous_ms: Integer = 0
    """When the response with that digest was asked for, milliseconds since 1970; 0: none, or not known."""
    depth: Integer = 1
    """Depth of the URL; 1: a seed, or the first of its domain."""
    hops: Integer = 0
    """Links followed from the seed to here; 0: a seed."""
    off_site: Integer = 0
    """How many of those hops crossed registered domains; 0: none."""
    redirects: Integer = 0
    """Redirects followed in a row to get here; 0: none."""
    seed: Integer = 0
    """Number of the seed that this chain began with, from 0."""
    visit: Integer = 0
    """How often the URL was fetched before; 0: first visit."""
    attempt: Integer = 1
    """The order's attempt, from 1."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.server}{self.path}"


_decode: Final = decoder(PageFacts)


def decode_facts(value: bytes | None) -> PageFacts:
    """Raises Undecodable and nothing else, also for what is no page of any URL."""
    facts = _decode(value)
    if not facts.path.startswith("/"):
        raise Undecodable(f"expected a path that begins with a slash, found {facts.path[:80]!r}")
    return facts
