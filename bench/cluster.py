"""A whole crawl on Kafka, one broker and every role on this machine, beside the embedded crawl and Scrapy in the same run.

Run: python bench/cluster.py [--quick] [--json]

The sites and the settings are those of bench/crawl.py. Rates are those of the server's log, from the first request to the last. The
broker has carried a small crawl before; processor time is that from the seed until nothing is left to do, by role. Then, on the same
cluster, links come one at a time: how long until a reader of committed records has the order for each. At last a frontier is filled by the
real stage, all of its URLs queued, and restored from its changelog into an empty folder.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from bench.clustered import latency, restore
from bench.clustered.crawl import ClusterRun, cluster, crawl, settings
from bench.clustered.restore import Restored
from bench.crawling.contenders import Contender, Run, contenders, measure, scrapy, settle
from bench.crawling.sites import Site, documentation, generated
from bench.fetching.nginx import nginx
from bench.report import finish, machine, parser
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


QUICK: Final = Sizes(pages=3_000, scrapy_pages=400, links=20, restored_urls=300_000)
WHOLE: Final = Sizes(pages=10_000, scrapy_pages=0, links=100, restored_urls=WHOLE_FRONTIER)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _options(arguments)
    sizes = QUICK if asked.quick else WHOLE
    print(machine("confluent-kafka", "aiohttp", "selectolax", "scrapy"))
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
        folder = Path(name)
        # nginx reads the files as another user.
        folder.chmod(0o755)
        sites = [generated(folder / "generated", sizes.pages)]
        if not asked.quick:
            sites.append(documentation("python"))
        alone = {site.name: _alone(site, sizes.scrapy_pages) for site in sites}
        warm_up = generated(folder / "warm-up", WARM_UP_PAGES)
        with cluster(settings(archive=asked.archive), folder / "cluster") as job:
            crawl(job, warm_up)
            runs = {site.name: _on_cluster(job, site) for site in sites}
            late = _latency(job, sizes.links)
            job.stop_workers()
            restored = restore.measure(job.bootstrap, _broker_cpu(job), folder / "restore", sizes.restored_urls)
    figures = figures_of(runs, alone, asked.archive)
    finish(figures | _late(late) | restore_figures(restored), asked.json)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = parser(__doc__)
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.add_argument("--archive", action="store_true", help="with an archiver, beside an embedded crawl with one")
    return options.parse_args(arguments)


def _alone(site: Site, scrapy_pages: int) -> dict[str, Run]:
    """The other crawlers, one after the other, with the machine to themselves."""
    print(f"\n{site.name}\n{'':22}{'pages':>8}{'pages/s':>10}{'links/s':>10}{'CPU ms':>9}{'requests':>10}")
    ours = [one for one in contenders() if one.name in ("gregor", "gregor+archive")]
    return {one.name: _one(one, site) for one in (*ours, scrapy(scrapy_pages))}


def _one(contender: Contender, site: Site) -> Run:
    run = measure(contender, site)
    _print(contender.name, run)
    settle()
    return run


def _on_cluster(job: LocalCluster, site: Site) -> ClusterRun:
    run = crawl(job, site)
    print(f"\n{site.name}")
    _print("cluster", run)
    for role, used in run.cpu_ms_per_page.items():
        print(f"  {role:20}{'':28}{used:>9.3f}", flush=True)
    settle()
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


def figures_of(runs: dict[str, ClusterRun], alone: dict[str, dict[str, Run]], archive: bool) -> dict[str, Any]:
    """Ratios are those of the site on which we do worst; the rest is of the generated one."""
    first = next(iter(runs.values()))
    embedded = "gregor+archive" if archive else "gregor"
    ratios = {
        f"ratio_{title}": min(round(run.pages_per_s / alone[site][name].pages_per_s, 3) for site, run in runs.items())
        for title, name in (("scrapy", "scrapy"), ("embedded", embedded))
    }
    return {
        "pages_per_s": first.pages_per_s,
        **ratios,
        "pages": first.pages,
        "cpu_ms_per_page": {**first.cpu_ms_per_page, "all": first.cpu_ms},
        "sites": {
            site: {
                "cluster": msgspec.to_builtins(run),
                **{name: msgspec.to_builtins(one) for name, one in alone[site].items()},
            }
            for site, run in runs.items()
        },
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
    main()
