"""A whole cluster under fire: workers and brokers killed, held still and robbed of their disks while they crawl; then audit is the judge.

The short form is part of the tests. `make storm STORM=cluster` runs the long one: GREGOR_STORM_KILLS=30 GREGOR_STORM_BROKERS=3 and the
whole museum.
"""

import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, Literal

import pytest
from msgspec import Struct

from gregor.audit.finding import Finding
from gregor.demo.museum import HOUSES, House, Museum
from gregor.pipeline.local.cluster import WORKERS, LocalCluster, Plan
from gregor.pipeline.local.member import Member
from tests.chaos.processes import seeded
from tests.chaos.siege import SESSION_S, Siege, besieged

LONG: Final = "GREGOR_STORM_BROKERS" in os.environ
KILLS: Final = int(os.environ.get("GREGOR_STORM_KILLS") or 30) if LONG else 4
BROKERS: Final = int(os.environ.get("GREGOR_STORM_BROKERS") or 1)
ROLES: Final = ("frontier", "fetcher", "extractor", "archiver")
FEW_HOUSES: Final = tuple(House(name=f"Pavilion {number}", pages=30, mirrors=number == 0) for number in range(4))
HELD_S: Final = 1.6 * SESSION_S
BREATH_S: Final = 1.0
LATENCY_S: Final = 1.5 if LONG else 0.05
"""Of the site, so that the whole storm falls within the crawl."""

Deed = Literal["kill", "rob", "hold", "kill broker", "hold broker"]


class Blow(Struct, frozen=True):
    deed: Deed
    role: str = ""


def blows(moments: Random, kills: int, brokers: int) -> Iterator[Blow]:
    """Hands of five or six blows, in each of which every role and a broker are hit, until that many processes are killed."""
    killed = 0
    while killed < kills:
        roles = moments.sample(ROLES, len(ROLES))
        hand = [Blow("kill", roles[0]), Blow("kill", roles[1]), Blow("rob", roles[2]), Blow("hold", roles[3])]
        hand += [Blow("kill broker")] + ([Blow("hold broker")] if brokers > 1 else [])
        moments.shuffle(hand)
        killed += sum("hold" not in one.deed for one in hand)
        yield from hand


class Storm:
    """Strikes when the crawl has come a little further, until it has struck often enough."""

    def __init__(self, siege: Siege, moments: Random) -> None:
        self._siege = siege
        self._job: LocalCluster = siege.job
        self._moments = moments
        self._blows = list(blows(moments, KILLS, BROKERS))
        share = len(siege.server.site.urls()) / (len(self._blows) + 2)
        self._falls = [share * (number + moments.uniform(0.6, 1.4)) for number in range(len(self._blows))]
        """How many requests the site has had when each of the blows falls."""
        self._held: int | None = None
        """Process that stands still."""
        self._not_before = 0.0
        self.struck: Counter[str] = Counter()

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
        number = self._moments.randrange(BROKERS)
        victim = member.name if member else f"broker-{number}"
        print(f"{time.strftime('%H:%M:%S')} after {self._siege.requests} requests: {blow.deed} {victim}", flush=True)
        self.struck[f"{blow.deed} {blow.role}".strip()] += 1
        if blow.deed == "kill broker":
            self._job.kill_broker(number)
        elif member is None or blow.deed == "hold":
            self._hold(member.pid if member else self._job._kafka.pid(number))
        else:
            self._kill(member, rob=blow.deed == "rob")

    def _kill(self, member: Member, rob: bool) -> None:
        """An archiver's files are in a folder of their own, and stay."""
        os.kill(member.pid, signal.SIGKILL)
        if rob:
            shutil.rmtree(self._job.folder / WORKERS / member.name, ignore_errors=True)

    def _hold(self, pid: int) -> None:
        """Beyond the session time-out, so that others take over."""
        os.kill(pid, signal.SIGSTOP)
        self._held = pid
        self._not_before = time.monotonic() + HELD_S


@pytest.mark.timeout(5400)
def test_whatever_is_killed_the_crawl_is_whole_and_every_promise_kept(tmp_path: Path) -> None:
    moments = seeded("cluster storm")
    museum = Museum(houses=HOUSES if LONG else FEW_HOUSES)
    plan = Plan(brokers=BROKERS, workers=dict.fromkeys(ROLES, 2))
    began = time.monotonic()
    with besieged(tmp_path / "cluster", museum, plan, latency_s=LATENCY_S) as siege:
        storm = Storm(siege, moments)
        siege.until_done(storm.strike)
        findings = siege.check()
        report(siege, storm, findings, time.monotonic() - began)


def report(siege: Siege, storm: Storm, findings: list[Finding], seconds: float) -> None:
    print(f"{seconds:.0f} s; {dict(sorted(storm.struck.items()))}; lives of workers: ", end="")
    print(", ".join(f"{member.name} {member.lives}" for member in siege.job.members))
    for one in findings:
        print(f"{one.name:20} {one.checked:8,} checked {one.failed:4,} broken {one.unknown:4,} unknown")
