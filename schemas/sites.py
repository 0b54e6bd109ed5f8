"""Topic ``sites`` (compacted by server): the site partition information of paper 004."""

from msgspec import Struct

from schemas.codec import decoder


class Site(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a site lives."""

    server: str
    partition: int
    """-1: wherever the hash says."""
    version: int = 1
    """Grows with every move; readers keep the highest."""
    decided_ms: int = 0


decode_site = decoder(Site)
