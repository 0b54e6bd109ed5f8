"""A whole crawl on Kafka, one broker and every role on this machine, beside the embedded crawl and Scrapy in the same run.

Run: python bench/cluster.py [--quick] [--json]

The sites and the settings are those of bench/crawl.py; without --quick also with an archiver, beside the embedded crawl with one. Rates
are those of the server's log, from the first request to the last. The documentation is crawled within about a second: three times by each,
and the run in the middle counts. The broker has carried a small crawl before; processor time is that
from the seed until nothing is left to do, by role. Then, on the same cluster, links come one at a time: how long until a reader of
committed records has the order for each. At last a frontier is filled by the real stage, all of its URLs queued, and restored from its
changelog into an empty folder.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from bench.clustered import latency, restore
from bench.clustered.crawl import ClusterRun, cluster, crawl, settings
from bench.clustered.restore import Restored
from bench.crawling.contenders import Contender, Run, contenders, measure, middle, scrapy, settle
from bench.crawling.sites import Site, documentation, generated
from bench.engines.provision import run
from bench.fetching.nginx import nginx
from bench.report import finish, machine, options
from gregor.pipeline.local.cluster import LocalCluster

WARM_UP_PAGES: Final = 500
WHOLE_FRONTIER: Final = 20_000_000


class Sizes(Struct, frozen=True):
    """How much of everything."""

    pages: int
    scrapy_pages: int
    """After which Scrapy is stopped, whose rate does not depend on the size of a site; 0: it crawls all of it."""
    links: int
    restored_urls: int
    archive: tuple[bool, ...]
    """Without an archiver, and with one."""


QUICK: Final = Sizes(pages=2_000, scrapy_pages=150, links=20, restored_urls=300_000, archive=(False,))
WHOLE: Final = Sizes(pages=10_000, scrapy_pages=0, links=100, restored_urls=WHOLE_FRONTIER, archive=(False, True))
CLUSTER: Final = {False: "cluster", True: "cluster+archive"}
EMBEDDED: Final = {False: "gregor", True: "gregor+archive"}

Runs = dict[str, Run | ClusterRun]
"""Of one site, by crawler."""


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(__doc__, arguments=arguments)
    sizes = QUICK if asked.quick else WHOLE
    print(machine("confluent-kafka", "aiohttp", "selectolax", "scrapy"))
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
        folder = Path(name)
        # nginx reads the files as another user.
        folder.chmod(0o755)
        sites = [generated(folder / "generated", sizes.pages)]
        if not asked.quick:
            sites.append(documentation("python"))
        runs = {site.name: _alone(site, sizes) for site in sites}
        with cluster(settings(archive=False), folder / "cluster") as job:
            _crawl_all(job, sites, runs, CLUSTER[False], folder)
            late = _latency(job, sizes.links)
            job.stop_workers()
            restored = restore.measure(job.bootstrap, _broker_cpu(job), folder / "restore", sizes.restored_urls)
        if True in sizes.archive:
            with cluster(settings(archive=True), folder / "archiving") as job:
                _crawl_all(job, sites, runs, CLUSTER[True], folder)
    finish(figures_of(runs) | _late(late) | restore_figures(restored), asked.json)


def _crawl_all(job: LocalCluster, sites: Sequence[Site], runs: dict[str, Runs], name: str, folder: Path) -> None:
    """After a small crawl with which the broker compiles its code."""
    crawl(job, generated(folder / "warm-up", WARM_UP_PAGES))
    for site in sites:
        runs[site.name][name] = _on_cluster(job, site, name)


def _alone(site: Site, sizes: Sizes) -> Runs:
    """The other crawlers, one after the other, with the machine to themselves."""
    print(f"\n{site.name}\n{'':22}{'pages':>8}{'pages/s':>10}{'links/s':>10}{'CPU ms':>9}{'requests':>10}")
    wanted = [EMBEDDED[archive] for archive in sizes.archive]
    ours = [one for one in contenders() if one.name in wanted]
    return {one.name: _one(one, site) for one in (*ours, scrapy(sizes.scrapy_pages))}


def _one(contender: Contender, site: Site) -> Run:
    runs = []
    for _ in range(site.rounds):
        runs.append(measure(contender, site))
        _print(contender.name, runs[-1])
        settle()
    return middle(runs)


def _on_cluster(job: LocalCluster, site: Site, name: str) -> ClusterRun:
    print(f"\n{site.name}")
    runs = []
    for _ in range(site.rounds):
        runs.append(crawl(job, site))
        _print(name, runs[-1])
        settle()
    run = middle(runs)
    for role, used in run.cpu_ms_per_page.items():
        print(f"  {role:20}{'':28}{used:>9.3f}", flush=True)
    return run


def _print(name: str, run: Run | ClusterRun) -> None:
    cpu = run.cpu_ms if isinstance(run, ClusterRun) else run.cpu_ms_per_page
    print(
        f"{name:22}{run.pages:>8,}{run.pages_per_s:>10,.0f}{run.links_per_s:>10,}{cpu:>9.3f}{run.requests_per_url:>10.4f}",
        flush=True,
    )


def _latency(job: LocalCluster, links: int) -> list[float]:
    """The pages are asked for, and not found: what follows from them is as little as can be."""
    with nginx() as port:
        return latency.measure(job.config, job.transport, f"127.0.0.1:{port}", links)


def _broker_cpu(job: LocalCluster) -> Callable[[], float]:
    def used() -> float:
        job.note_cpu()
        return job.cpu_s["broker"]

    return used


def figures_of(runs: Mapping[str, Runs]) -> dict[str, Any]:
    """Those of the first site, without an archiver; what came of the other site, and with one, stands below them."""
    ratios = {site: _ratios(by) for site, by in runs.items()}
    site, by = next(iter(runs.items()))
    run = by[CLUSTER[False]]
    assert isinstance(run, ClusterRun)
    return {
        "pages_per_s": run.pages_per_s,
        **ratios[site][CLUSTER[False]],
        "pages": run.pages,
        "cpu_ms_per_page": {**run.cpu_ms_per_page, "all": run.cpu_ms},
        "ratios": ratios,
        "sites": {site: {name: msgspec.to_builtins(one) for name, one in by.items()} for site, by in runs.items()},
    }


def _ratios(by: Runs) -> dict[str, dict[str, float]]:
    """A cluster with an archiver stands beside an embedded crawl with one."""
    return {
        CLUSTER[archive]: {
            "ratio_scrapy": round(by[CLUSTER[archive]].pages_per_s / by["scrapy"].pages_per_s, 3),
            "ratio_embedded": round(by[CLUSTER[archive]].pages_per_s / by[EMBEDDED[archive]].pages_per_s, 3),
        }
        for archive in (False, True)
        if CLUSTER[archive] in by
    }


def _late(taken: Sequence[float]) -> dict[str, Any]:
    return {f"latency_ms_p{part}": round(float(np.percentile(taken, part)), 1) for part in (50, 99)} | {
        "latency_links": len(taken)
    }


def restore_figures(one: Restored) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "restore_s": one.seconds,
        "restore_urls": one.urls,
        "restore_urls_per_s": one.urls_per_s,
        "restore_cpu_s": one.cpu_s,
        "restore_broker_cpu_s": one.broker_cpu_s,
        "restore_changelog_mb": one.changelog_mb,
    }
    if one.urls != WHOLE_FRONTIER:
        figures["restore_s_scaled_to_20m_urls"] = round(one.seconds * WHOLE_FRONTIER / one.urls, 1)
    return figures


if __name__ == "__main__":
    run(main)
