"""A fetcher killed between the requests of its orders, from the servers' own logs: none is asked again too early."""

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.fetched import decode_fetched
from schemas.schedule import FetchOrder, OrderUrl
from tests.chaos.polite_fetcher import PoliteFetcher, opened
from tests.chaos.processes import seeded
from tests.workers.fetcher.fetching import PLACEMENT
from tests.workers.fetcher.logging_servers import LoggingServers

HOSTS = 40
KILLS = 3
URLS = 4


def test_no_server_is_asked_too_early_when_the_fetcher_is_killed_and_another_takes_over(tmp_path: Path) -> None:
    random = seeded("polite fetcher")
    # Longer than a fetcher that is loaded already takes from its start to its first request, or nothing would be tested.
    delays_ms = {f"127.0.7.{1 + number}": 700 + 10 * number for number in range(HOSTS)}
    servers = LoggingServers(list(delays_ms))
    orders = {
        address: FetchOrder(
            server=f"{address}:{servers.port}",
            lease=address,
            urls=tuple(OrderUrl(path=f"/{number}", scheme="http") for number in range(URLS)),
            delay_ms=delay,
        )
        for address, delay in delays_ms.items()
    }
    transport = opened(tmp_path)
    transport.append(
        [
            Output("schedule", PLACEMENT.partition(one.server), one.server.encode(), encode(one))
            for one in orders.values()
        ]
    )
    transport.close()

    fetcher = PoliteFetcher(tmp_path)
    fetcher.begin()
    for _ in range(KILLS):
        following = PoliteFetcher(tmp_path)
        time.sleep(random.uniform(1.0, 2.0))
        fetcher.kill()
        fetcher = following
        fetcher.begin()
    fetcher.wait()

    log = servers.log()
    assert sum(map(len, log.values())) > HOSTS * URLS, "no kill came in the middle of an order"
    early = {
        address: round(delays_ms[address] - 1000 * (after - before), 1)
        for address, times in log.items()
        for before, after in pairwise(times)
        if 1000 * (after - before) < delays_ms[address]
    }
    assert early == {}
    transport = opened(tmp_path)
    leases = Counter(
        decode_fetched(record.value).lease
        for partition in transport.ends("fetched")
        for record in transport.read("fetched", partition, 0)
    )
    transport.close()
    assert leases == Counter(dict.fromkeys(orders, 1))
