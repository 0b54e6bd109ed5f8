"""From a new site's first link to its first order, on a small cluster that has little else to do.

The link is committed to the site's home as an extractor does it; home tells the coordinator, the coordinator places the site, its slot
makes the order: three commits of three processes.
"""

from pathlib import Path
from statistics import median, quantiles
from typing import Final

from bench.clustered import latency
from bench.clustered.crawl import cluster
from bench.crawling.contenders import GREGOR
from gregor.config import load
from gregor.demo.answer import loopback

FIRST: Final = 1000
"""Loopback addresses that nobody listens on: what follows from an order is as little as can be."""


def first_order_figures(folder: Path, quick: bool) -> dict[str, float]:
    flags = {"scope.hosts": ["*"], "archive.enabled": False, "partitions.placement": "sites"}
    config = load(None, GREGOR, flags).config
    links = [(f"{loopback(FIRST + number)}:9", "/") for number in range(25 if quick else 200)]
    with cluster(config, folder / "cluster") as job:
        # The first one finds caches empty and connections unmade.
        taken = latency.measure(job.config, job.transport, links)[1:]
    return {
        "first_order_ms_p50": round(median(taken), 1),
        "first_order_ms_p90": round(quantiles(taken, n=10)[-1], 1),
    }
