"""Figures as Prometheus reads them, each with the crawl and the role that they belong to."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from gregor.runtime.metrics.metric_defs import Metric
from gregor.runtime.metrics.metric_values import Figure, Figures, Labels, Spread


class Exposition(Collector):
    """Asks its sources whenever it is asked; a metric of which no source has a figure is left out."""

    def __init__(self, constant: Mapping[str, str], sources: Iterable[Callable[[], Figures]]) -> None:
        self._constant = dict(constant)
        self._sources = tuple(sources)

    def collect(self) -> Iterator[Family]:
        found: dict[Metric, Mapping[Labels, Figure]] = {}
        for source in self._sources:
            found.update(source())
        for metric, series in found.items():
            if series:
                yield self._family(metric, series)

    def describe(self) -> Iterator[Family]:
        """Nothing: whoever registers this must not ask the sources for figures yet."""
        return iter(())

    def _family(self, metric: Metric, series: Mapping[Labels, Figure]) -> Family:
        family = _empty(metric, (*self._constant, *metric.labels))
        for labels, figure in series.items():
            values = [*self._constant.values(), *labels]
            if isinstance(family, HistogramMetricFamily):
                assert isinstance(figure, Spread), f"{metric.name} is a histogram"
                family.add_metric(values, buckets=_buckets(figure), sum_value=figure.total)
            else:
                assert not isinstance(figure, Spread), f"{metric.name} is no histogram"
                family.add_metric(values, figure)
        return family


def _empty(metric: Metric, labels: Iterable[str]) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    match metric.kind:
        case "counter":
            return CounterMetricFamily(metric.name, metric.help, labels=list(labels))
        case "gauge":
            return GaugeMetricFamily(metric.name, metric.help, labels=list(labels))
        case "histogram":
            return HistogramMetricFamily(metric.name, metric.help, labels=list(labels))


def _buckets(spread: Spread) -> list[tuple[str, float]]:
    counts = spread.counts.copy()
    below, buckets = 0, []
    for bound, count in zip((*spread.bounds, float("inf")), counts, strict=True):
        below += count
        buckets.append(("+Inf" if bound == float("inf") else repr(float(bound)), float(below)))
    return buckets
