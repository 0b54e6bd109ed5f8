"""Topic ``sites-found``: what the coordinator is told, in order: sites that homes met for the first time, and what people decided."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from schemas.codec import Integer, decoder

SiteAction = Literal["add", "approve", "block", "set", "slots"]
"""``add``: sites nobody has met yet, or settings of those that are known. ``approve``: they may be crawled, also after a block. ``block``:
nothing of them is crawled. ``set``: budget, depth or tags alone. ``slots``: how many slots new sites are given to."""


class FoundSite(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """A site, and the first link to it."""

    site: str
    """The site, canonical."""
    server: str = ""
    """Server of the link; empty: the site itself."""
    scheme: Literal["http", "https"] = "https"
    """Scheme of the link."""
    hops: Integer = 0
    """Links followed from the seed to it; 0: a seed."""
    off_site: Integer = 0
    """How many of those hops crossed registered domains; 0: none."""
    seed: Integer = 0
    """Number of the seed that this chain began with, from 0."""
    found_on: str = ""
    """URL of the page that it stood on; empty: a seed."""
    found_ms: Integer = 0
    """When it was found, milliseconds since 1970; 0: not known."""


class SitesFound(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="found", gc=False):
    """Sites that one home met for the first time since its last checkpoint."""

    home: Integer
    """The partition of the frontier that tells it."""
    load: Integer = 0
    """URLs that are queued or in flight in that partition; 0: none."""
    sites: tuple[FoundSite, ...] = ()
    """In the order of their first links."""


class SiteSetting(Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What somebody decided of one site."""

    site: str
    """The site, canonical."""
    scheme: Literal["http", "https"] = "https"
    """Scheme of its root page, for one that nobody has met yet."""
    budget: Integer | None = None
    """Pages of it at the most, 0: what the configuration says; missing: as it was."""
    max_depth: Integer | None = None
    """Greatest depth of its pages, 0: what the configuration says; missing: as it was."""
    tags: tuple[str, ...] | None = None
    """What people call it; missing: as it was."""


class SiteCommand(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="command", gc=False):
    """What somebody decided, for many sites at once."""

    action: SiteAction
    """What is to be done."""
    sites: tuple[SiteSetting, ...] = ()
    """The sites that are meant."""
    slots: Integer = 0
    """For ``slots``: new sites go to the first so many partitions; 0: to all."""
    by: str = ""
    """Who asked, for people; empty: not said."""
    detail: str = ""
    """Why, for people; empty: not said."""
    at_ms: Integer = 0
    """When it was asked, milliseconds since 1970; 0: not known."""


SiteNote = SitesFound | SiteCommand

decode_site_note: Callable[[bytes | None], SiteNote] = decoder(SiteNote, "SitesFound or SiteCommand")  # type: ignore[arg-type]
