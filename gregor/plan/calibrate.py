"""A profile of this machine: two short crawls of generated webs on a real broker, one of small pages and one of today's.

The web is served over HTTP on loopback by this process, so that fetchers do what they do on a network, without TLS. Processor time is
counted from when pages have begun to come, so that the start of each process is not in it.
"""

import os
import platform
import time
from collections.abc import Callable, Set
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from gregor.config import Flag, load
from gregor.demo.answer import ROBOTS, Answer
from gregor.demo.server import serve
from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.offline.generated import PROFILES, GeneratedWeb, ProfileName, WebShape
from gregor.plan.profile import BySize, Profile
from gregor.run.local.cluster import ClusterPlan, LocalCluster
from gregor.run.progress import is_done
from gregor.run.topology import enabled_roles

SITES: Final = 20
PAGES: Final[dict[ProfileName, int]] = {"paper": 2500, "today": 800}
WARM: Final = 0.15
"""Share of the pages after which counting begins."""
LEAST_URL_BYTES: Final = 16.0
"""No state holds a URL in less."""
LOOK_EVERY_S: Final = 0.25
PATIENCE_S: Final = 600.0


class Measured(Struct, frozen=True):
    """One crawl."""

    kb: float
    cpu_ms: dict[str, float]
    memory_mb: dict[str, float]
    topic_bytes: float
    archive_bytes: float
    known: int
    """URLs in the frontier."""
    changelog_bytes: float
    """Of all of them, and of whatever is there without any."""
    state_bytes: float


def calibrate(tell: Callable[[str], None] = lambda _: None) -> Profile:
    """Takes about a minute, and Java."""
    found = {}
    for name, pages in PAGES.items():
        tell(
            f"Crawling {pages:,} generated pages of {PROFILES[name].mean_bytes / 1000:g} KB on a broker of this machine."
        )
        found[name] = _measure(name, pages)
    return profile_of(found["paper"], found["today"], _machine())


def profile_of(small: Measured, large: Measured, where: str) -> Profile:
    """The straight lines through both."""

    def line(of: Callable[[Measured], float]) -> BySize:
        slope = max(0.0, (of(large) - of(small)) / (large.kb - small.kb))
        return BySize(round(max(0.0, of(small) - slope * small.kb), 4), round(slope, 6))

    def by_url(of: Callable[[Measured], float]) -> float:
        # What an empty state takes is in both crawls.
        return round(max(LEAST_URL_BYTES, (of(small) - of(large)) / (small.known - large.known)), 1)

    return Profile(
        measured=where,
        cpu_ms={role: line(lambda one, role=role: one.cpu_ms[role]) for role in small.cpu_ms},  # type: ignore[misc]
        memory_mb={role: max(small.memory_mb[role], large.memory_mb[role]) for role in small.memory_mb},
        topic_bytes=line(lambda one: one.topic_bytes),
        changelog_bytes=by_url(lambda one: one.changelog_bytes),
        state_bytes=by_url(lambda one: one.state_bytes),
        archive_bytes=line(lambda one: one.archive_bytes),
    )


class ServedWeb:
    """A generated web as a site on loopback."""

    def __init__(self, shape: WebShape, port: int = 0) -> None:
        self.port = port
        self._shape = shape
        self._web = GeneratedWeb(shape, [f"{address}:{port}" for address in self.addresses()])

    @property
    def seeds(self) -> list[str]:
        return self._web.seeds(self._shape.sites)

    def at(self, port: int) -> "ServedWeb":
        return ServedWeb(self._shape, port)

    def addresses(self) -> list[str]:
        return [f"127.0.2.{site + 1}" for site in range(self._shape.sites)]

    def url(self, host: int, path: str) -> str:
        return f"http://{self._web.server(host)}{path}"

    def pages(self) -> Set[str]:
        return set(self._web.urls(self._web.graph.everything))

    urls = pages

    def answer(self, address: str, path: str, earlier: int = 0) -> Answer:
        body = None if path == ROBOTS else self._web.answer(f"{address}:{self.port}", path)
        return Answer(404, "") if body is None else Answer(200, "", raw=body)


def _measure(name: ProfileName, pages: int) -> Measured:
    shape = WebShape(pages=pages, sites=SITES, profile=name)
    with TemporaryDirectory(prefix="gregor-calibrate-") as folder, serve(ServedWeb(shape)) as server:
        settings = {
            "crawl.name": "calibrate",
            "crawl.seeds": tuple(server.seeds),
            "fetch.allow_addresses": ("127.0.0.0/8",),
            "fetch.delay_s": 0.0,
            "fetch.delay_factor": 0.0,
            "extract.processes": 0,
        }
        config = load(None, {}, {key: Flag(value, "--calibrate") for key, value in settings.items()}).config
        plan = ClusterPlan(workers=dict.fromkeys(enabled_roles(config), 1))
        with LocalCluster(config, Path(folder), plan) as job:
            counted = _counted(job, pages)
            memory = {member.role: _peak_mb(member.pid) for member in job.members}
            memory["broker"] = max(map(_peak_mb, job.broker_pids))
            job.finish()
            now = job.look()
        sizes = _topic_sizes(Path(folder) / "kafka")
        changelogs = sum(size for topic, size in sizes.items() if "changelog" in topic)
        return Measured(
            kb=PROFILES[name].mean_bytes / 1000,
            cpu_ms=counted,
            memory_mb=memory,
            topic_bytes=(sum(sizes.values()) - changelogs) / pages,
            archive_bytes=sum(path.stat().st_size for path in Path(folder).rglob("*.warc.gz")) / pages,
            known=now.counters.get("admitted", pages) if now is not None else pages,
            changelog_bytes=changelogs,
            state_bytes=_size(Path(folder) / "workers" / "frontier-1"),
        )


def _counted(job: LocalCluster, pages: int) -> dict[str, float]:
    """Milliseconds of a processor by role for a page, from when the crawl is in its middle until it is done."""
    begun: dict[str, float] = {}
    first, before = 0, job.look()
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        time.sleep(LOOK_EVERY_S)
        job.tend()
        now = job.look()
        fetched = now.counters.get("confirmed", 0) if now is not None else 0
        if not begun and fetched >= WARM * pages:
            job.note_cpu()
            begun, first = dict(job.cpu_s), fetched
        if before is not None and now is not None and is_done(before, now):
            job.note_cpu()
            return {
                role: round((spent - begun[role]) * 1000 / (fetched - first), 4) for role, spent in job.cpu_s.items()
            }
        before = now
    raise GregorError(
        "expected a crawl of loopback to end within ten minutes, found one that did not", exit_code=EXIT_ENVIRONMENT
    )


def _topic_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each topic on the brokers."""
    sizes: dict[str, int] = {}
    for path in folder.rglob("*.log"):
        topic = path.parent.name.rpartition("-")[0]
        if topic.startswith("calibrate"):
            sizes[topic] = sizes.get(topic, 0) + path.stat().st_size
    return sizes


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0 kB")
    return round(int(line.split()[1]) / 1000, 1)


def _machine() -> str:
    name = next(
        (line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")), platform.machine()
    )
    today = time.strftime("%Y-%m-%d", time.gmtime())
    return (
        f"{os.cpu_count()} cores of {name}, Python {platform.python_version()}, one broker, HTTP on loopback without TLS, generated pages "
        f"of 22.3 and 140 KB, {today}"
    )


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
