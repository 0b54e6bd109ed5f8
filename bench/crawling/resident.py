"""One `gregor crawl` of a site of tiny pages, and the memory of its processes while it runs."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
from msgspec import Struct

from bench.crawling.tree_site import HOSTS
from gregor.demo.answer import loopback

MB: Final = 1_000_000
ROOT: Final = Path(__file__).parents[2]
_ENVIRONMENT: Final = {
    "GREGOR_FETCH__ALLOW_ADDRESSES": '["127.0.0.0/8"]',
    "GREGOR_FETCH__DELAY_S": "0",
    "GREGOR_FETCH__DELAY_FACTOR": "0",
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": str(ROOT),
}


class Sample(Struct, frozen=True):
    """The crawl at one moment."""

    fetched: int
    main_mb: float
    extractor_mb: float
    """All processes beside the main one."""

    @property
    def resident_mb(self) -> float:
        """Pages that processes share count for each, so that it is never too little."""
        return self.main_mb + self.extractor_mb


class Course(Struct, frozen=True):
    """A crawl from its start until its report is written."""

    pages: int
    samples: list[Sample]
    told: dict[str, Any]
    """The last thing that it said."""
    requests: int
    asked: int
    """Pages that were asked for at least once."""
    disk: dict[str, int]
    """Bytes of the parts of its folder."""

    def most(self, first: float, last: float) -> float:
        """The most memory while the crawl had between these parts of all URLs."""
        low, high = first * self.pages, last * self.pages
        return max(one.resident_mb for one in self.samples if low <= one.fetched < high)

    @property
    def peak(self) -> float:
        """At any moment, that of the report included."""
        return max(one.resident_mb for one in self.samples)


def crawl(folder: Path, pages: int) -> Course:
    with _site(pages) as (port, site):
        samples, told = _crawl(folder, port, pages)
        requests, asked = map(int, site.communicate()[0].split())
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    disk = {part: sum(path.stat().st_size for path in files if part in path.parts) for part in ("state", "archive")}
    return Course(pages, samples, told, requests, asked, disk)


@contextmanager
def _site(pages: int) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The port, and the process that serves it."""
    command = [sys.executable, "-m", "bench.crawling.tree_site", str(pages)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


def _crawl(folder: Path, port: int, pages: int) -> tuple[list[Sample], dict[str, Any]]:
    seeds = [f"http://{loopback(host)}:{port}/p0" for host in range(HOSTS)]
    (folder / "gregor.toml").touch()
    command = [sys.executable, "-m", "gregor", "crawl", "--json", "-o", "out", *seeds]
    told: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=folder, env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        sampler = Sampler(process.pid)
        try:
            for line in process.stdout:
                told = json.loads(line)
                sampler.fetched = told.get("fetched", pages)
        finally:
            process.kill()
            sampler.end()
    return sampler.samples, told


class Sampler:
    """Looks at the memory of a process and all that it started, several times a second, until they end."""

    def __init__(self, pid: int) -> None:
        self.samples: list[Sample] = []
        self.fetched = 0
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.2):
            with suppress(psutil.NoSuchProcess):
                main = self._process.memory_info().rss
                others = sum(one.memory_info().rss for one in self._process.children(recursive=True))
                self.samples.append(Sample(self.fetched, main / MB, others / MB))

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
