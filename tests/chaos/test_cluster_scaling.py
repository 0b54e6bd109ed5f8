"""Workers join and leave while a crawl runs: nothing is lost, nothing is twice."""

import time
from pathlib import Path

import pytest

from gregor.demo.site import DemoSite
from gregor.run.local.cluster import ClusterPlan
from gregor.run.local.member import WorkerProcess
from tests.chaos.siege import Siege, besieged

ROLES = ("frontier", "fetcher", "extractor", "archiver")
MOST = {"frontier": 3, "fetcher": 4, "extractor": 4}


class Scaling:
    """The cluster's members by role and number."""

    def __init__(self, siege: Siege) -> None:
        self._siege = siege
        self._job = siege.job

    def grow(self) -> None:
        """From one of each to the most, and until the groups know them all and work goes on."""
        for role, most in MOST.items():
            for number in range(2, most + 1):
                self._job.add(role, number)
        for role, most in MOST.items():
            while self._job.transport.members(role) < most:
                time.sleep(0.2)
                self._job.tend()
        self._siege.until_requests(self._siege.requests + 10)

    def let_go(self, *names: str) -> None:
        """SIGTERM, each to its end."""
        leaving = self._take_out(names)
        for member in leaving:
            member.ask_to_stop()
        for member in leaving:
            assert member.wait(120), f"{member.name} does not leave"
            assert member.ended, f"{member.name} left with an error"

    def kill(self, *names: str) -> None:
        """kill -9, and nobody starts them again."""
        for member in self._take_out(names):
            member.kill()

    def _take_out(self, names: tuple[str, ...]) -> list[WorkerProcess]:
        found = [member for member in self._job.members if member.name in names]
        for member in found:
            self._job.members.remove(member)
        return found


@pytest.mark.timeout(600)
def test_a_crawl_grows_and_shrinks_by_sigterm_and_by_kill_without_a_loss(tmp_path: Path) -> None:
    site, plan = DemoSite(hosts=12, pages_per_host=24), ClusterPlan(workers=dict.fromkeys(ROLES, 1))
    with besieged(tmp_path / "cluster", site, plan, latency_s=0.5) as siege:
        scaling = Scaling(siege)
        siege.until_requests(5)
        scaling.grow()
        # Those that were there first go first, so that everything moves.
        scaling.let_go("fetcher-1", "extractor-1", "frontier-1")
        siege.until_requests(siege.requests + 10)
        scaling.kill("fetcher-2", "extractor-2", "frontier-2")
        siege.until_requests(siege.requests + 10)
        scaling.let_go("fetcher-3", "extractor-3")
        assert siege.requests < len(site.at(siege.server.port).urls()), (
            "all of that happened in the middle of the crawl"
        )
        siege.server.latency_s = 0.02
        siege.until_done(lambda: True)
        siege.check()
        assert {member.name for member in siege.job.members} == {"frontier-3", "fetcher-4", "extractor-4", "archiver-1"}
