"""What a fetcher shows beside what every role does."""

from typing import Final

from gregor.runtime.metrics.metric_defs import SECONDS, Metric

FETCH_RESULTS: Final = Metric(
    "gregor_fetch_results_total", "counter", "Results of URLs by class, as in the topic fetched.", ("class",)
)
FETCH_SECONDS: Final = Metric(
    "gregor_fetch_seconds",
    "histogram",
    "Time of one request by the class of its result.",
    ("class",),
    bounds=SECONDS,
)
FETCH_SLOW_DOWN: Final = Metric(
    "gregor_fetch_slow_down_total", "counter", "Answers 429 and 503: servers that want to be left alone."
)
FETCH_BYTES: Final = Metric("gregor_fetch_bytes_total", "counter", "Bytes of bodies as they came.")
ORDERS_IN_FLIGHT: Final = Metric("gregor_orders_in_flight", "gauge", "Orders taken and not finished.")

METRICS: Final = (FETCH_RESULTS, FETCH_SECONDS, FETCH_SLOW_DOWN, FETCH_BYTES, ORDERS_IN_FLIGHT)
