"""What becomes of a URL after a result: final, back to the queue, or later; and what a failure says of its server.

outcome                              of the URL                          of the server
ok, not-modified, redirect,          confirmed                           it answers
  client-error, type-refused,
  undecodable
rate-limited, status 503             queued again, from the second time  waits as long as it asks (Retry-After); longer and
                                       on behind what else its server has;  longer while its orders bring nothing but this
                                       three times as often as others, 255
                                       times at the most
dns, connect, tls                    queued again                        waits longer and longer, then given up
timeout, disconnected, protocol,     later                               the same, if nothing in the order was answered
  server-error, internal
address-refused                      failed at once                      nothing
expired, cancelled, no result        queued again, never counted         nothing
"""

from enum import Enum
from typing import Final

from xxhash import xxh3_64_intdigest

from gregor.config.frontier import RetrySection
from schemas.fetched import Fetched, FetchResult
from streams.frontier.storage.queue_codec import MOST_ATTEMPTS

MORE_FOR_THE_SERVER: Final = 3
"""How many times as often a URL is tried when it was the server that had enough."""
GROWTH: Final = 4
LONGEST_RETRY_AFTER_MS: Final = 7 * 24 * 3600 * 1000


class Fate(Enum):
    """Of one URL after one result."""

    CONFIRMED = "confirmed"
    RETURNED = "returned"
    """Into the queue, as if it had never left."""
    AGAIN = "again"
    """Into the queue, with one attempt more; its server is what waits."""
    LATER = "later"
    """Waits for its next attempt."""
    BEHIND = "behind"
    """Waits for its next attempt until others of its server have had their turn: it may be the URL alone that is never answered."""
    FAILED = "failed"


_CONFIRMED: Final = frozenset({"ok", "not-modified", "redirect", "client-error", "type-refused", "undecodable"})
_RETURNED: Final = frozenset({"expired", "cancelled"})
_UNREACHED: Final = frozenset({"dns", "connect", "tls"})
_LATER: Final = frozenset({"timeout", "disconnected", "protocol", "server-error", "internal"})


def is_rate_limited(result: FetchResult) -> bool:
    return result.outcome == "rate-limited" or result.status == 503


def fate_of(settings: RetrySection, result: FetchResult | None, attempts: int) -> Fate:
    """``attempts``: vain ones before this result."""
    if result is None or result.outcome in _RETURNED:
        return Fate.RETURNED
    if is_rate_limited(result):
        if attempts >= patient_attempts(settings):
            return Fate.FAILED
        return Fate.BEHIND if attempts else Fate.AGAIN
    if result.outcome in _CONFIRMED:
        return Fate.CONFIRMED
    if result.outcome in _UNREACHED:
        return Fate.AGAIN if attempts < settings.attempts else Fate.FAILED
    if result.outcome in _LATER:
        return Fate.LATER if attempts < settings.attempts else Fate.FAILED
    return Fate.FAILED


def patient_attempts(settings: RetrySection) -> int:
    """How often a request is repeated when it was the server that had enough."""
    return min(settings.attempts * MORE_FOR_THE_SERVER, MOST_ATTEMPTS)


def server_failed(fetched: Fetched) -> bool:
    """Whether an order says that its server does not answer, or has had enough."""
    if {one.outcome for one in fetched.results} <= {"ok"}:
        return False
    if any(is_rate_limited(one) for one in fetched.results):
        return True
    if any(one.status for one in fetched.results):
        return False
    return any(one.outcome in _UNREACHED or one.outcome in ("timeout", "disconnected") for one in fetched.results)


def in_vain(fetched: Fetched) -> bool:
    """Whether an order brought no answer but "too many requests": one that brought others says that the server answers."""
    return not any(one.status and not is_rate_limited(one) for one in fetched.results)


def asked_ms(*results: FetchResult) -> int:
    """For how long the server of these results asks to be left alone; 0: it does not say."""
    return min(max((one.retry_after_ms for one in results if is_rate_limited(one)), default=0), LONGEST_RETRY_AFTER_MS)


def wait_ms(settings: RetrySection, attempt: int, who: bytes, asked_ms: int = 0) -> int:
    """Before attempt number ``attempt`` (from 1) is repeated; up to a quarter more or less for each, so that not all come at once.

    Where the server said how long, that is the first wait to the millisecond, what the others grow from, and the least.
    """
    if asked_ms and attempt == 1:
        return asked_ms
    first = asked_ms / 1000 or settings.first_s
    plain = min(first * GROWTH ** min(attempt - 1, 30), settings.longest_s) * 1000
    share = xxh3_64_intdigest(who, seed=attempt) % 1024 / 1024
    return max(1, asked_ms, int(plain * (0.75 + share / 2)))
