"""Topic ``control`` (compacted by key, read by everybody from the beginning): what operators and the crawl itself prescribe."""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from schemas.codec import Integer, decoder

STOP_KEY: Final = b"stop"


class Layout(Struct, frozen=True, kw_only=True, tag="layout"):
    """Key ``layout``: {N, P, placement}, fixed when the topics are made; a worker that finds other counts exits and says why."""

    repositories: Integer
    """N: repositories that servers are hashed to."""
    partitions: Integer
    """P: partitions of every topic that is split by server."""
    partition_by: Literal["server", "domain"] = "server"
    """What is hashed: the server (the default), or its registered domain."""
    placement: Literal["hash", "sites"] = "hash"
    """Whether a site lives where its hash says (the default), or where a coordinator placed it."""


class Pause(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="pause"):
    """Key ``crawl`` or ``server:NAME``: whether work is held back."""

    paused: bool
    """True: no new orders; false: go on."""
    server: str = ""
    """The server that is meant; empty: the whole crawl."""
    by: str = ""
    """Who asked, for people; empty: not said."""
    since_ms: Integer = 0
    """When it was asked, milliseconds since 1970; 0: not known."""


class Limits(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="limits"):
    """Key ``limits``: stops the whole crawl when reached."""

    max_pages: Integer = 0
    """Pages of the whole crawl; 0: no limit."""
    until_ms: Integer = 0
    """Moment after which no order is made, milliseconds since 1970; 0: no limit."""


class ConfigVersion(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="config"):
    """Key ``config``: the configuration that is in force."""

    version: str
    """Digest of the effective configuration."""
    text: str = ""
    """The TOML as given, without secrets; empty: defaults."""
    since_ms: Integer = 0
    """When it came into force, milliseconds since 1970; 0: not known."""


class SeedScope(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="seed-scope"):
    """Key ``scope:SERVER``: a seed was redirected to this server, which belongs to the scope from then on."""

    server: str
    """The server that joins the scope."""
    seed: Integer = 0
    """Number of the seed, in the order given by the user, from 0."""
    url: str = ""
    """The URL that redirected there; empty: not recorded."""
    since_ms: Integer = 0
    """When that was seen, milliseconds since 1970; 0: not known."""


class Spent(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="spent"):
    """Key ``spent:PARTITION``: what one partition of the frontier has used of ``max_pages``, told while others own partitions too."""

    partition: Integer
    """The frontier's partition."""
    pages: Integer
    """Pages ordered or fetched; those that failed are given back."""


class Stop(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="stop"):
    """Key ``stop``: every worker that runs finishes its checkpoint and leaves. Who starts later does not heed it; to hold a crawl back
    across restarts is what a pause does."""

    by: str = ""
    """Who asked, for people; empty: not said."""
    since_ms: Integer = 0
    """When it was asked, milliseconds since 1970; 0: not known."""


Control = Layout | Pause | Limits | ConfigVersion | SeedScope | Spent | Stop

decode_control: Callable[[bytes | None], Control] = decoder(Control, "Control")  # type: ignore[arg-type]
