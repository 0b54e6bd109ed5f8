"""Blows that fall on a cluster while it crawls: workers and brokers killed, held still or robbed of their disks."""

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Final, Literal

from msgspec import Struct

from gregor.inspect.audit.finding import Finding
from gregor.run.local.cluster import WORKERS, LocalCluster
from gregor.run.local.member import WorkerProcess
from tests.chaos.siege import SESSION_S, Siege

HELD_S: Final = 1.6 * SESSION_S
BREATH_S: Final = 1.0

Deed = Literal["kill", "rob", "hold", "kill broker", "hold broker"]


class Blow(Struct, frozen=True):
    deed: Deed
    role: str = ""


class Storm:
    """Strikes when the crawl has come a little further, until it has struck often enough."""

    def __init__(self, siege: Siege, moments: Random, blows: Sequence[Blow], brokers: int) -> None:
        self._siege = siege
        self._job: LocalCluster = siege.job
        self._moments = moments
        self._blows = list(blows)
        self._brokers = brokers
        share = len(siege.server.site.urls()) / (len(self._blows) + 2)
        self._falls = [share * (number + moments.uniform(0.6, 1.4)) for number in range(len(self._blows))]
        """How many requests the site has had when each of the blows falls."""
        self._held: int | None = None
        """Process that stands still."""
        self._not_before = 0.0
        self.struck: Counter[str] = Counter()
        self.first_ms = 0
        """When the first blow fell, milliseconds since 1970."""

    def strike(self) -> bool:
        """Perhaps; whether it is over."""
        if time.monotonic() < self._not_before:
            return False
        if self._held is not None:
            os.kill(self._held, signal.SIGCONT)
            self._held = None
        if self._blows and self._siege.requests >= self._falls[0]:
            self._falls.pop(0)
            self._not_before = time.monotonic() + BREATH_S
            self._do(self._blows.pop(0))
        return not self._blows and self._held is None

    def _do(self, blow: Blow) -> None:
        candidates = [member for member in self._job.members if member.role == blow.role]
        member = self._moments.choice(candidates) if candidates else None
        number = self._moments.randrange(self._brokers)
        victim = member.name if member else f"broker-{number}"
        print(f"{time.strftime('%H:%M:%S')} after {self._siege.requests} requests: {blow.deed} {victim}", flush=True)
        self.first_ms = self.first_ms or time.time_ns() // 1_000_000
        self.struck[f"{blow.deed} {blow.role}".strip()] += 1
        if blow.deed == "kill broker":
            self._job.kill_broker(number)
        elif member is None or blow.deed == "hold":
            self._hold(member.pid if member else self._job._kafka.pid(number))
        else:
            self._kill(member, rob=blow.deed == "rob")

    def _kill(self, member: WorkerProcess, rob: bool) -> None:
        """An archiver's files are in a folder of their own, and stay."""
        os.kill(member.pid, signal.SIGKILL)
        if rob:
            shutil.rmtree(self._job.folder / WORKERS / member.name, ignore_errors=True)

    def _hold(self, pid: int) -> None:
        """Beyond the session time-out, so that others take over."""
        os.kill(pid, signal.SIGSTOP)
        self._held = pid
        self._not_before = time.monotonic() + HELD_S


def report(siege: Siege, storm: Storm, findings: list[Finding], seconds: float) -> None:
    print(f"{seconds:.0f} s; {dict(sorted(storm.struck.items()))}; lives of workers: ", end="")
    print(", ".join(f"{member.name} {member.lives}" for member in siege.job.members))
    for one in findings:
        print(f"{one.name:20} {one.checked:8,} checked {one.failed:4,} broken {one.unknown:4,} unknown")
