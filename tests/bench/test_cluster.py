"""The benchmark of a crawl on Kafka: what it restores is whole, what it times arrives, and its ratios are the worst ones."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from bench.cluster import figures_of
from bench.clustered import latency, restore
from bench.clustered.crawl import ClusterRun
from bench.crawling.contenders import Run
from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from infra.kafka.cluster import KafkaCluster
from streams.frontier.stage import SPEC, FrontierStage


@pytest.fixture
def config(kafka: KafkaCluster) -> Config:
    flags = {"kafka.bootstrap": kafka.bootstrap, "crawl.name": f"late-{secrets.token_hex(4)}", "crawl.scope": "any"}
    config = load(None, {"GREGOR_ROBOTS__OBEY": "false", "GREGOR_FETCH__DELAY_S": "0"}, flags).config
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    return config


@pytest.fixture
def frontier(config: Config, tmp_path: Path) -> Iterator[None]:
    """At work in a thread."""
    transport = kafka_transport(config, tmp_path)
    loop = StageLoop(FrontierStage(config, placement_of(config)), transport.open(SPEC), config.checkpoint)
    ready = Event()

    def run() -> None:
        while len(loop.owned) < config.partitions.partitions:
            loop.step(0.1)
        ready.set()
        loop.run()

    thread = Thread(target=run)
    thread.start()
    while not ready.wait(0.1):
        assert thread.is_alive()
    yield
    loop.stop()
    thread.join()
    transport.close()


def test_a_frontier_is_restored_with_every_url_that_was_put_into_it(kafka: KafkaCluster, tmp_path: Path) -> None:
    restored = restore.measure(kafka.bootstrap, lambda: 0.0, tmp_path, 2_500, f"restore-{secrets.token_hex(4)}")
    assert restored.urls == 2_500
    assert restored.seconds > 0
    assert restored.changelog_mb > 0
    assert len(list((tmp_path / "frontier").glob("partition-*"))) == 8


@pytest.mark.usefixtures("frontier")
def test_every_link_is_timed_until_its_own_order_comes(config: Config, tmp_path: Path) -> None:
    transport = kafka_transport(config, tmp_path / "asking")
    taken = latency.measure(config, transport, [("a.example", "/1"), ("b.example", "/2")])
    assert len(taken) == 2
    assert min(taken) > 0
    orders = [one for partition in transport.ends("schedule") for one in transport.read("schedule", partition, 0)]
    assert sorted(one.key or b"" for one in orders) == [b"a.example", b"b.example"]
    transport.close()


def test_a_cluster_stands_beside_the_embedded_crawl_that_does_the_same() -> None:
    figures = figures_of(
        {
            "large": {
                "gregor": _alone(1000.0),
                "gregor+archive": _alone(800.0),
                "scrapy": _alone(40.0),
                "cluster": _cluster(600.0),
                "cluster+archive": _cluster(400.0),
            },
            "small": {"gregor": _alone(200.0), "scrapy": _alone(10.0), "cluster": _cluster(90.0)},
        }
    )
    assert (figures["pages_per_s"], figures["ratio_embedded"], figures["ratio_scrapy"]) == (600.0, 0.6, 15.0)
    assert figures["cpu_ms_per_page"] == {"frontier": 0.1, "broker": 0.5, "all": 0.6}
    assert figures["ratios"]["large"]["cluster+archive"] == {"ratio_scrapy": 10.0, "ratio_embedded": 0.5}
    assert figures["ratios"]["small"] == {"cluster": {"ratio_scrapy": 9.0, "ratio_embedded": 0.45}}


def _cluster(pages_per_s: float) -> ClusterRun:
    return ClusterRun(
        pages=100,
        pages_per_s=pages_per_s,
        links_per_s=1,
        requests_per_url=1.0,
        seconds_from_seed=1.0,
        cpu_ms_per_page={"frontier": 0.1, "broker": 0.5},
    )


def _alone(pages_per_s: float) -> Run:
    return Run(pages=100, pages_per_s=pages_per_s, links_per_s=1, cpu_ms_per_page=1.0, rss_mb=1.0, requests_per_url=1.0)
