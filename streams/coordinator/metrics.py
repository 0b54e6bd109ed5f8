"""What a coordinator shows beside what every role does: its exact counters as figures."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gregor.runtime.metrics.metric_defs import Metric
from gregor.runtime.metrics.metric_values import Figures, Labels

SITES: Final = Metric(
    "gregor_sites",
    "gauge",
    "Sites by what they wait for: found (an address), waiting (approval), placed, blocked, unresolvable.",
    ("state",),
)
COORDINATOR_EVENTS: Final = Metric(
    "gregor_coordinator_events_total",
    "counter",
    "What happened to sites: known (new ones), rewritten (rows of topic sites that differed), commands.",
    ("event",),
)

METRICS: Final = (SITES, COORDINATOR_EVENTS)

STATES: Final = ("found", "waiting", "placed", "blocked", "unresolvable")
EVENTS: Final = {"sites_known": "known", "sites_rewritten": "rewritten", "commands": "commands"}


class CoordinatorCounters:
    """The counters of its checkpoints, as metrics."""

    present: Final = frozenset(f"sites_{state}" for state in STATES)

    def figures(self, latest: Mapping[int, Mapping[str, int]], totals: Counter[str]) -> Figures:
        there: dict[Labels, float] = {
            (state,): sum(counts.get(f"sites_{state}", 0) for counts in latest.values()) for state in STATES
        }
        events: dict[Labels, float] = {(event,): totals.get(name, 0) for name, event in EVENTS.items()}
        return {SITES: there, COORDINATOR_EVENTS: events}
