"""When to checkpoint: the input is idle, enough URLs, enough bytes, enough time, or somebody waits for it, whichever comes first.

All times here are those of a stopwatch, which is never set back.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gregor.config.sections import MIB, CheckpointSection
from gregor.runtime.transport.port import Session


class Pending(Struct, frozen=True):
    """What has gathered since the last commit."""

    urls: int = 0
    bytes: int = 0
    since_ms: int = 0
    """When the first of it came; meaningless while nothing is pending."""
    last_ms: int = 0
    """When the last of it came."""
    decided: bool = False
    """Outputs or mutations, or records that led to none."""
    moved: bool = False
    """Only positions: transaction markers were passed, or partitions have just arrived."""
    wanted_ms: int | None = None
    """From when on others wait for it; None: nobody does."""


NONE: Final = Pending()
AT_ONCE: Final = 8
"""Commits that may follow each other without a pause."""


def policy_for(policy: CheckpointSection, session: Session) -> CheckpointSection:
    """Where commits cost next to nothing, what is done can be seen at once: no stage waits for another to fill a batch."""
    if not session.cheap_commit:
        return policy
    return replace(
        policy,
        idle_ms=min(policy.idle_ms, 2),
        apart_ms=min(policy.apart_ms, 5),
        max_bytes=min(policy.max_bytes, 2 * MIB),
    )


class CommitThrottle:
    """When a commit that others wait for may be: ``apart_ms`` after the last such one on average, and after a pause a few one after
    the other. A crawl's first links and orders follow each other in turns, and each turn would wait; one that is busy gathers more in
    each commit."""

    def __init__(self, apart_ms: int) -> None:
        self._apart_ms = apart_ms
        self._paid_until_ms = 0

    def earliest_ms(self, now_ms: int) -> int:
        return max(now_ms, self._paid_until_ms - (AT_ONCE - 1) * self._apart_ms)

    def committed(self, now_ms: int) -> None:
        self._paid_until_ms = max(self._paid_until_ms, now_ms) + self._apart_ms


def due(policy: CheckpointSection, pending: Pending, now_ms: int) -> bool:
    """Whether to commit now."""
    if pending.decided:
        return (
            pending.urls >= policy.max_urls
            or pending.bytes >= policy.max_bytes
            or now_ms - pending.last_ms >= policy.idle_ms
            or now_ms - pending.since_ms >= policy.max_interval_s * 1000
            or (pending.wanted_ms is not None and now_ms >= pending.wanted_ms)
        )
    # Positions alone are for people who look at lag: no hurry.
    return pending.moved and now_ms - pending.since_ms >= policy.max_interval_s * 1000


def next_due_ms(policy: CheckpointSection, pending: Pending) -> int | None:
    """The time from which ``due`` holds even if nothing more comes; None: never."""
    by_interval = pending.since_ms + int(policy.max_interval_s * 1000)
    if pending.decided:
        by_idleness = min(pending.last_ms + policy.idle_ms, by_interval)
        return by_idleness if pending.wanted_ms is None else min(by_idleness, pending.wanted_ms)
    return by_interval if pending.moved else None
