"""How long a server is left alone, and how many URLs go into one order."""

from typing import Final

from gregor.config import Config, ServerSettings
from schemas.fetched import Fetched
from streams.frontier.settle.retries import LONGEST_RETRY_AFTER_MS
from streams.frontier.storage.server import ServerRecord

LONGEST_ORDER_MS: Final = 20_000
"""Delays of one order, added up."""
NOTHING_DONE_MS: Final = 1_000
"""Before a server is asked again when its order came back untouched."""


def delay_of(settings: ServerSettings, record: ServerRecord) -> int:
    """The greatest of what is configured, what robots.txt asks for, and a multiple of the last response time."""
    asked = record.delay_ms if settings.obey_robots else 0
    return max(int(settings.delay_s * 1000), asked, int(settings.delay_factor * record.response_ms))


def urls_of_order(config: Config, delay_ms: int) -> int:
    most = config.fetch.urls_per_order
    return most if not delay_ms else max(1, min(most, LONGEST_ORDER_MS // delay_ms))


def response_ms(fetched: Fetched) -> int | None:
    """How long the last response of an order took; None: there was none."""
    for one in reversed(fetched.results):
        if one.status:
            return one.timings.total
    return None


def next_request_ms(fetched: Fetched, delay_ms: int, now_ms: int) -> int:
    """When the server may be asked again.

    The time since the last answer is told by the fetcher's clock alone, and counted from now: clocks that differ make the delay
    longer by the result's way to here, never shorter. A request that was never answered counts from its end. A server whose address has no
    turn for it is left alone until there may be one: its orders would go to the fetcher and back.
    """
    crowded = min(
        max([one.retry_after_ms for one in fetched.results if one.outcome == "cancelled"], default=0),
        LONGEST_RETRY_AFTER_MS,
    )
    requests = [one for one in fetched.results if one.started_ms]
    last = max([one.started_ms + (one.timings.first_byte or one.timings.total) for one in requests], default=0)
    if not last:
        return now_ms + max(delay_ms, NOTHING_DONE_MS, crowded)
    passed = max(0, fetched.finished_ms - last)
    return now_ms + max(0, delay_ms - passed, crowded)
