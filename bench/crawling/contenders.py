"""Each crawler as a command, and how one run of it is measured: by the server's log, and by what the processes used."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from bench.crawling.sites import WEB_HOSTS, Site
from bench.fetching.nginx import nginx
from gregor.demo.answer import loopback
from infra.kafka.jars import cache_folder

SAMPLE_EVERY_S: Final = 0.1
HERE: Final = Path(__file__).parent
FOLLOW: Final = "GREGOR_CRAWL__FOLLOW_LINKS"
"""gregor's own setting; the others here are told by it too."""

GREGOR: Final = {
    "GREGOR_FETCH__ALLOW_ADDRESSES": '["127.0.0.0/8"]',
    "GREGOR_FETCH__DELAY_FACTOR": "0",
    "GREGOR_FETCH__DELAY_S": "0",
    "GREGOR_FRONTIER__ORDERS_PER_SERVER": "16",
    "GREGOR_ROBOTS__OBEY": "false",
}


class Contender(Struct, frozen=True):
    """A crawler that can be run."""

    name: str
    version: str
    command: Callable[[list[str], Path], list[str]]
    """From the URLs to start from and an empty folder. Those that crawl sites of one start take the first."""
    environment: Mapping[str, str] = {}


class Run(Struct, frozen=True, kw_only=True):
    """One crawl of one site by one crawler."""

    pages: int
    """Different paths that were asked for and found."""
    pages_per_s: float
    """From the first request to the last, as the server saw them: nobody's start counts."""
    links_per_s: float
    """Links in those pages."""
    cpu_ms_per_page: float
    """Of all its processes, their start included."""
    rss_mb: float
    """The most that its processes held together."""
    requests_per_url: float
    stage_shares: dict[str, float] = {}
    """Where gregor's processor time went."""


class Timed(Protocol):
    """A run of whatever kind."""

    @property
    def pages_per_s(self) -> float: ...


AnyRun = TypeVar("AnyRun", bound=Timed)


def contenders() -> list[Contender]:
    """Those that are here, gregor first."""
    here = sys.executable
    made = [
        _gregor("gregor", "false"),
        _gregor("gregor+archive", "true"),
        Contender("bare", "aiohttp", lambda urls, _: [here, "-m", "bench.crawling.bare", *urls]),
        scrapy(),
    ]
    if shutil.which("go"):
        made.append(Contender("colly", _colly_version(), lambda urls, _: [str(_built_colly()), urls[0]]))
    if shutil.which("cargo"):
        made.append(Contender("spider-rs", _spider_rs_version(), lambda urls, _: [str(_built_spider_rs()), urls[0]]))
    if shutil.which("wget2"):
        made.append(Contender("wget2", "", _wget2))
    return made


def scrapy(pages: int = 0) -> Contender:
    """Stopped after about so many pages; 0: never."""

    def command(urls: list[str], folder: Path) -> list[str]:
        return [sys.executable, "-m", "bench.crawling.spider", str(pages), *urls]

    return Contender("scrapy", _version("scrapy"), command)


def _gregor(name: str, archive: str) -> Contender:
    def command(urls: list[str], folder: Path) -> list[str]:
        return [sys.executable, "-m", "gregor", "crawl", "--output", str(folder / "out"), "--json", *urls]

    return Contender(name, _version("gregor-crawl"), command, {**GREGOR, "GREGOR_ARCHIVE__ENABLED": archive})


def _built_colly() -> Path:
    def build(program: Path) -> None:
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "colly", check=True)

    return _built("colly", ("main.go", "go.sum"), build)


