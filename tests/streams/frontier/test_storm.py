"""Two frontier processes and a scripted fetcher on a real broker, killed at random moments; the topics are the judges."""

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.run.progress import Progress, is_done, look
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.discovered import Discovered
from schemas.fetched import Fetched, decode_fetched
from schemas.schedule import FetchOrder, decode_order
from streams.frontier.stage import SPEC as FRONTIER
from tests.chaos.processes import Running, gregor, running, seeded, until
from tests.streams.frontier import scripted_fetcher as web

PARTITIONS = 4
DELAY_MS = 200
KILLS = 6


LIMIT = 30


def write_config(path: Path, kafka: KafkaCluster, crawl: str, fetch: str) -> Config:
    path.write_text(
        f"""
        [crawl]
        name = "storm-{secrets.token_hex(4)}"
        scope = "any"
        {crawl}
        [fetch]
        delay_s = {DELAY_MS / 1000}
        delay_factor = 0.0
        urls_per_order = 1
        {fetch}
        [partitions]
        partitions = {PARTITIONS}
        [kafka]
        bootstrap = "{kafka.bootstrap}"
        session_timeout_s = 6.0
        """
    )
    return load(path, {}).config


class Storm:
    """The crawl, and what its topics say."""

    def __init__(self, transport: KafkaTransport, members: dict[str, Running]) -> None:
        self.transport = transport
        self.members = members
        self._before: Progress | None = None

    def looked(self) -> Progress:
        return look(self.transport, [FRONTIER, web.SPEC], PARTITIONS)

    def confirmed(self) -> int:
        return self.looked().counters.get("confirmed", 0)

    def done(self) -> bool:
        now = self.looked()
        before, self._before = self._before, now
        for name, member in self.members.items():
            assert member.ended is None, f"{name} ended: {member.wait()}"
        return before is not None and now.counters.get("confirmed", 0) > 0 and is_done(before, now)

    def orders(self) -> Iterator[FetchOrder]:
        for partition in range(PARTITIONS):
            for record in self.transport.read("schedule", partition, 0):
                yield decode_order(record.value)

    def fetched(self) -> Iterator[Fetched]:
        for partition in range(PARTITIONS):
            for record in self.transport.read("fetched", partition, 0):
                yield decode_fetched(record.value)


@contextmanager
def storm(folder: Path, kafka: KafkaCluster, crawl: str = "", fetch: str = "") -> Iterator[Storm]:
    """A crawl of the made-up web by two frontier processes and a fetcher."""
    path = folder / "gregor.toml"
    config = write_config(path, kafka, crawl, fetch)
    with gregor(path, "topics", "--create") as topics:
        code, printed = topics.wait()
        assert code == 0, printed
    transport = kafka_transport(config, folder / "look")
    seed = Discovered(server=web.server_name(0), paths=(web.path_of(0),), scheme="http", kind="seed", found_ms=now_ms())
    where = placement_of(config).partition(seed.server)
    transport.append([Output("discovered", where, seed.server.encode(), encode(seed))])
    script = ("-m", "tests.streams.frontier.scripted_fetcher", path, folder / "fetcher")
    with ExitStack() as stack:
        members = {
            "one": stack.enter_context(gregor(path, "worker", "frontier", "--folder", folder / "one")),
            "two": stack.enter_context(gregor(path, "worker", "frontier", "--folder", folder / "two")),
            "fetcher": stack.enter_context(running(*script)),
        }
        yield Storm(transport, members)


@pytest.mark.timeout(600)
def test_kills_at_random_moments_lose_no_url_order_none_twice_and_keep_every_delay(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    moments = seeded("frontier storm")
    with storm(tmp_path, kafka) as crawl:
        for number in range(KILLS):
            least = number * len(web.urls()) // (2 * KILLS)
            until(lambda least=least: crawl.confirmed() > least, "the crawl goes on")  # type: ignore[misc]
            time.sleep(moments.uniform(0.0, 1.0))
            crawl.members[moments.choice(["one", "two", "two", "fetcher"])].restart()
        until(crawl.done, "the crawl is done")
        judge(crawl)


@pytest.mark.timeout(600)
def test_two_processes_keep_the_limit_of_pages_but_for_what_was_in_flight(tmp_path: Path, kafka: KafkaCluster) -> None:
    with storm(tmp_path, kafka, crawl=f"max_pages = {LIMIT}", fetch="orders_in_flight = 1") as crawl:
        until(lambda: crawl.confirmed() > LIMIT // 3, "the crawl goes on")
        crawl.members["two"].restart()
        until(crawl.done, "the crawl is done")
        totals = crawl.looked().counters
        assert LIMIT <= totals["confirmed"] <= LIMIT + PARTITIONS
        assert totals["stopped"] == PARTITIONS
        assert totals["queued"] > 0


def judge(storm: Storm) -> None:
    expected = {url for url in web.urls() if not url[1].startswith(web.FORBIDDEN)}
    orders = [order for order in storm.orders() if order.kind == "pages"]
    ordered = Counter((order.server, url.path) for order in orders for url in order.urls)
    assert ordered == Counter(dict.fromkeys(expected, 1)), "each URL that robots.txt allows was ordered once"
    leases = Counter(order.lease for order in storm.orders())
    assert set(leases.values()) == {1}, "no lease was given twice"
    answers = list(storm.fetched())
    assert Counter(answer.lease for answer in answers) == leases, "each order was answered once"
    finished = {answer.lease: answer for answer in answers}
    by_server: dict[str, list[FetchOrder]] = defaultdict(list)
    for order in storm.orders():
        by_server[order.server].append(order)
    for server, made in by_server.items():
        assert made[0].kind == "robots", f"{server}: robots.txt first"
        for before, order in pairwise(made):
            answer = finished[before.lease]
            assert order.created_ms >= answer.finished_ms, f"{server}: two orders in flight"
            started = answer.results[0].started_ms
            assert finished[order.lease].results[0].started_ms - started >= DELAY_MS, f"{server}: delay not kept"
    totals = storm.looked().counters
    assert totals["admitted"] == len(web.urls())
    assert totals["confirmed"] == len(expected)
    assert totals["dropped_robots"] == len(web.urls()) - len(expected)
    assert totals["queued"] == totals["leased"] == 0
