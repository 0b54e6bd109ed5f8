"""A large crawl by one command takes as much memory at its end as in its middle, and little disk for each URL."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec import Struct

from gregor.demo.answer import loopback
from tests.cli.test_crawl import LOOPBACK, ROOT
from tests.pipeline.generated_site import HOSTS

URLS = int(os.environ.get("GREGOR_STORM_PAGES") or 50_000)
MOST_MB = 700
MOST_GROWTH_MB = 100
"""Between the middle and the end of fetching. Buffers of the database fill until about 45,000 URLs; from there on 80,000 more
took 20 MB."""
MOST_DISK_BYTES_PER_URL = 4_000
MB = 1_000_000


class Sample(Struct, frozen=True):
    """The crawl at one moment."""

    fetched: int
    resident_mb: float


@contextmanager
def generated_site() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The port, and the process that serves it."""
    command = [sys.executable, "-m", "tests.pipeline.generated_site", str(URLS)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.kill()


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
            self.samples.append(Sample(self.fetched, self._resident_mb()))

    def _resident_mb(self) -> float:
        """Pages that processes share count for each, so that it is never too little."""
        total = 0
        with suppress(psutil.NoSuchProcess):
            for process in [self._process, *self._process.children(recursive=True)]:
                total += process.memory_info().rss
        return total / MB

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


def crawl(folder: Path, port: int) -> tuple[list[Sample], dict[str, Any]]:
    """Samples from its start until its report is written, and the last thing that it said."""
    seeds = [f"http://{loopback(host)}:{port}/p0" for host in range(HOSTS)]
    (folder / "gregor.toml").touch()
    command = [sys.executable, "-m", "gregor", "crawl", "--json", "-o", "out", *seeds]
    environment = {**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    told: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        sampler = Sampler(process.pid)
        try:
            for line in process.stdout:
                told = json.loads(line)
                sampler.fetched = told.get("fetched", URLS)
        finally:
            process.kill()
            sampler.end()
    return sampler.samples, told


def most(samples: list[Sample], first: float, last: float) -> float:
    """The most memory while the crawl had between these parts of all URLs."""
    return max(one.resident_mb for one in samples if first * URLS <= one.fetched < last * URLS)


@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_the_number_of_urls(tmp_path: Path) -> None:
    with generated_site() as (port, site):
        samples, told = crawl(tmp_path, port)
        requests, pages = map(int, site.communicate()[0].split())
    assert told["type"] == "summary", told
    assert (requests, pages) == (URLS, URLS), "every URL once"
    middle, end, peak = most(samples, 0.4, 0.6), most(samples, 0.8, 1.0), max(one.resident_mb for one in samples)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    disk = {part: sum(path.stat().st_size for path in files if part in path.parts) for part in ("state", "archive")}
    print(
        f"{URLS:,} URLs: {middle:.0f} MB in the middle, {end:.0f} at the end, {peak:.0f} at the most, with the report; "
        f"disk per URL: {disk['state'] / URLS:.0f} bytes of state, {disk['archive'] / URLS:.0f} of archive"
    )
    assert peak < MOST_MB
    assert end - middle < MOST_GROWTH_MB
    assert sum(disk.values()) / URLS < MOST_DISK_BYTES_PER_URL
