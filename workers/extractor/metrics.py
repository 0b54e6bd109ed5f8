"""What an extractor shows beside what every role does."""

from typing import Final

from gregor.runtime.metrics.metric_defs import Metric

FILTER_LINKS: Final = Metric(
    "gregor_filter_links_total",
    "counter",
    "Links that the caching filter knew (hit, of which store_hit came from its store) or had to send (miss, nearer).",
    ("result",),
)
FILTER_URLS: Final = Metric("gregor_filter_urls", "gauge", "URLs that the filter has in memory.")
READER_INFO: Final = Metric(
    "gregor_reader_info", "gauge", "Always 1; its label says who reads pages: native, or python.", ("reader",)
)

METRICS: Final = (FILTER_LINKS, FILTER_URLS, READER_INFO)