def _built_spider_rs() -> Path:
    def build(program: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
            # Cargo writes a lock file beside the manifest, and that would name a registry's address.
            source = shutil.copytree(HERE / "spider_rs", Path(name) / "source")
            command = ["cargo", "build", "--release", "--quiet", "--target-dir", f"{name}/target"]
            subprocess.run(command, cwd=source, check=True)
            shutil.copy(Path(name) / "target" / "release" / "spider-crawl", program)

    return _built("spider_rs", ("main.rs", "Cargo.toml"), build)


def _built(folder: str, files: Sequence[str], build: Callable[[Path], None]) -> Path:
    """The program in the folder beside this file, built once for each of its versions."""
    digest = hashlib.sha256(b"".join((HERE / folder / name).read_bytes() for name in files)).hexdigest()
    program = cache_folder() / "bench" / f"{folder}-{digest[:16]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        build(program)
    return program


def _colly_version() -> str:
    lines = (HERE / "colly" / "go.mod").read_text().splitlines()
    return next(line.split()[-1] for line in lines if "gocolly/colly" in line)


def _spider_rs_version() -> str:
    manifest = tomllib.loads((HERE / "spider_rs" / "Cargo.toml").read_text())
    return str(manifest["dependencies"]["spider"]).removeprefix("=")


def _wget2(urls: list[str], folder: Path) -> list[str]:
    quiet = ["--quiet", "--delete-after", "--no-robots", "--max-threads=32", f"--directory-prefix={folder}"]
    return ["wget2", "--recursive", "--level=inf", "--no-parent", *quiet, urls[0]]


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def measure(contender: Contender, site: Site) -> Run:
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
        folder = Path(name)
        log, output = folder / "access.log", folder / "output"
        authority, certificate = _certificate(folder) if site.tls else (None, None)
        environment = {**os.environ, **contender.environment, FOLLOW: "true" if site.follow else "false"}
        if authority is not None:
            environment["SSL_CERT_FILE"] = str(authority)
        with nginx(site.folder, log, certificate, site.packed) as port:
            command = contender.command(site.urls(port), folder)
            with output.open("wb") as stdout:
                process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, env=environment)
                with _memory(process.pid) as peak:
                    _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{contender.name} ended with {process.returncode}: {output.read_text()[-2000:]}")
        requests = requests_of(log)
        pages = Counter(path for _, found, path in requests if found == "200")
        seconds = max(requests[-1][0] - requests[0][0], 0.001)
        return Run(
            pages=len(pages),
            pages_per_s=round(len(pages) / seconds, 1),
            links_per_s=round(len(pages) * site.links_per_page / seconds),
            cpu_ms_per_page=round((usage.ru_utime + usage.ru_stime) / len(pages) * 1000, 3),
            rss_mb=round(peak[0] / 2**20, 1),
            requests_per_url=round(len(requests) / len({path for _, _, path in requests}), 4),
            stage_shares=_shares(output),
        )


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Of an authority made up for it, and of all addresses that a site may have, with its key."""
    import trustme

    authority = trustme.CA()
    made, signed = folder / "authority.pem", folder / "server.pem"
    authority.cert_pem.write_to_path(str(made))
    authority.issue_cert(*map(loopback, range(WEB_HOSTS))).private_key_and_cert_chain_pem.write_to_path(str(signed))
    return made, signed


def requests_of(log: Path) -> list[tuple[float, str, str]]:
    lines = (line.split(" ", 2) for line in log.read_text().splitlines())
    return sorted((float(at), status, path) for at, status, path in lines)


def _shares(output: Path) -> dict[str, float]:
    """Where the processor's time went, as gregor's summary says on its last line."""
    last = (output.read_text().strip().splitlines() or [""])[-1]
    if not last.startswith("{"):
        return {}
    cpu = msgspec.json.decode(last).get("cpu_s", {})
    total = sum(cpu.values()) or 1.0
    return {stage: round(used / total, 3) for stage, used in cpu.items()}


@contextmanager
def _memory(pid: int) -> Iterator[list[int]]:
    """The greatest sum of the proportional memory of a process and its children, sampled."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_EVERY_S):
            peak[0] = max(peak[0], sum(map(_pss, _tree(pid))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _tree(pid: int) -> list[int]:
    found, unseen = [], [pid]
    while unseen:
        one = unseen.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                unseen += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _pss(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def middle(runs: Sequence[AnyRun]) -> AnyRun:
    """The one that was neither the fastest nor the slowest."""
    return sorted(runs, key=lambda run: run.pages_per_s)[len(runs) // 2]


def settle() -> None:
    """Let a run's last writes and closed sockets pass before the next one begins."""
    os.sync()
    time.sleep(0.5)
