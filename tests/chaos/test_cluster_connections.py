"""Slow, silent, half-open and cut connections between a crawl's workers and their broker: nothing torn, nothing lost, and every worker
comes back by itself."""

import time
from pathlib import Path

import pytest

from gregor import cli
from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from infra.kafka.cluster import KafkaCluster
from tests.chaos.cutting import CuttingProxy
from tests.chaos.processes import seeded, until
from tests.chaos.redelivery import extra_requests
from tests.run.test_kafka_crawl import Crawl, crawl

SESSION_S = 6.0


@pytest.mark.timeout(600)
def test_whatever_happens_on_the_way_to_the_broker_nothing_is_lost_and_workers_come_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    way = CuttingProxy()
    way.start()
    site = DemoSite(hosts=6, pages_per_host=16)
    try:
        with KafkaCluster(proxies=(way.port,)) as cluster, serve(site, latency_s=0.1) as server:
            way.target = cluster.behind_proxies[0]
            with crawl(tmp_path, f"127.0.0.1:{way.port}", server) as job:
                trouble(way, server, job)
                server.latency_s = 0.02
                until(job.done, "the crawl is done", workers=list(job.workers.values()))
                assert set(server.requested()) == server.site.urls()
                archive, state = tmp_path / "archiver" / "archive", tmp_path / "frontier"
                command = ["--config", str(tmp_path / "gregor.toml"), "audit"]
                assert cli.run([*command, "--archive", str(archive), "--state", str(state)]) == 0, capsys.readouterr()
                logs = tmp_path / "logs"
                logs.mkdir()
                (logs / "fetcher-1.log").write_text(job.workers["fetcher"].printed)
                extra_requests(job.transport, server.requested(), logs)
    finally:
        way.close()


def trouble(way: CuttingProxy, server: DemoServer, job: Crawl) -> None:
    """One thing after the other, each in the middle of the crawl."""
    random = seeded("connections")
    workers = list(job.workers.values())

    def further(pages: int) -> None:
        least = len(server.log) + pages
        until(lambda: len(server.log) >= least, "the crawl goes on", workers=workers)

    further(5)
    way.delay_s, way.bytes_per_s = random.uniform(0.02, 0.05), 1e6
    further(10)
    way.delay_s = way.bytes_per_s = 0.0
    for where in random.sample(["before", "behind"] * 2, 4):
        way.cut_next.append(where)  # type: ignore[arg-type]
        before = len(way.cuts)
        until(lambda least=before: len(way.cuts) > least, "a transaction was cut off", workers=workers)  # type: ignore[misc]
        further(3)
    way.cut()
    time.sleep(random.uniform(0.5, 2.0))
    way.heal()
    further(3)
    # Nobody hears anything for so long that the broker takes all of them for dead; then everything arrives late.
    way.mute = True
    time.sleep(1.5 * SESSION_S)
    way.mute = False
    further(3)
    # Half-open: the same, but what was on its way is gone.
    way.mute = True
    time.sleep(random.uniform(1.0, 3.0))
    way.cut()
    way.mute = False
    way.heal()
    further(3)
