"""One run of the scaling curve: n agents on one broker crawl a generated web, each fetcher with a bandwidth of its own.

An agent is one frontier, one fetcher and one extractor process. Pages a second are those of the window in which every fetcher was at work:
from when the last of them began until the first of them had nothing more. Start, ramp and tail of a crawl are not in it.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct

from bench.clustered.crawl import until_ready
from gregor.config import Config, Flag, load
from gregor.offline.generated import GeneratedWeb, shape_of
from gregor.rules.canonical import rules_of
from gregor.run.local.cluster import ClusterPlan, LocalCluster
from gregor.run.placement import placement_of
from gregor.run.progress import is_done
from gregor.run.seeds import parse_seeds, write_seeds
from gregor.run.topology import enabled_roles
from gregor.runtime.loops.loop import now_ms
from schemas.fetched import decode_fetched

Mode = Literal["hash", "full", "two-level"]
"""hash: no coordinator, as the paper's single machine where there is one agent. full and two-level: sites are placed by a coordinator, and
links to pages of other sites are exchanged or not."""

PARTITIONS: Final = 64
"""So that seven agents have nearly equal parts: at the end the bound is P / ceil(P / n)."""
BANDWIDTH: Final = 15.0
"""Mbit/s of an agent: 84 pages of 22.3 KB a second."""
SITES: Final = 1000
PAGES_A_SITE: Final = 5
"""On average, at least."""
SEEDS: Final = 400
LOOK_EVERY_S: Final = 0.5
PATIENCE_S: Final = 900.0
BUSY: Final = 0.70
"""Share of the processors above which a run shows the machine rather than the crawler."""
EDGE: Final = 0.1
"""Of a fetcher's pages, at either end, that are its ramp and tail."""


class ScalingRun(Struct, frozen=True, kw_only=True):
    """What one run showed."""

    mode: Mode
    agents: int
    pages: int
    throttled: bool
    pages_per_s: float
    window_s: float
    window_pages: int
    cpu_share: float
    """Of all processors, in the window."""
    cpu_ms: Mapping[str, float]
    """By role and for a page, in the whole crawl."""
    bytes_a_page: Mapping[str, float]
    """By topic, on the broker's disk."""
    commits_per_s: float
    partitions_of: tuple[int, ...]
    """How many partitions each fetcher had pages of."""
    covered: float
    """Share of the web's pages that were fetched."""

    @property
    def busy(self) -> bool:
        return self.cpu_share > BUSY


class Fetch(Struct, frozen=True):
    """One page, as its fetcher told it."""

    worker: str
    partition: int
    done_s: float


def measure(mode: Mode, agents: int, pages: int, *, throttled: bool, cores: int) -> ScalingRun:
    web = f"{pages},{min(SITES, pages // PAGES_A_SITE)},1"
    config = _config(mode, web, throttled)
    roles = enabled_roles(config)
    workers = {role: 1 if role == "coordinator" else agents for role in roles}
    with tempfile.TemporaryDirectory(prefix="gregor-scaling-") as name:
        with LocalCluster(config, Path(name), ClusterPlan(workers=workers)) as job:
            until_ready(job, list(roles))
            seeds = parse_seeds(GeneratedWeb(shape_of(web)).seeds(SEEDS), rules_of(config.url))
            used = [_used(job)]
            write_seeds(job.transport, seeds, placement_of(config), now_ms())
            used += _until_done(job)
            fetches = _fetches(job)
            commits = _commits(job)
        sizes = _topic_bytes(Path(name) / "kafka")
    return _told(mode, agents, pages, throttled, cores, Seen(fetches, used, commits, sizes))


class Seen(Struct, frozen=True):
    """What a run left behind."""

    fetches: list[Fetch]
    used: list[tuple[float, dict[str, float]]]
    """Moments and the processor time by role until then."""
    commits: int
    topic_bytes: dict[str, int]


