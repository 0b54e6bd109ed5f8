"""Topic ``sites`` (compacted by server): the site partition information of paper 004."""

from msgspec import Struct

from schemas.codec import Integer, decoder


class Site(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a site lives."""

    server: str
    """The site; also the record's key."""
    partition: Integer
    """Partition that holds it; -1: wherever the hash says."""
    version: Integer = 1
    """Grows by one with every move, from 1; readers keep the highest."""
    decided_ms: Integer = 0
    """When it was decided, milliseconds since 1970; 0: not known."""


decode_site = decoder(Site)
