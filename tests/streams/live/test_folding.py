"""The Faust application on a real broker: what it folds is what a direct fold of the same records gives."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from gregor.config import Config
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.report.make import fold_views
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.control import STOP_KEY, Stop
from streams.live.app import Folding
from tests.chaos.processes import PATIENCE_S
from tests.operate.desk import PARTITIONS, on_kafka
from tests.outputs.folds.records import page
from tests.streams.live.records import UNREADABLE, crawled, unreadable

Desk = tuple[Config, KafkaTransport]
Scene = Callable[[Folding], Awaitable[None]]


@pytest.fixture
def desk(tmp_path: Path, kafka: KafkaCluster) -> Iterator[Desk]:
    config, transport = on_kafka(kafka, tmp_path)
    yield config, transport
    transport.close()


def folded(desk: Desk, scene: Scene | None = None) -> CrawlView:
    """What a views worker has once it has read everything; ``scene`` happens while it runs."""

    async def run() -> CrawlView:
        folding = Folding(desk[0], 0, lambda: None)
        await folding.start()
        try:
            if scene is not None:
                await scene(folding)
            await until_read(folding)
            return folding.view
        finally:
            await folding.stop()

    return asyncio.run(run())


async def until(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain until {what}"
        await asyncio.sleep(0.05)


async def until_read(folding: Folding) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while await folding.behind() != 0:
        assert time.monotonic() < give_up, "waited in vain until everything is folded"
        await asyncio.sleep(0.05)


def test_what_is_folded_is_what_a_direct_fold_gives_and_a_second_reading_gives_it_again(desk: Desk) -> None:
    _, transport = desk
    transport.append(list(crawled(300, PARTITIONS)))
    first = folded(desk)
    assert first.totals.requests > 200
    assert first.refusals.lines
    assert first == fold_views(transport)
    assert folded(desk) == first


def test_records_that_nobody_can_read_are_counted_and_stop_nothing(desk: Desk) -> None:
    _, transport = desk
    transport.append([*crawled(20, PARTITIONS, seed=2), *unreadable(PARTITIONS), *crawled(20, PARTITIONS, seed=3)])
    view = folded(desk)
    assert view.unreadable == 2 * len(UNREADABLE)
    assert view == fold_views(transport)
    assert view.totals.requests > 20


def test_aborted_records_do_not_count_and_those_of_an_open_transaction_only_once_it_is_committed(desk: Desk) -> None:
    config, _ = desk
    clients = Clients(config.names, config.kafka)
    producer = clients.producer("fetcher", "one")
    producer.init_transactions()

    def write(path: str, count: int) -> None:
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(config.names.topic("fetched"), encode(page(path)), partition=0)
        producer.flush()

    write("/committed", 3)
    producer.commit_transaction()
    write("/aborted", 50)
    producer.abort_transaction()
    write("/open", 7)
    seen: list[int] = []

    async def scene(folding: Folding) -> None:
        await until(lambda: folding.view.totals.requests >= 3, "what was committed is there")
        await until_read(folding)
        seen.append(folding.view.totals.requests)
        producer.commit_transaction()
        await until(lambda: folding.view.totals.requests > 3, "the open transaction's are there")

    view = folded(desk, scene)
    assert seen == [3]
    assert view.totals.requests == 10
    assert {one.url for one in view.deepest.all()} == {"https://a.test/committed", "https://a.test/open"}
    assert "/aborted" in paths_uncommitted(clients, config), "they are in the log, for whoever reads uncommitted"


def paths_uncommitted(clients: Clients, config: Config) -> str:
    reader = clients.reader("read_uncommitted")
    try:
        reader.assign([TopicPartition(config.names.topic("fetched"), 0, 0)])
        found = ""
        while "/open" not in found:
            found += "".join(str(one.value()) for one in reader.consume(100, 1.0) if one.error() is None)
        return found
    finally:
        reader.close()


def test_partitions_that_go_and_come_back_are_counted_once(desk: Desk) -> None:
    """Another member joins the group and leaves again, so that everything is assigned anew twice."""
    config, transport = desk
    transport.append(list(crawled(60, PARTITIONS, seed=4)))

    async def scene(folding: Folding) -> None:
        await until_read(folding)
        before = folding.view.copy()
        other = await asyncio.to_thread(_intruder, config)
        transport.append(list(crawled(60, PARTITIONS, seed=5)))
        await asyncio.to_thread(other.close)
        await until(lambda: folding.view.totals.requests > before.totals.requests, "it goes on")

    view = folded(desk, scene)
    assert view == fold_views(transport)


def group_of(config: Config) -> str:
    admin = Clients(config.names, config.kafka).admin()
    groups = [one.group_id for one in admin.list_consumer_groups().result().valid]
    [group] = [one for one in groups if one.startswith(config.names.group("views-"))]
    return str(group)


def _intruder(config: Config) -> Consumer:
    other = Consumer(
        {
            "bootstrap.servers": config.kafka.bootstrap,
            "group.id": group_of(config),
            "partition.assignment.strategy": "roundrobin",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    other.subscribe([config.names.topic(topic) for topic in ("fetched", "verdicts")])
    give_up = time.monotonic() + PATIENCE_S
    while not other.assignment():
        assert time.monotonic() < give_up, "waited in vain until the other member has partitions"
        other.poll(0.2)
    return other


def test_nothing_is_committed_so_that_nothing_holds_trimming_back(desk: Desk) -> None:
    config, transport = desk
    transport.append(list(crawled(30, PARTITIONS)))
    groups: list[str] = []

    async def scene(folding: Folding) -> None:
        await until_read(folding)
        groups.append(await asyncio.to_thread(group_of, config))

    folded(desk, scene)
    admin = Clients(config.names, config.kafka).admin()
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(groups[0])])
    assert asked[groups[0]].result().topic_partitions == []


def test_a_stop_is_heeded_unless_it_was_meant_for_others(desk: Desk) -> None:
    config, transport = desk
    transport.append([Output("control", 0, STOP_KEY, encode(Stop(by="somebody", since_ms=1)))])

    async def run() -> list[str]:
        heard: list[str] = []
        folding = Folding(config, transport.ends("control")[0][1], lambda: heard.append("stop"))
        await folding.start()
        await until_read(folding)
        before = list(heard)
        transport.append([Output("control", 0, STOP_KEY, encode(Stop(by="somebody", since_ms=2)))])
        await until(lambda: bool(heard), "the stop is heard")
        await folding.stop()
        return before

    assert asyncio.run(run()) == []
