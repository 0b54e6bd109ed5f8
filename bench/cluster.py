"""A whole crawl on Kafka, one broker and every role on this machine, beside the embedded crawl and Scrapy in the same run.

Run: python bench/cluster.py [--quick] [--json]

The sites and the settings are those of bench/crawl.py; without --quick also with an archiver, beside the embedded crawl with one. The
crawlers take turns, and a cluster runs only while its turn lasts: it is started for it and carries a small crawl first. Rates are those of
the server's log, from the first request to the last. The documentation is crawled within about a second: it comes three times to each, in
turn, and the run in the middle counts. Processor time is that from the seed until nothing is left to do, by role. Then, on the last
cluster, links come one at a time: how long until a reader of committed records has the order for each. At last a frontier is filled by the
real stage, all of its URLs queued, and restored from its changelog into an empty folder.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from bench.clustered import latency, restore
from bench.clustered.crawl import ClusterRun, cluster, crawl, settings
from bench.clustered.restore import Restored
from bench.crawling.contenders import Run, contenders, measure, middle, scrapy, settle
from bench.crawling.sites import Site, documentation, generated
from bench.engines.provision import run
from bench.fetching.nginx import nginx
from bench.report import finish, machine, options
from gregor.run.local.cluster import LocalCluster


class Sizes(Struct, frozen=True):
    """How much of everything."""

    pages: int
    warm_up_pages: int
    """That a new broker carries before it counts: it compiles its code meanwhile, as one that runs for days has done long ago."""
    scrapy_pages: int
    """After which Scrapy is stopped, whose rate does not depend on the size of a site; 0: it crawls all of it."""
    links: int
    restored_urls: int
    archive: tuple[bool, ...]
    """Without an archiver, and with one."""


QUICK: Final = Sizes(
    pages=2_000, warm_up_pages=500, scrapy_pages=150, links=20, restored_urls=300_000, archive=(False,)
)
WHOLE: Final = Sizes(
    pages=10_000, warm_up_pages=3_000, scrapy_pages=0, links=100, restored_urls=20_000_000, archive=(False, True)
)
CLUSTER: Final = {False: "cluster", True: "cluster+archive"}
EMBEDDED: Final = {False: "gregor", True: "gregor+archive"}

Runs = dict[str, Run | ClusterRun]
"""Of one site, by crawler."""


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options(__doc__, arguments=arguments)
    sizes = QUICK if asked.quick else WHOLE
    print(machine("confluent-kafka", "aiohttp", "selectolax", "scrapy"))
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name, ExitStack() as standing:
        folder = Path(name)
        # nginx reads the files as another user.
        folder.chmod(0o755)
        sites = [generated(folder / "generated", sizes.pages)]
        if not asked.quick:
            sites.append(documentation("python"))
        ground = Ground(generated(folder / "warm-up", sizes.warm_up_pages), folder, standing)
        runs = {site.name: _in_turn(site, sizes, ground) for site in sites}
        job = ground.cluster(archive=False)
        late = _latency(job, sizes.links)
        job.stop_workers()
        restored = restore.measure(job.bootstrap, _broker_cpu(job), folder / "restore", sizes.restored_urls)
    finish(figures_of(runs) | _late(late) | restore_figures(restored), asked.json)


class Ground:
    """On which at most one cluster stands, and none while others have their turn."""

    def __init__(self, warm_up: Site, folder: Path, standing: ExitStack) -> None:
        self._warm_up = warm_up
        self._folder = folder
        self._standing = standing
        self._job: LocalCluster | None = None
        self._started = 0

    def cluster(self, archive: bool) -> LocalCluster:
        """The one that stands, if it is of that kind, or a new one, whose broker has compiled its code with a small crawl."""
        if self._job is None or self._job.config.archive.enabled != archive:
            self.clear()
            self._started += 1
            folder = self._folder / f"cluster-{self._started}"
            self._job = self._standing.enter_context(cluster(settings(archive), folder))
            crawl(self._job, self._warm_up)
        return self._job

    def clear(self) -> None:
        self._job = None
        self._standing.close()
        settle()


def _in_turn(site: Site, sizes: Sizes, ground: Ground) -> Runs:
    """By every crawler, as often as the site has rounds; the cluster without an archiver comes last and is left standing."""
    print(f"\n{site.name}\n{'':22}{'pages':>8}{'pages/s':>10}{'links/s':>10}{'CPU ms':>9}{'requests':>10}")
    wanted = [EMBEDDED[archive] for archive in sizes.archive]
    alone = [scrapy(sizes.scrapy_pages), *(one for one in contenders() if one.name in wanted)]
    runs: dict[str, list[Run]] = {one.name: [] for one in alone}
    clustered: dict[str, list[ClusterRun]] = {CLUSTER[archive]: [] for archive in sizes.archive}
    for _ in range(site.rounds):
        for contender in alone:
            ground.clear()
            runs[contender.name].append(measure(contender, site))
            _print(contender.name, runs[contender.name][-1])
        for archive in sorted(sizes.archive, reverse=True):
            clustered[CLUSTER[archive]].append(crawl(ground.cluster(archive), site))
            _print(CLUSTER[archive], clustered[CLUSTER[archive]][-1])
    counted = {name: middle(by) for name, by in clustered.items()}
    for name, one in counted.items():
        print(name)
        for role, used in one.cpu_ms_per_page.items():
            print(f"  {role:20}{'':28}{used:>9.3f}", flush=True)
    return {**{name: middle(by) for name, by in runs.items()}, **counted}


def _print(name: str, run: Run | ClusterRun) -> None:
    cpu = run.cpu_ms if isinstance(run, ClusterRun) else run.cpu_ms_per_page
    print(
        f"{name:22}{run.pages:>8,}{run.pages_per_s:>10,.0f}{run.links_per_s:>10,}{cpu:>9.3f}{run.requests_per_url:>10.4f}",
        flush=True,
    )


def _latency(job: LocalCluster, links: int) -> list[float]:
    """The pages are asked for, and not found: what follows from them is as little as can be."""
    with nginx() as port:
        wanted = [(f"127.0.0.1:{port}", f"/latency/{number}.html") for number in range(links)]
        return latency.measure(job.config, job.transport, wanted)


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
    return {
        "restore_s": one.seconds,
        "restore_urls": one.urls,
        "restore_urls_per_s": one.urls_per_s,
        "restore_cpu_s": one.cpu_s,
        "restore_broker_cpu_s": one.broker_cpu_s,
        "restore_changelog_mb": one.changelog_mb,
    }


if __name__ == "__main__":
    run(main)
