"""How far a crawl is, told from the transport alone, and whether it is done.

Done means: two looks one after the other see the same ends of all topics, no group lags behind them, and no partition of the frontier
has anything queued, leased, or waiting for another attempt or visit; a partition that has reached a limit of the whole crawl keeps its
queue. Where a coordinator places sites, none of them is being resolved and no link waits for its answer; what waits
for people (sites to be approved), or for a name that has no address, is not waited for. One look is not enough, because a record may move
from one topic to the next while it is taken.

A crawl that is not done may have nothing to do for a while: every server that has a queue wants to be left alone, and every failed URL
waits for its next attempt. Two looks tell that as well; how long that may be is for the configuration to say (`crawl.max_wait_hours`).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gregor.runtime.transport.port import LogReader, StageSpec, TopicPartition
from schemas.topics import BY_NAME

HOUR_MS: Final = 3600 * 1000
A_WHILE_MS: Final = 60_000
"""A crawl that has nothing to do for longer is said to wait; shorter waits are what a server's delay makes, and belong to the work."""


class Progress(Struct, frozen=True):
    """The crawl at one moment."""

    ends: Mapping[TopicPartition, int]
    lag: Mapping[str, int]
    """Stage to the records that its group has not passed."""
    counters: Mapping[str, int]
    """The frontier's totals, added up over its partitions."""

    @property
    def paused(self) -> bool:
        """Whether the whole crawl is held back until somebody resumes it."""
        return self.counters.get("paused", 0) > 0

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do, now or later."""
        return self._quiet and not self.counters.get("revisiting", 0)

    @property
    def waiting_until_ms(self) -> int | None:
        """When the next re-crawl is due, if nothing but re-crawls is left; None: there is more to do, or nothing at all."""
        if self._quiet and self.counters.get("revisiting", 0):
            return self.counters.get("due_later_ms", 0)
        return None

    @property
    def next_ms(self) -> int | None:
        """When the first URL may be asked for, if nothing is under way and URLs wait for nothing but that time; None: there is more to do
        or nothing at all, somebody holds a part of it back, or it comes back for re-crawls by itself."""
        counts = self.counters
        held_back = self.paused or counts.get("servers_paused", 0) or counts.get("revisiting", 0)
        if not self._work or self._under_way or held_back:
            return None
        return counts.get("due_next_ms", 0) or None

    def waits_until_ms(self, now_ms: int) -> int:
        """``next_ms``, or when the next re-crawl is due, if that is more than a while from now; 0: it is not."""
        until = self.next_ms or self.waiting_until_ms or 0
        return until if until - now_ms > A_WHILE_MS else 0

    @property
    def sites_waiting(self) -> int:
        """Sites that somebody has to approve before anything of them is crawled."""
        return self.counters.get("sites_waiting", 0)

    @property
    def unanswered(self) -> int:
        """Sites whose names are being resolved, and links that wait for the coordinator or to be handed over."""
        counts = self.counters
        return counts.get("sites_found", 0) + counts.get("waiting", 0) - counts.get("waiting_held", 0)

    @property
    def _quiet(self) -> bool:
        return not self._work and not self._under_way

    @property
    def _work(self) -> int:
        """URLs that wait to be asked for."""
        counts = self.counters
        return counts.get("queued", 0) + counts.get("retrying", 0) - counts.get("held", 0)

    @property
    def _under_way(self) -> bool:
        return self.counters.get("leased", 0) > 0 or self.unanswered > 0 or any(self.lag.values())


def look(transport: LogReader, stages: Sequence[StageSpec], partitions: int) -> Progress:
    """Positions are read before the ends that they are compared with, so that lag is never too small."""
    positions = {stage.name: transport.committed(stage.name, stage.inputs) for stage in stages}
    counters: dict[str, int] = {}
    servers_counted = due_known = True
    for stage in stages:
        for partition in range(_state_partitions(stage, partitions)):
            checkpoint = transport.last_checkpoint(stage.name, partition)
            totals = checkpoint.counters if checkpoint else {}
            servers_counted = servers_counted and ("servers" in totals or not totals.get("admitted", 0))
            waits = totals.get("queued", 0) or totals.get("retrying", 0)
            due_known = due_known and bool(totals.get("due_next_ms", 0) or not waits)
            if totals.get("stopped", 0):
                # A limit was reached: the queue stays as it is, and nothing more is ordered.
                held = totals.get("queued", 0) + totals.get("retrying", 0)
                counters["held"] = counters.get("held", 0) + held
            for name, count in totals.items():
                if name.endswith("_ms"):
                    # A time: the earliest of all partitions counts; 0 is none.
                    counters[name] = min(filter(None, (counters.get(name, 0), count)), default=0)
                else:
                    counters[name] = counters.get(name, 0) + count
    if not servers_counted:
        # A partition began before servers were counted: the sum of the others would be too small.
        counters.pop("servers", None)
    if not due_known:
        # A partition has URLs and does not say when: what the others say is not the first of all.
        counters.pop("due_next_ms", None)
    topics = dict.fromkeys(topic for stage in stages for topic in stage.inputs)
    spans = {
        TopicPartition(topic, partition): span for topic in topics for partition, span in transport.ends(topic).items()
    }
    lag = {}
    for stage in stages:
        behind = 0
        for where, (first, end) in spans.items():
            if where.topic in stage.inputs:
                position = positions[stage.name].get(where)
                behind += end - (position.offset if position else first)
        lag[stage.name] = behind
    return Progress({where: end for where, (_, end) in spans.items()}, lag, counters)


def _state_partitions(stage: StageSpec, partitions: int) -> int:
    """Of a state, as many as its changelog has: one that the whole crawl shares has one."""
    return BY_NAME[stage.changelog].partition_count(partitions) if stage.state is not None else 0


def is_done(before: Progress, now: Progress) -> bool:
    return before.idle and now.idle and before.ends == now.ends


def waits_too_long_ms(before: Progress, now: Progress, now_ms: int, longest_hours: float) -> int:
    """Until when a crawl would do nothing but wait, if that is longer than it may; 0: it goes on."""
    until = now.next_ms
    if until is None or not longest_hours or until - now_ms <= longest_hours * HOUR_MS:
        return 0
    return until if before.next_ms == until and before.ends == now.ends else 0
