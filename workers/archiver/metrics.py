"""What an archiver shows beside what every role does."""

from typing import Final

from gregor.runtime.metrics.metric_defs import Metric

ARCHIVED_PAGES: Final = Metric("gregor_archive_pages_total", "counter", "Pages archived and committed.")
ARCHIVED_BYTES: Final = Metric(
    "gregor_archive_bytes_total", "counter", "Bytes of archive files, compressed, committed."
)

METRICS: Final = (ARCHIVED_PAGES, ARCHIVED_BYTES)
