"""How far a crawl is, told from the transport alone, and whether it is done.

Done means: two looks one after the other see the same ends of all topics, no group lags behind them, and no partition of the frontier
has anything queued, leased, or waiting for another attempt or visit; a partition that has reached a limit of the whole crawl keeps its
queue. One look is not enough, because a record may move from one topic to the next while it is taken.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gregor.transport.port import LogReader, StageSpec, TopicPartition


class Look(Struct, frozen=True):
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
    def _quiet(self) -> bool:
        counts = self.counters
        work = counts.get("queued", 0) + counts.get("retrying", 0) - counts.get("held", 0) + counts.get("leased", 0)
        return work == 0 and not any(self.lag.values())


def look(transport: LogReader, stages: Sequence[StageSpec], partitions: int) -> Look:
    """Positions are read before the ends that they are compared with, so that lag is never too small."""
    positions = {stage.name: transport.committed(stage.name, stage.inputs) for stage in stages}
    counters: dict[str, int] = {}
    servers_counted = True
    for stage in stages:
        for partition in range(partitions) if stage.state is not None else ():
            checkpoint = transport.last_checkpoint(stage.name, partition)
            totals = checkpoint.counters if checkpoint else {}
            servers_counted = servers_counted and ("servers" in totals or not totals.get("admitted", 0))
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
    return Look({where: end for where, (_, end) in spans.items()}, lag, counters)


def is_done(before: Look, now: Look) -> bool:
    return before.idle and now.idle and before.ends == now.ends
