"""What a frontier shows beside what every role does: its exact counters as figures."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gregor.runtime.metrics.metric_defs import REFUSALS, Metric
from gregor.runtime.metrics.metric_values import NO_LABELS, Figures, Labels

FRONTIER_URLS: Final = Metric(
    "gregor_frontier_urls",
    "gauge",
    "URLs by where they are: queued, leased (in flight), retrying, revisiting, waiting (for the slot of their site), waiting_held (of "
    "these, for somebody's approval or an address).",
    ("state",),
)
FRONTIER_DUE: Final = Metric(
    "gregor_frontier_due_timestamp_seconds", "gauge", "When the first waiting URL is due; 0: none waits."
)
FRONTIER_EVENTS: Final = Metric(
    "gregor_frontier_events_total",
    "counter",
    "What happened to URLs, orders and leases; the events are the counters of docs/frontier.md.",
    ("event",),
)

FRONTIER_SITES: Final = Metric(
    "gregor_frontier_sites",
    "gauge",
    "Sites by what partitions know of them: owned, asked (the coordinator was told and has not answered); only where it places them.",
    ("state",),
)

METRICS: Final = (FRONTIER_URLS, FRONTIER_DUE, FRONTIER_EVENTS, FRONTIER_SITES)

PRESENT: Final = ("queued", "leased", "retrying", "revisiting")
WAITING: Final = ("waiting", "waiting_held")
SITES: Final = ("sites_owned", "sites_asked")
DUE: Final = "due_later_ms"
FLAGS: Final = ("due_next_ms", "stopped", "paused", "servers_paused")
REASONS: Final = ("refused", "dropped", "failed")


class FrontierCounters:
    """The counters of its checkpoints, as metrics."""

    present: Final = frozenset((*PRESENT, *WAITING, *SITES, DUE, *FLAGS))

    def figures(self, latest: Mapping[int, Mapping[str, int]], totals: Counter[str]) -> Figures:
        events: dict[Labels, float] = {}
        reasons: dict[Labels, float] = {}
        for name, total in totals.items():
            kind, _, reason = name.partition("_")
            if kind in REASONS and reason:
                reasons[kind, reason] = total
            else:
                events[(name,)] = total
        now = {name: _sum(latest, name) for name in PRESENT}
        now |= {name: _sum(latest, name) for name in WAITING if _is_counted(latest, name)}
        sites: dict[Labels, float] = {
            (name.removeprefix("sites_"),): _sum(latest, name) for name in SITES if _is_counted(latest, name)
        }
        due = min((at for counts in latest.values() if (at := counts.get(DUE, 0))), default=0)
        return {
            FRONTIER_URLS: {(name,): count for name, count in now.items()},
            FRONTIER_DUE: {NO_LABELS: due / 1000},
            FRONTIER_EVENTS: events,
            FRONTIER_SITES: sites,
            REFUSALS: reasons,
        }


def _sum(latest: Mapping[int, Mapping[str, int]], name: str) -> int:
    return sum(counts.get(name, 0) for counts in latest.values())


def _is_counted(latest: Mapping[int, Mapping[str, int]], name: str) -> bool:
    """Whether any partition has it: where servers are placed by hash, none has."""
    return any(name in counts for counts in latest.values())
