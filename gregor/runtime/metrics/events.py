"""The exact counters of a stage's checkpoints, which belong to partitions and outlive processes, as figures of this process.

A counter of Prometheus belongs to a process and only grows, while partitions come and go: so the growth of each partition is added up from
the moment it came. What stands for a present (queued, leased) is the sum over the partitions that are here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from gregor.runtime.metrics.metric_values import Figures


class CounterFigures(Protocol):
    """How a role's counters are shown."""

    @property
    def present(self) -> frozenset[str]:
        """Those that tell of now; all others only grow."""
        ...

    def figures(self, latest: Mapping[int, Mapping[str, int]], totals: Counter[str]) -> Figures:
        """``latest``: of each partition that is here; ``totals``: by how much the others have grown in this process."""
        ...


class Events:
    """For a stage that keeps no counters, or whose role does not show them, there are no figures."""

    def __init__(self, shown: CounterFigures | None) -> None:
        self._shown = shown
        self._latest: dict[int, Mapping[str, int]] = {}
        self._folded: dict[int, Mapping[str, int]] = {}
        self._totals: Counter[str] = Counter()

    def begin(self, partition: int, counters: Mapping[str, int]) -> None:
        if counters:
            self._latest[partition] = self._folded[partition] = dict(counters)

    def note(self, counters: Mapping[int, Mapping[str, int]]) -> None:
        """Of a checkpoint that came through. Copied, because the stage goes on counting in them."""
        for partition, counts in counters.items():
            self._latest[partition] = dict(counts)

    def end(self, partitions: Iterable[int]) -> None:
        self._fold()
        for partition in partitions:
            self._latest.pop(partition, None)
            self._folded.pop(partition, None)

    def figures(self) -> Figures:
        if self._shown is None or not self._latest:
            return {}
        self._fold()
        return self._shown.figures(self._latest, self._totals)

    def _fold(self) -> None:
        present = self._shown.present if self._shown is not None else frozenset()
        for partition, counts in self._latest.items():
            before = self._folded.get(partition, {})
            if counts is not before:
                for name, count in counts.items():
                    if name not in present:
                        self._totals[name] += count - before.get(name, 0)
                self._folded[partition] = counts
