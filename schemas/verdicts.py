"""Topic ``verdicts``: why a URL was refused, delayed, dropped or given up; rate-limited, the exact counts stand in checkpoints."""

from typing import Literal

from msgspec import Struct

from schemas.codec import decoder

VerdictKind = Literal["refused", "delayed", "dropped", "given-up", "failed"]


class Verdict(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One decision about one URL, or about ``count`` URLs of one server with the same reason."""

    server: str
    kind: VerdictKind
    reason: str
    """A short fixed word: ``robots``, ``scope``, ``depth``, ``budget``, ``redirect-to-self``…"""
    url: str = ""
    """An example when ``count`` is more than 1."""
    count: int = 1
    stage: str = "frontier"
    detail: str = ""
    decided_ms: int = 0
    lease: str = ""
    config_version: str = ""


decode_verdict = decoder(Verdict)
