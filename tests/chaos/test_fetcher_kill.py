"""A fetcher killed in the middle of its orders, on a real broker: one result for each, and what is finished is not asked for again."""

import secrets
import time
from collections import Counter
from pathlib import Path

from gregor.config import load
from gregor.demo.answer import HostedSite
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from gregor.url.canonical import Url, split
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.fetched import Fetched, decode_fetched
from schemas.pages import decode_facts
from schemas.schedule import FetchOrder, OrderUrl
from tests.chaos.processes import gregor, seeded, until
from tests.run.configured import write_config

KILLS = 3
MOST_URLS = 8


def orders_of(site: HostedSite) -> list[FetchOrder]:
    """Every URL of the site, one to eight in each order, so that they finish at different times."""
    urls = [url for url in map(split, sorted(site.urls())) if isinstance(url, Url)]
    servers = sorted({url.server for url in urls})
    orders: list[FetchOrder] = []
    for server in servers:
        paths = [url.path for url in urls if url.server == server]
        while paths:
            size = len(orders) % MOST_URLS + 1
            chosen = tuple(OrderUrl(path=path, scheme="http") for path in paths[:size])
            del paths[:size]
            orders.append(FetchOrder(server=server, lease=f"lease-{len(orders)}", urls=chosen, delay_ms=50))
    return orders


def results(transport: KafkaTransport) -> list[Fetched]:
    return [
        decode_fetched(record.value)
        for partition in transport.ends("fetched")
        for record in transport.read("fetched", partition, 0)
    ]


def test_each_order_has_one_result_and_finished_pages_are_not_fetched_again(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    random = seeded("fetcher storm")
    with serve(DemoSite(pages_per_host=40), latency_s=0.4) as server:
        name = f"fetcher-{secrets.token_hex(4)}"
        path = write_config(
            tmp_path / "gregor.toml", server, crawl=name, bootstrap=kafka.bootstrap, session_timeout_s=6.0
        )
        config = load(path, {}).config
        with gregor(path, "topics", "--create") as topics:
            assert topics.wait()[0] == 0
        transport = kafka_transport(config, tmp_path / "look")
        placement = placement_of(config)
        orders = orders_of(server.site)
        transport.append(
            [Output("schedule", placement.partition(one.server), one.server.encode(), encode(one)) for one in orders]
        )
        by_lease = {order.lease: order for order in orders}
        settled: dict[str, int] = {}
        with gregor(path, "worker", "fetcher", "--folder", tmp_path / "fetcher") as worker:
            for kill in range(KILLS):
                least = (kill + 1) * len(orders) // (KILLS + 2)
                until(lambda least=least: len(results(transport)) >= least, "some orders are done", 0.2, [worker])  # type: ignore[misc]
                time.sleep(random.uniform(0.0, 0.2))
                finished = [one.lease for one in results(transport)]
                asked = server.requested()
                settled |= {
                    (url := f"http://{by_lease[lease].server}{one.path}"): asked[url]
                    for lease in finished
                    for one in by_lease[lease].urls
                    if f"http://{by_lease[lease].server}{one.path}" not in settled
                }
                worker.restart()
            until(lambda: len(results(transport)) >= len(orders), "all orders are done", 0.5, [worker])
        found = results(transport)
        assert Counter(one.lease for one in found) == Counter(dict.fromkeys(by_lease, 1))
        for one in found:
            assert [result.path for result in one.results] == [url.path for url in by_lease[one.lease].urls]
        pages = Counter(
            decode_facts(record.header).url
            for partition in transport.ends("pages")
            for record in transport.read("pages", partition, 0)
        )
        assert pages == Counter(dict.fromkeys(server.site.urls(), 1))
        assert settled, "nothing was finished before the first kill"
        assert {url: server.requested()[url] for url in settled} == settled, "a finished page was asked for again"
