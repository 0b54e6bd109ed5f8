"""One crawl of one site by a whole small cluster, timed by the server's log, with the processor time of each role."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.crawling.contenders import GREGOR, requests_of
from bench.crawling.sites import Site
from bench.fetching.nginx import nginx
from gregor.config import Config, load
from gregor.rules.canonical import rules_of
from gregor.run.local.cluster import ClusterPlan, LocalCluster
from gregor.run.placement import placement_of
from gregor.run.progress import is_done
from gregor.run.seeds import parse_seeds, write_seeds
from gregor.run.topology import ROLES, enabled_roles
from gregor.runtime.loops.loop import now_ms

LOOK_EVERY_S: Final = 1.0
"""As often as `gregor cluster` looks."""
READY_EVERY_S: Final = 0.2
PATIENCE_S: Final = 900.0


class ClusterRun(Struct, frozen=True, kw_only=True):
    """What one crawl took."""

    pages: int
    """Different paths that were asked for and found."""
    pages_per_s: float
    """From the first request to the last, as the server saw them."""
    links_per_s: int
    requests_per_url: float
    seconds_from_seed: float
    """From before the seed was written to the last request."""
    cpu_ms_per_page: Mapping[str, float]
    """By role, and of the broker, from the seed until nothing is left to do; nobody's start is in it."""

    @property
    def cpu_ms(self) -> float:
        return round(sum(self.cpu_ms_per_page.values()), 3)


def settings(archive: bool) -> Config:
    """Those of the embedded crawl beside it; everything at the address of the sites is in scope."""
    return load(None, GREGOR, {"scope.hosts": ["127.0.0.1"], "archive.enabled": archive}).config


@contextmanager
def cluster(config: Config, folder: Path) -> Iterator[LocalCluster]:
    """One broker and one worker of each role, all of them ready for the first record."""
    roles = list(enabled_roles(config))
    with LocalCluster(config, folder, ClusterPlan(workers=dict.fromkeys(roles, 1))) as job:
        until_ready(job, roles)
        yield job


def crawl(job: LocalCluster, site: Site) -> ClusterRun:
    """The site behind a port that the cluster has not seen, to its end."""
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
        log = Path(name) / "access.log"
        with nginx(site.folder, log) as port:
            before, began = _cpu(job), time.time()
            seed = parse_seeds([f"http://127.0.0.1:{port}{site.start}"], rules_of(job.config.url))
            write_seeds(job.transport, seed, placement_of(job.config), now_ms())
            after = _until_done(job)
        requests = requests_of(log)
    pages = len({path for _, status, path in requests if status == "200"})
    first, last = requests[0][0], requests[-1][0]
    return ClusterRun(
        pages=pages,
        pages_per_s=round(pages / (last - first), 1),
        links_per_s=round(pages * site.links_per_page / (last - first)),
        requests_per_url=round(len(requests) / len({path for _, _, path in requests}), 4),
        seconds_from_seed=round(last - began, 2),
        cpu_ms_per_page={role: round((after[role] - before[role]) / pages * 1000, 3) for role in after},
    )


def _cpu(job: LocalCluster) -> dict[str, float]:
    job.note_cpu()
    return dict(job.cpu_s)


def until_ready(job: LocalCluster, roles: Sequence[str]) -> None:
    """A member commits where it stands in its partitions, all of them, once it owns them."""
    give_up = time.monotonic() + PATIENCE_S
    for role in roles:
        inputs = ROLES[role].spec.inputs
        wanted = sum(len(job.transport.ends(topic)) for topic in inputs)
        while len(job.transport.committed(role, inputs)) < wanted:
            _wait(job, READY_EVERY_S, give_up)


def _until_done(job: LocalCluster) -> dict[str, float]:
    """The processor time used when nothing was left to do: the second look, which only makes sure, does not count."""
    give_up = time.monotonic() + PATIENCE_S
    before, used = job.look(), _cpu(job)
    while True:
        _wait(job, LOOK_EVERY_S, give_up)
        used_now = _cpu(job)
        now = job.look()
        if before is not None and now is not None and is_done(before, now):
            return used
        before, used = now, used_now


def _wait(job: LocalCluster, seconds: float, give_up: float) -> None:
    time.sleep(seconds)
    job.tend()
    if time.monotonic() > give_up:
        raise SystemExit(f"the cluster got no further within {PATIENCE_S:g} s; see {job.folder}/logs")
