"""Topic ``verdicts``: why a URL was refused, delayed, dropped or given up; rate-limited, the exact counts stand in checkpoints."""

from typing import Literal

from msgspec import Struct

from schemas.codec import Integer, decoder

VerdictKind = Literal["refused", "delayed", "dropped", "given-up", "failed"]


class Verdict(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One decision about one URL, or about ``count`` URLs of one server with the same reason."""

    server: str
    """Server of the URLs; also the record's key."""
    kind: VerdictKind
    """What was decided."""
    reason: str
    """A short fixed word: ``robots``, ``scope``, ``depth``, ``budget``, ``redirect-to-self``…"""
    url: str = ""
    """The URL, or an example when ``count`` is more than 1; empty: none is given."""
    count: Integer = 1
    """URLs that the verdict is about."""
    stage: str = "frontier"
    """The stage that decided."""
    detail: str = ""
    """More about the reason, for people; empty: nothing."""
    decided_ms: Integer = 0
    """When it was decided, milliseconds since 1970; 0: not known."""
    lease: str = ""
    """Lease of the order that led to it; empty: none did."""
    config_version: str = ""
    """Version of the configuration that was in force; empty: not recorded."""


decode_verdict = decoder(Verdict)
