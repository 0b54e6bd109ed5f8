"""Topic ``items``: what the user's rules took out of a page."""

from typing import Any

from msgspec import Struct

from schemas.codec import decoder


class Item(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One item; a page may give many."""

    url: str
    rule: str
    """Name of the rule or function that made it."""
    fields: dict[str, Any]
    lease: str = ""
    """Lease under which the page was fetched; (url, lease, rule, number) is unique."""
    number: int = 0
    """Place among the page's items of this rule, from 0."""
    fetched_ms: int = 0
    config_version: str = ""


decode_item = decoder(Item)
