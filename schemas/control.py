"""Topic ``control`` (compacted by key, read by everybody from the beginning): what operators and the crawl itself prescribe."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from schemas.codec import decoder


class Layout(Struct, frozen=True, kw_only=True, tag="layout"):
    """Key ``layout``: {N, P}, fixed when the topics are made; a worker that finds other counts exits and says why."""

    repositories: int
    partitions: int
    partition_by: Literal["server", "domain"] = "server"


class Pause(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="pause"):
    """Key ``crawl`` or ``server:NAME``: whether work is held back."""

    paused: bool
    server: str = ""
    """Empty: the whole crawl."""
    by: str = ""
    """Who asked, for people."""
    since_ms: int = 0


class Limits(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="limits"):
    """Key ``limits``: stops the whole crawl when reached; 0: no limit."""

    max_pages: int = 0
    until_ms: int = 0


class ConfigVersion(Struct, frozen=True, omit_defaults=True, kw_only=True, tag="config"):
    """Key ``config``: the configuration that is in force."""

    version: str
    text: str = ""
    """The TOML as given, without secrets; empty: defaults."""
    since_ms: int = 0


Control = Layout | Pause | Limits | ConfigVersion

decode_control: Callable[[bytes | None], Control] = decoder(Control, "Control")  # type: ignore[arg-type]
