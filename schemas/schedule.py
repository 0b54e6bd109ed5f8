"""Topic ``schedule``: fetch orders, each a short list of URLs of one server under one lease."""

from typing import Literal

from msgspec import Struct

from schemas.codec import Integer, decoder

OrderKind = Literal["pages", "robots"]
"""What an order is for: pages of a server, or its robots.txt, which goes before them."""


class OrderUrl(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One URL of an order, with what the request and the links found behind it need."""

    path: str
    """Path and query, canonical, starting with "/"."""
    scheme: Literal["http", "https"] = "https"
    """Scheme to ask with."""
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
    priority: Integer = 0
    """0 is the most urgent; what `frontier.priority` gave."""
    visit: Integer = 0
    """How often the URL was fetched before; 0: first visit."""
    etag: str = ""
    """Validator for If-None-Match; empty: none."""
    last_modified: str = ""
    """Validator for If-Modified-Since, as the server sent it; empty: none."""
    digest: str = ""
    """Digest of the previous visit's content; empty: none."""
    previous_ms: Integer = 0
    """When that content was asked for, milliseconds since 1970; 0: none, or not known."""
    cookies: str = ""
    """Cookie header for one retry of a redirect to itself; empty: none."""


class FetchOrder(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What one fetcher does for one server: its URLs in turn, ``delay_ms`` apart, none after ``deadline_ms``."""

    server: str
    """Server that all URLs belong to."""
    lease: str
    """Unique in the crawl: partition and number of the order in it, as "3-1207"."""
    partition: Integer = -1
    """The frontier's partition, which gets the results; -1: where the server's hash says."""
    urls: tuple[OrderUrl, ...]
    """What to fetch, in this order."""
    kind: OrderKind = "pages"
    """What the order is for."""
    attempt: Integer = 1
    """1 for the first order of these URLs, one more after each retry."""
    delay_ms: Integer = 0
    """Least milliseconds between the starts of two requests to the server; 0: none."""
    deadline_ms: Integer = 0
    """No request starts after it, milliseconds since 1970; 0: no deadline."""
    created_ms: Integer = 0
    """When the order was made, milliseconds since 1970; 0: not known."""
    connections: Integer = 1
    """Not used any more: an order's requests run one after the other, whatever stands here."""
    policy: str = "host-hash"
    """Routing policy that chose the partition; the frontier has one and leaves the default."""
    policy_version: Integer = 1
    """Version of that policy, from 1; left at the default likewise."""
    config_version: str = ""
    """Version of the configuration under which the order was made; empty: not recorded."""


decode_order = decoder(FetchOrder)
