"""What the outcome of a request, or a verdict, counts as."""

from typing import Final

from schemas.fetched import FetchResult
from schemas.verdicts import Verdict

NOT_ASKED: Final = frozenset({"expired", "cancelled"})
"""No request was made."""
FINE: Final = frozenset({"ok", "not-modified", "redirect", "type-refused"})


def is_error(result: FetchResult) -> bool:
    return result.outcome not in FINE and result.outcome not in NOT_ASKED


def status_class(status: int) -> str:
    """``2xx`` and so on; ``none``: no response, or a status that HTTP does not have."""
    return f"{status // 100}xx" if 100 <= status <= 599 else "none"


def ended_ms(result: FetchResult) -> int:
    """When the request was over, milliseconds since 1970; 0: not known, or none was made."""
    return result.started_ms + max(result.timings.total, 0) if result.started_ms > 0 else 0


def refused_urls(verdict: Verdict) -> int:
    """URLs that are not fetched because of the verdict; what is only delayed comes later."""
    return 0 if verdict.kind == "delayed" else max(verdict.count, 0)
