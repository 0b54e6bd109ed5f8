"""What came of requests, counted order by order: results by class, their times, and servers that want to be left alone."""

from collections.abc import Sequence
from typing import Final

from gregor.runtime.metrics.metric_values import NO_LABELS, Figures, Labels, Spread
from schemas.fetched import FetchResult
from workers.fetcher.metrics import FETCH_BYTES, FETCH_RESULTS, FETCH_SECONDS, FETCH_SLOW_DOWN

_SLOW_DOWN: Final = frozenset((429, 503))


class RequestTally:
    """Since the process began. The fetching thread adds, the loop's thread reads."""

    def __init__(self) -> None:
        self._results: dict[Labels, int] = {}
        self._seconds: dict[Labels, Spread] = {}
        self._slow_down = 0
        self._bytes = 0

    def add(self, results: Sequence[FetchResult]) -> None:
        """Those of one order."""
        for result in results:
            label = (result.outcome,)
            self._results[label] = self._results.get(label, 0) + 1
            self._bytes += result.wire_bytes
            if result.status in _SLOW_DOWN:
                self._slow_down += 1
            if result.started_ms:
                spread = self._seconds.get(label)
                if spread is None:
                    spread = self._seconds[label] = Spread(FETCH_SECONDS.bounds)
                spread.add(result.timings.total / 1000)

    def figures(self) -> Figures:
        return {
            FETCH_RESULTS: self._results.copy(),
            FETCH_SECONDS: self._seconds.copy(),
            FETCH_SLOW_DOWN: {NO_LABELS: self._slow_down},
            FETCH_BYTES: {NO_LABELS: self._bytes},
        }
