"""Topic ``schedule``: fetch orders, each a short list of URLs of one server under one lease."""

from typing import Literal

from msgspec import Struct

from schemas.codec import decoder

OrderKind = Literal["pages", "robots"]


class OrderUrl(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One URL of an order, with what the request and the links found behind it need."""

    path: str
    """Path and query."""
    scheme: Literal["http", "https"] = "https"
    depth: int = 1
    hops: int = 0
    off_site: int = 0
    redirects: int = 0
    seed: int = 0
    priority: int = 0
    """0 is the most urgent; what the ordering policy gave."""
    visit: int = 0
    """How often the URL was fetched before; 0: first visit."""
    etag: str = ""
    """Validator for If-None-Match; empty: none."""
    last_modified: str = ""
    """Validator for If-Modified-Since, as the server sent it; empty: none."""
    digest: str = ""
    """Digest of the previous visit's content; empty: none."""
    cookies: str = ""
    """Cookie header for one retry of a redirect to itself; empty: none."""


class FetchOrder(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one fetcher does for one server: its URLs in turn, ``delay_ms`` apart, none after ``deadline_ms``."""

    server: str
    lease: str
    """Unique in the crawl: partition, checkpoint sequence, number."""
    urls: tuple[OrderUrl, ...]
    kind: OrderKind = "pages"
    attempt: int = 1
    """1 for the first order of these URLs, one more after each retry."""
    delay_ms: int = 0
    """Least time between the starts of two requests to the server; 0: none."""
    deadline_ms: int = 0
    """No request starts after it; 0: no deadline."""
    created_ms: int = 0
    connections: int = 1
    """Requests to the server that may run at once."""
    policy: str = "host-hash"
    """Routing policy that chose the partition."""
    policy_version: int = 1
    config_version: str = ""
    """Version of the configuration under which the order was made; empty: not recorded."""


decode_order = decoder(FetchOrder)
