"""The servers of the soak as processes, the crawl that meets them, and the memory that it takes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.crawling.resident import Sampler
from gregor.demo.server import LoggedRequest, read_log
from gregor.demo.site import DemoSite
from gregor.outputs.archive.reader import open_archive
from tests.chaos.processes import REPOSITORY
from tests.chaos.soak.chameleon import Asked
from tests.chaos.soak.hostile_web import IN_SCOPE, Names, Plan

GOOD_DELAY_S: Final = 0.5
HOSTILE_DELAY_S: Final = 1.0
PATIENCE_S: Final = 300.0
"""Beyond the time of the soak, for good servers that are not done: a guard against waiting for ever."""
LOOK_EVERY_S: Final = 1.0


class Good(Struct, frozen=True):
    """The good servers, as they are served."""

    site: DemoSite
    log: Path

    def asked(self) -> list[LoggedRequest]:
        return read_log(self.log)

    def answered(self) -> Counter[str]:
        """How often each URL was, robots.txt included."""
        return Counter(f"http://{one.host}{one.path}" for one in self.asked())

    def done(self, archive: Path) -> bool:
        """Whether every URL has been asked for, and every answer is in the archive."""
        answered = self.answered()
        return self.site.urls() <= answered.keys() and answered <= Counter(page.url for page in open_archive(archive))


@contextmanager
def good_web(folder: Path, hosts: int, pages: int) -> Iterator[Good]:
    log = folder / "good.jsonl"
    with _program("good_web", hosts, pages, log) as (_, said):
        yield Good(DemoSite(hosts=hosts, pages_per_host=pages, port=int(said)), log)


@contextmanager
def hostile_web(folder: Path, plan: Plan) -> Iterator[Names]:
    path = folder / "plan.json"
    path.write_bytes(msgspec.json.encode(plan))
    with _program("hostile_web", path) as (_, said):
        yield msgspec.json.decode(said, type=Names)


def asked_of(log: Path) -> list[Asked]:
    """A line still being written is left out."""
    return [msgspec.json.decode(line, type=Asked) for line in log.read_bytes().split(b"\n")[:-1]]


@contextmanager
def _program(name: str, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of this package, and the first line that it said; gone afterwards."""
    command = [sys.executable, "-m", f"tests.chaos.soak.{name}", *map(str, arguments)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()


class Crawled(Struct, frozen=True):
    """A crawl from its start to its end."""

    code: int
    printed: str
    seconds: float
    peak_mb: float
    """Of all its processes together; what they share counts for each."""
    ended_early: bool
    """By itself, before it was to be stopped."""


def configure(path: Path, seeds: Sequence[str], server_attempts: int) -> Path:
    """Small delays and short time-outs; nothing that went wrong is left alone for hours, and how busy this machine is does not lengthen the
    delay of good servers. All the rest is as it is for everybody."""
    path.write_text(f"""
[crawl]
seeds = {json.dumps(list(seeds))}
[scope]
hosts = ["{IN_SCOPE}"]
[fetch]
delay_s = {HOSTILE_DELAY_S}
connect_timeout_s = 3.0
first_byte_timeout_s = 5.0
total_timeout_s = 10.0
allow_addresses = ["127.0.0.0/8"]
[robots]
cache_hours = 0.02
[retry]
first_s = 2.0
longest_s = 10.0
dead_hours = 0.002
server_attempts = {server_attempts}
[[server]]
match = "127.0.0.*"
delay_s = {GOOD_DELAY_S}
delay_factor = 0.0
""")
    return path


def crawl(config: Path, folder: Path, good: Good, *, least_s: float, trusted: Path | None = None) -> Crawled:
    """Until the good servers are done and ``least_s`` have passed: then it is interrupted, as by Ctrl-C, unless it has ended."""
    command = [sys.executable, "-m", "gregor", "--config", str(config), "crawl", "--output", str(folder)]
    environment = {**os.environ, **({"SSL_CERT_FILE": str(trusted)} if trusted else {})}
    output = folder.with_suffix(".log")
    began = time.monotonic()
    with (
        output.open("wb") as log,
        subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        sampler = Sampler(process.pid)
        try:
            ended = _until(process, began + least_s, lambda: good.done(folder / "archive"))
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            sampler.end()
    printed = output.read_text(errors="replace")
    peak = max(one.resident_mb for one in sampler.samples)
    return Crawled(process.returncode, printed, time.monotonic() - began, peak, ended)


def _until(process: subprocess.Popen[bytes], end: float, done: Callable[[], bool]) -> bool:
    """Whether it ended by itself."""
    while time.monotonic() < end + PATIENCE_S:
        if process.poll() is not None:
            return True
        if time.monotonic() >= end and done():
            return False
        time.sleep(LOOK_EVERY_S)
    return False
