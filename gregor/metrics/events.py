"""The frontier's exact counters, which belong to partitions and outlive processes, as figures of this process.

A counter of Prometheus belongs to a process and only grows, while partitions come and go: so the growth of each partition is added up from
the moment it came. What stands for a present (queued, leased) is the sum over the partitions that are here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from gregor.stage.catalogue import FRONTIER_DUE, FRONTIER_EVENTS, FRONTIER_URLS, REFUSALS
from gregor.stage.figures import NO_LABELS, Figures, Labels

PRESENT: Final = ("queued", "leased", "retrying", "revisiting")
DUE: Final = "due_later_ms"
FLAGS: Final = ("stopped", "paused")
REASONS: Final = ("refused", "dropped", "failed")


class Events:
    """For a stage that keeps no counters there are no figures."""

    def __init__(self) -> None:
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
        if not self._latest:
            return {}
        self._fold()
        events: dict[Labels, float] = {}
        reasons: dict[Labels, float] = {}
        for name, total in self._totals.items():
            kind, _, reason = name.partition("_")
            if kind in REASONS and reason:
                reasons[kind, reason] = total
            else:
                events[(name,)] = total
        now = {name: sum(counts.get(name, 0) for counts in self._latest.values()) for name in PRESENT}
        due = min((at for counts in self._latest.values() if (at := counts.get(DUE, 0))), default=0)
        return {
            FRONTIER_URLS: {(name,): count for name, count in now.items()},
            FRONTIER_DUE: {NO_LABELS: due / 1000},
            FRONTIER_EVENTS: events,
            REFUSALS: reasons,
        }

    def _fold(self) -> None:
        for partition, counts in self._latest.items():
            before = self._folded.get(partition, {})
            if counts is not before:
                for name, count in counts.items():
                    if name not in PRESENT and name != DUE and name not in FLAGS:
                        self._totals[name] += count - before.get(name, 0)
                self._folded[partition] = counts
