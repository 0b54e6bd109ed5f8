"""A large crawl by one command takes as much memory at its end as in its middle, and little disk for each URL."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from msgspec import Struct

from gregor.demo.answer import loopback
from tests.cli.test_crawl import LOOPBACK, ROOT
from tests.pipeline.generated_site import HOSTS

URLS = int(os.environ.get("GREGOR_STORM_PAGES") or 50_000)
MOST_MB = 700
MOST_GROWTH_MB = 100
"""Between the middle and the end; a table of all URLs in memory, at a few hundred bytes each, would not fit for millions of them."""
MOST_DISK_BYTES_PER_URL = 4_000
MB = 1_000_000


class Sample(Struct, frozen=True):
    """The crawl at one of its lines of progress."""

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


def resident_mb(pid: int) -> float:
    """Of a process and all that it started; pages that they share count for each, so that it is never too little."""
    total = 0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / MB


def crawl(folder: Path, port: int) -> tuple[list[Sample], dict[str, object]]:
    seeds = [f"http://{loopback(host)}:{port}/p0" for host in range(HOSTS)]
    (folder / "gregor.toml").touch()
    command = [sys.executable, "-m", "gregor", "crawl", "--json", "-o", "out", *seeds]
    environment = {**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    samples: list[Sample] = []
    told: dict[str, object] = {}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                told = json.loads(line)
                if told["type"] == "progress":
                    samples.append(Sample(int(told["fetched"]), resident_mb(process.pid)))  # type: ignore[call-overload]
        finally:
            process.kill()
    return samples, told


def most(samples: list[Sample], first: float, last: float) -> float:
    """The most memory while the crawl had between these parts of all URLs."""
    return max(one.resident_mb for one in samples if first * URLS <= one.fetched <= last * URLS)


@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_the_number_of_urls(tmp_path: Path) -> None:
    with generated_site() as (port, site):
        samples, told = crawl(tmp_path, port)
        requests, pages = map(int, site.communicate()[0].split())
    assert told["type"] == "summary", told
    assert (requests, pages) == (URLS, URLS), "every URL once"
    middle, end, peak = most(samples, 0.4, 0.6), most(samples, 0.8, 1.0), most(samples, 0.0, 1.0)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    disk = {part: sum(path.stat().st_size for path in files if part in path.parts) for part in ("state", "archive")}
    print(
        f"{URLS:,} URLs: {middle:.0f} MB in the middle, {end:.0f} at the end, {peak:.0f} at the most; "
        f"disk per URL: {disk['state'] / URLS:.0f} bytes of state, {disk['archive'] / URLS:.0f} of archive"
    )
    assert peak < MOST_MB
    assert end - middle < MOST_GROWTH_MB
    assert sum(disk.values()) / URLS < MOST_DISK_BYTES_PER_URL
