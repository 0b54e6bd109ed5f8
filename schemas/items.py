"""Topic ``items``: what the user's rules took out of a page."""

from typing import Any

from msgspec import Struct

from schemas.codec import Integer, decoder


class Item(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One item; a page may give many."""

    url: str
    """URL of the page."""
    rule: str
    """Name of the rule or function that made it."""
    fields: dict[str, Any]
    """What the rule took out, by the user's own names."""
    lease: str = ""
    """Lease under which the page was fetched; (url, lease, rule, number) is unique; empty: not known."""
    number: Integer = 0
    """Place among the page's items of this rule, from 0."""
    fetched_ms: Integer = 0
    """When the page was fetched, milliseconds since 1970; 0: not known."""
    config_version: str = ""
    """Version of the configuration whose rules made it; empty: not recorded."""


decode_item = decoder(Item)
