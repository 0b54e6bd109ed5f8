"""Figures of a running worker as plain numbers: what loops and stages give, and whoever shows metrics reads."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from gregor.runtime.metrics.metric_defs import Metric

Labels = tuple[str, ...]
"""Values of the metric's labels, in their order."""
NO_LABELS: Labels = ()


class Spread:
    """A histogram: how many values fell below each bound. One thread adds; others may read at any time."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


Figure = float | Spread
Figures = Mapping[Metric, Mapping[Labels, Figure]]
"""Totals since the process began for counters, the present for gauges, a Spread for histograms."""


@runtime_checkable
class Measured(Protocol):
    """A stage that has figures of its own. Called by the loop's thread, at most once a second."""

    def figures(self) -> Figures: ...
