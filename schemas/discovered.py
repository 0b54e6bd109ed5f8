"""Topic ``discovered``: links found on ONE page to ONE server, of one scheme and one kind; and, where sites are placed by a coordinator,
its grants and pointers."""

from enum import IntFlag
from typing import Final, Literal

from msgspec import Struct

from schemas.codec import Integer, decoder
from schemas.sites import SiteState

LinkKind = Literal[
    "seed", "link", "redirect", "canonical", "alternate", "requisite", "sitemap", "feed", "refresh", "repetition"
]
"""How a link was found. ``repetition``: not a discovery; every path was discovered before, ``counts`` says how often it was met since."""


class Rel(IntFlag):
    """What a link's ``rel`` attribute said, as bits."""

    NOFOLLOW = 1
    UGC = 2
    SPONSORED = 4


class Discovered(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """The unit of discovery: never one record a link.

    ``flags``, ``counts`` and ``lastmods_ms`` run parallel to ``paths`` or are empty; empty means the default for every path.
    """

    server: str
    """Target authority without scheme, canonical (lower-case, punycode, default port omitted). Also the record's key."""
    paths: tuple[str, ...]
    """Path and query of each link, canonical, starting with "/"."""
    scheme: Literal["http", "https"] = "https"
    """Scheme of all targets."""
    kind: LinkKind = "link"
    """How the links were found."""
    flags: tuple[Integer, ...] = ()
    """Bits of ``Rel``; empty: no link carries any."""
    counts: tuple[Integer, ...] = ()
    """How often the page (or, for a repetition record, the filter) saw the link; empty: once each."""
    lastmods_ms: tuple[Integer, ...] = ()
    """A sitemap's ``lastmod``, milliseconds since 1970; 0 or empty: not said."""
    depth: Integer = 1
    """Depth of the targets, as counted by paper 003: 1 for seeds and across domains, referrer + 1 within a domain."""
    hops: Integer = 0
    """Links followed from the seed to here, whatever the domains; 0: a seed."""
    off_site: Integer = 0
    """How many of those hops crossed registered domains; 0: none."""
    redirects: Integer = 0
    """Redirects followed in a row to get here; 0: none."""
    seed: Integer = 0
    """Number of the seed that this chain began with, in the order given by the user, from 0."""
    internal: bool = True
    """Whether the page and its targets share a registered domain."""
    referrer: str = ""
    """URL of the page; empty for seeds."""
    referrer_lease: str = ""
    """Lease under which the page was fetched, so that a repeated record is known; empty for seeds."""
    found_ms: Integer = 0
    """When the links were found, milliseconds since 1970; 0: not known."""

    def __post_init__(self) -> None:
        for parallel in (self.flags, self.counts, self.lastmods_ms):
            if parallel and len(parallel) != len(self.paths):
                raise ValueError(
                    f"expected as many flags, counts and lastmods_ms as paths, or none; found {len(parallel)} "
                    f"for {len(self.paths)} paths"
                )


class SiteRow(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What the coordinator decided of one site."""

    site: str
    """The site, as in topic ``sites``."""
    slot: Integer
    """The partition that has it, or will have it."""
    state: SiteState = "placed"
    """From its first row as ``placed`` on the slot owns it."""
    version: Integer = 1
    """That of the site's row; what is older than a row that was met is passed over."""
    budget: Integer = 0
    """Pages of it that are fetched at the most; 0: what the configuration says."""
    max_depth: Integer = 0
    """Greatest depth of its pages; 0: what the configuration says."""


class SiteRows(Struct, frozen=True, kw_only=True, tag="sites", gc=False):
    """Grants in the partition that is a site's slot, pointers in the one that is its home; both where these are one."""

    sites: tuple[SiteRow, ...]
    """In the order in which they were decided."""


_SITE_ROWS: Final = b'"type":"sites"'
"""Within a text these quotes would be escaped."""

decode_discovered = decoder(Discovered)
_decode_rows = decoder(SiteRows)


def decode_discovery(value: bytes | None) -> Discovered | SiteRows:
    """Any record of the topic: links have no field ``type``."""
    if value is not None and _SITE_ROWS in value:
        return _decode_rows(value)
    return decode_discovered(value)
