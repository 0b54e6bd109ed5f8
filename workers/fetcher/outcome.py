"""What a response means: the class of its status, its Retry-After."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from schemas.fetched import Outcome

LONGEST_RETRY_AFTER_MS: Final = 7 * 24 * 3600 * 1000
"""A server that asks for more is asked again after a week."""

_NUMBER_LENGTH: Final = 10


def outcome_of(status: int, has_retry_after: bool) -> Outcome:
    """The class of an HTTP status."""
    if status == 429 or (status == 503 and has_retry_after):
        return "rate-limited"
    if status == 304:
        return "not-modified"
    match status // 100:
        case 2:
            return "ok"
        case 3:
            return "redirect"
        case 4:
            return "client-error"
        case 5:
            return "server-error"
    return "protocol"


def retry_after_ms(value: str, now_ms: int) -> int:
    """Milliseconds from now on, from seconds or a date; 0 for nonsense and for the past."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        # Longer numbers are beyond the cap whatever they say.
        asked = int(text[:_NUMBER_LENGTH]) * 1000 if len(text) <= _NUMBER_LENGTH else LONGEST_RETRY_AFTER_MS
        return min(asked, LONGEST_RETRY_AFTER_MS)
    if not text or len(text) > 64:
        return 0
    try:
        date = parsedate_to_datetime(text)
        moment = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    return min(max(0, int(moment * 1000) - now_ms), LONGEST_RETRY_AFTER_MS)
