"""A whole cluster under fire: workers and brokers killed, held still and robbed of their disks while they crawl; then audit is the judge.

The short form is part of the tests. GREGOR_STORM_KILLS=40 GREGOR_STORM_BROKERS=3 is the long one.
"""

import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Any, Final

import pytest

from gregor.audit.run import Places, audit
from gregor.config import Config, load
from gregor.demo.judge import judge
from gregor.demo.museum import HOUSES, SETTINGS, Museum
from gregor.demo.server import DemoServer, serve
from gregor.pipeline.local.cluster import WORKERS, LocalCluster, Plan
from gregor.pipeline.local.member import Member
from gregor.pipeline.progress import Look, is_done
from tests.chaos.processes import seeded

KILLS: Final = int(os.environ.get("GREGOR_STORM_KILLS") or 4)
BROKERS: Final = int(os.environ.get("GREGOR_STORM_BROKERS") or 1)
EVERY_S: Final = 3.0
SESSION_S: Final = 6.0
PARTITIONS: Final = 4
FEW_HOUSES: Final = HOUSES[6:]


class Storm:
    """Does something to somebody now and then, until it has done enough."""

    def __init__(self, job: LocalCluster, moments: random.Random) -> None:
        self._job = job
        self._moments = moments
        self._next = time.monotonic() + EVERY_S
        self._held: Member | None = None
        self.left = KILLS

    def strike(self) -> None:
        if time.monotonic() < self._next:
            return
        self._let_go()
        if not self.left:
            return
        self.left -= 1
        self._next = time.monotonic() + EVERY_S
        # The last one is a broker's, so that every storm has one.
        deed = self._moments.choice([self._kill, self._kill, self._hold, self._rob]) if self.left else self._kill_broker
        deed(self._moments.choice(self._job.members))

    @property
    def over(self) -> bool:
        return not self.left and self._held is None

    def _kill(self, member: Member) -> None:
        print(f"kill -9 {member.name}")
        os.kill(member.pid, signal.SIGKILL)

    def _rob(self, member: Member) -> None:
        """Kill it and delete its disk; an archiver's files are in a folder of their own."""
        self._kill(member)
        shutil.rmtree(self._job.folder / WORKERS / member.name, ignore_errors=True)

    def _hold(self, member: Member) -> None:
        print(f"hold {member.name} beyond its session time-out")
        os.kill(member.pid, signal.SIGSTOP)
        self._held = member
        self._next += 2 * SESSION_S

    def _let_go(self) -> None:
        if self._held is not None:
            os.kill(self._held.pid, signal.SIGCONT)
            self._held = None

    def _kill_broker(self, _: Member) -> None:
        number = self._moments.randrange(BROKERS)
        print(f"kill -9 broker {number}")
        self._job.kill_broker(number)


@pytest.mark.timeout(3600)
def test_whatever_is_killed_the_crawl_is_whole_and_every_promise_kept(tmp_path: Path) -> None:
    workers = dict.fromkeys(("frontier", "fetcher", "extractor", "archiver"), 2)
    with serve(Museum(houses=FEW_HOUSES), latency_s=0.1) as server:
        plan = Plan(brokers=BROKERS, workers=workers)
        with LocalCluster(config_for(server), tmp_path / "cluster", plan) as job:
            storm = Storm(job, seeded("cluster storm"))
            until_done(job, storm, server)
            judgement = judge(Museum(port=server.port, houses=FEW_HOUSES), server.requested())
            assert (judgement.missed, judgement.strange) == ((), ()), (
                "the site saw all that it should, and nothing else"
            )
            places = Places(archive=Path(job.config.archive.folder))
            findings = audit(job.transport, job.config, PARTITIONS, places, tolerance_ms=20)
            assert {one.name: one.offenders for one in findings if not one.holds} == {}
            # The first frontier, whose state is looked at, may have lost its partitions to the second.
            left_out = {one.name for one in findings if not one.checked or one.unknown} - {
                "state-counts",
                "state-changelog",
            }
            assert left_out == set()


def config_for(server: DemoServer) -> Config:
    settings: dict[str, Any] = {
        **SETTINGS,
        "crawl.name": "storm",
        "crawl.seeds": tuple(server.seeds),
        "fetch.delay_s": 0.01,
        "kafka.session_timeout_s": SESSION_S,
        "partitions.partitions": PARTITIONS,
    }
    return load(None, {}, settings).config


def until_done(job: LocalCluster, storm: Storm, server: DemoServer) -> None:
    before: Look | None = None
    while True:
        time.sleep(0.3)
        if len(server.log) > 20:
            storm.strike()
        job.tend()
        now = job.look()
        if before is not None and now is not None and is_done(before, now) and storm.over:
            return
        before = now
