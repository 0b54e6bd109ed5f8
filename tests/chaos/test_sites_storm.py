"""New sites arrive while the coordinator, frontiers and a broker are killed and held still; then audit is the judge: one slot a site,
nothing lost, nothing twice.

The short form is part of the tests. `make storm STORM=sites` runs the long one: three brokers, GREGOR_STORM_KILLS=30, ten times the web.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from bench.siting.hosted_web import HostedWeb
from gregor.demo.server import serve
from gregor.offline.generated import WebShape
from gregor.run.local.cluster import ClusterPlan
from gregor.run.progress import look
from gregor.run.topology import enabled_roles
from infra.kafka.cluster import KafkaCluster
from schemas.sites import decode_site
from tests.chaos.blows import Blow, Storm, report
from tests.chaos.processes import gregor, seeded, until
from tests.chaos.siege import besieged
from tests.run.test_kafka_crawl import Crawl, crawl

LONG: Final = "GREGOR_STORM_BROKERS" in os.environ
KILLS: Final = int(os.environ.get("GREGOR_STORM_KILLS") or 30) if LONG else 4
BROKERS: Final = int(os.environ.get("GREGOR_STORM_BROKERS") or 1)
SHAPE: Final = WebShape(pages=8_000 if LONG else 700, sites=2_000 if LONG else 200, seed=3, beta=0.02)
"""With few links between sites, so that they are met one after the other."""
WORKERS: Final = {"coordinator": 2, "frontier": 2, "fetcher": 1, "extractor": 1, "archiver": 1}
LATENCY_S: Final = 0.3
SETTINGS: Final = {
    "partitions.placement": "sites",
    "crawl.scope": "any",
    "crawl.contact": "mailto:storm@example.org",
    # So slow that the storm falls while sites arrive.
    "fetch.connections": 8,
}


def blows(moments: Random, kills: int) -> Iterator[Blow]:
    """Hands of six: most fall on who places sites and who has them."""
    killed = 0
    while killed < kills:
        hand = [Blow("kill", "coordinator"), Blow("rob", "coordinator"), Blow("hold", "coordinator")]
        hand += [Blow(moments.choice(("kill", "rob")), "frontier"), Blow("hold", "frontier"), Blow("kill broker")]
        moments.shuffle(hand)
        killed += sum("hold" not in one.deed for one in hand)
        yield from hand


@pytest.mark.timeout(5400)
def test_whatever_is_killed_while_sites_arrive_each_has_one_slot_and_every_promise_is_kept(tmp_path: Path) -> None:
    moments = seeded("sites storm")
    plan = ClusterPlan(brokers=BROKERS, workers=WORKERS)
    began = time.monotonic()
    with besieged(tmp_path / "cluster", HostedWeb(SHAPE), plan, LATENCY_S, **SETTINGS) as siege:
        storm = Storm(siege, moments, list(blows(moments, KILLS)), BROKERS)
        siege.until_done(storm.strike)
        findings = siege.check()
        report(siege, storm, findings, time.monotonic() - began)
        rows = [decode_site(one.value) for one in siege.job.transport.read("sites", 0, 0)]
        assert len({row.site for row in rows}) == SHAPE.sites
        assert len({(row.site, row.slot) for row in rows}) == SHAPE.sites, "no site has had two slots"
        assert max(row.found_ms for row in rows) > storm.first_ms, "sites were met under fire"


def waiting(running: Crawl) -> int:
    """Links that wait for their sites to be placed."""
    specs = [role.spec for role in enabled_roles(running.config).values()]
    return look(running.transport, specs, running.config.partitions.partitions).counters.get("waiting", 0)


def status(folder: Path) -> str:
    with gregor(folder / "gregor.toml", "status") as asked:
        code, told = asked.wait()
    assert code == 0, told
    return told


def test_without_the_coordinator_placed_sites_are_crawled_and_links_of_new_ones_wait_until_it_is_back(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    web = HostedWeb(WebShape(pages=400, sites=100, seed=3))
    with (
        serve(web, latency_s=0.1) as server,
        crawl(tmp_path, kafka, server, placement="sites", scope="any") as running,
    ):
        coordinator = running.workers["coordinator"]
        until(lambda: len(server.log) >= 20, "some sites are placed")
        coordinator.kill()
        at_its_death = len(server.log)
        until(lambda: waiting(running) > 0, "links of new sites wait")
        until(lambda: len(server.log) > at_its_death + 10, "pages of placed sites are fetched all the same")
        until(lambda: "the coordinator does not run" in status(tmp_path), "status says why", every=1.0)
        coordinator.restart()
        until(running.done, "the crawl is done")
        assert server.requested() == dict.fromkeys(server.site.urls(), 1)