def _told(mode: Mode, agents: int, pages: int, throttled: bool, cores: int, seen: Seen) -> ScalingRun:
    begin, end = window(seen.fetches)
    inside = sum(begin <= one.done_s <= end for one in seen.fetches)
    total = [(moment, sum(spent.values())) for moment, spent in seen.used]
    moments, spent = [moment for moment, _ in total], [value for _, value in total]
    processor = float(np.interp(end, moments, spent) - np.interp(begin, moments, spent))
    first, last = seen.used[0], seen.used[-1]
    by_worker: dict[str, set[int]] = {}
    for one in seen.fetches:
        by_worker.setdefault(one.worker, set()).add(one.partition)
    count = len(seen.fetches)
    return ScalingRun(
        mode=mode,
        agents=agents,
        pages=pages,
        throttled=throttled,
        pages_per_s=round(inside / (end - begin), 2),
        window_s=round(end - begin, 2),
        window_pages=inside,
        cpu_share=round(processor / (end - begin) / cores, 3),
        cpu_ms={role: round((last[1][role] - first[1][role]) * 1000 / count, 4) for role in last[1]},
        bytes_a_page={topic: round(size / count, 1) for topic, size in sorted(seen.topic_bytes.items())},
        commits_per_s=round(seen.commits / (last[0] - first[0]), 1),
        partitions_of=tuple(sorted((len(one) for one in by_worker.values()), reverse=True)),
        covered=round(count / pages, 4),
    )


def window(fetches: list[Fetch]) -> tuple[float, float]:
    """In which every fetcher was at work, its ramp and its tail left out."""
    by_worker: dict[str, list[float]] = {}
    for one in fetches:
        by_worker.setdefault(one.worker, []).append(one.done_s)
    ranges = []
    for times in by_worker.values():
        times.sort()
        edge = int(len(times) * EDGE)
        ranges.append((times[edge], times[-1 - edge]))
    begin, end = max(begin for begin, _ in ranges), min(end for _, end in ranges)
    if begin >= end:
        raise SystemExit(
            f"the fetchers were never at work at the same time ({len(fetches)} pages): ask for more --pages"
        )
    return begin, end


def _config(mode: Mode, web: str, throttled: bool) -> Config:
    settings: dict[str, Any] = {
        "crawl.name": "scaling",
        "crawl.scope": "any",
        "partitions.partitions": PARTITIONS,
        "partitions.placement": "hash" if mode == "hash" else "sites",
        "fetch.backend": "archive",
        "fetch.delay_s": 0.0,
        "fetch.delay_factor": 0.0,
        # A site has one order out at a time, and a checkpoint lies between two: with short ones the largest sites would be the limit.
        "fetch.urls_per_order": 200,
        "robots.obey": False,
        "emulate.web": f"generated:{web}",
        "emulate.bandwidth": BANDWIDTH if throttled else 0.0,
        "archive.enabled": False,
        "extract.processes": 0,
        # The same for all runs: a broker pays for each transaction and partition, not for what is in it.
        "checkpoint.apart_ms": 1000,
        "checkpoint.idle_ms": 100,
        "checkpoint.max_interval_s": 1.0,
    }
    if mode != "hash":
        settings |= {"sites.coverage": mode, "sites.resolve": False}
    return load(None, {}, {key: Flag(value, "bench") for key, value in settings.items()}).config


def _until_done(job: LocalCluster) -> list[tuple[float, dict[str, float]]]:
    used: list[tuple[float, dict[str, float]]] = []
    give_up = time.monotonic() + PATIENCE_S
    before = None
    while True:
        time.sleep(LOOK_EVERY_S)
        job.tend()
        # Before the look, which takes a while: the moment has to be that of the sample.
        used.append(_used(job))
        now = job.look()
        if before is not None and now is not None and now.counters.get("confirmed", 0) and is_done(before, now):
            return used
        if time.monotonic() > give_up:
            raise SystemExit(f"the crawl was not done within {PATIENCE_S:g} s; see {job.folder}/logs")
        before = now


def _used(job: LocalCluster) -> tuple[float, dict[str, float]]:
    job.note_cpu()
    return time.time(), dict(job.cpu_s)


def _fetches(job: LocalCluster) -> list[Fetch]:
    found = []
    for partition in range(PARTITIONS):
        for record in job.transport.read("fetched", partition, 0):
            one = decode_fetched(record.value)
            found += [
                Fetch(one.worker, partition, (result.started_ms + result.timings.total) / 1000)
                for result in one.results
                if result.status == 200
            ]
    return found


def _commits(job: LocalCluster) -> int:
    """Transactions, told by the markers that they left: offsets that no record has, one for each partition and transaction."""
    markers = 0
    for topic in ("discovered", "schedule", "fetched"):
        for partition, (first, last) in job.transport.ends(topic).items():
            markers += last - first - sum(1 for _ in job.transport.read(topic, partition, first))
    return markers


def _topic_bytes(folder: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for path in folder.rglob("*.log"):
        topic = path.parent.name.rpartition("-")[0]
        if topic.startswith("scaling"):
            sizes[topic.removeprefix("scaling.")] = sizes.get(topic.removeprefix("scaling."), 0) + path.stat().st_size
    return sizes
