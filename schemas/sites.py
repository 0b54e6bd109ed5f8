"""Topic ``sites`` (compacted by site): the site partition information of paper 004, one row a site, read by extractors and tools."""

from typing import Literal

from msgspec import Struct

from schemas.codec import Integer, decoder

SiteState = Literal["found", "waiting", "placed", "blocked", "unresolvable"]
"""``found``: its name is being resolved. ``waiting``: for somebody to approve it. ``placed``: its slot has it. ``blocked``: nothing of it
is crawled. ``unresolvable``: its name has no address; it is tried again later."""


class Site(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One site as the coordinator has it. A site is what ``partitions.partition_by`` hashes: a server, or a registered domain."""

    site: str
    """The site; also the record's key."""
    slot: Integer = -1
    """Partition of the frontier that has it, or will have it once it is placed; it never changes. -1: none was given."""
    state: SiteState = "placed"
    """What it waits for. Only links of a placed or blocked site go to its slot; all others go home."""
    rank: Integer = 0
    """How many sites came before it; 0: it was the first."""
    version: Integer = 1
    """Grows by one with every change of the row, from 1."""
    budget: Integer = 0
    """Pages of it that are fetched at the most; 0: what the configuration says."""
    max_depth: Integer = 0
    """Greatest depth of its pages; 0: what the configuration says."""
    tags: tuple[str, ...] = ()
    """What people call it; sorted."""
    found_ms: Integer = 0
    """When its first link was found, milliseconds since 1970; 0: not known."""
    found_on: str = ""
    """URL of the page that the first link stood on; empty: it is a seed, or somebody named it."""
    changed_ms: Integer = 0
    """When the row was last changed, milliseconds since 1970; 0: not known."""
    by: str = ""
    """Who changed it last; empty: the crawl itself."""
    detail: str = ""
    """More about its state, for people: why its name has no address, why it is blocked; empty: nothing."""


decode_site = decoder(Site)
