"""A crawl that was left alone passes the audit; each kind of damage that is done to a copy of it is found, and nothing else."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from rocksdict import Rdict

from gregor.audit.finding import Finding
from gregor.audit.run import Places, audit
from gregor.config import Config, load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.pipeline.embedded import EmbeddedCrawl
from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.store import META, StateReader, StateWriter, Store
from gregor.transport.embedded.layout import (
    LOG,
    PASSING,
    checkpoint_key,
    chunk_key,
    chunks_end,
    pack_chunks,
    state_prefix,
)
from gregor.transport.embedded.onlooker import EmbeddedOnlooker
from gregor.transport.port import Output, Record, TopicPartition
from schemas.changelog import Checkpoint
from schemas.codec import encode
from schemas.fetched import decode_fetched
from schemas.pages import decode_facts
from schemas.schedule import decode_order
from streams.frontier.families import QUEUE
from tests.pipeline.configured import write_config

PARTITIONS = 4
DELAY_MS = 20


class Crawled:
    """The folder of a crawl that is over, to be damaged."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config

    def audit(self) -> dict[str, Finding]:
        """The invariants that do not hold."""
        log = EmbeddedOnlooker(self.folder / "state")
        try:
            found = audit(log, self.config, PARTITIONS, Places(archive=self.folder / "archive"), tolerance_ms=2)
        finally:
            log.close()
        assert all(one.checked for one in found if one.name != "state-changelog"), (
            "every check found something to look at"
        )
        return {one.name: one for one in found if not one.holds}

    def records(self, topic: str) -> list[Record]:
        log = EmbeddedOnlooker(self.folder / "state")
        try:
            return [record for partition in range(PARTITIONS) for record in log.read(topic, partition, 0)]
        finally:
            log.close()

    def change(self, record: Record, value: bytes, header: bytes | None = None) -> None:
        """Another record in the place of this one."""
        everything = [one for one in self.records(record.topic) if one.partition == record.partition]
        outputs = [
            Output(one.topic, one.partition, one.key or b"", value, header or one.header)
            if one.offset == record.offset
            else Output(one.topic, one.partition, one.key or b"", one.value or b"", one.header)
            for one in everything
        ]
        at = TopicPartition(record.topic, record.partition)
        family = PASSING if record.topic in ("schedule", "pages") else LOG
        with self._database() as (reader, writer):
            for key, _ in list(reader.scan(family, chunk_key(at, 0), chunks_end(at))):
                writer.delete(family, key)
            end = everything[0].offset
            for count, _, chunk in pack_chunks(outputs, 1):
                end += count
                writer.put(family, chunk_key(at, end - 1), chunk)

    def set_checkpoint(self, partition: int, change: Callable[[Checkpoint], Checkpoint]) -> None:
        key = checkpoint_key("frontier", partition)
        with self._database() as (reader, writer):
            found = msgspec.json.decode(reader.get(META, key) or b"", type=Checkpoint)
            writer.put(META, key, encode(change(found)))

    def put_state(self, partition: int, family: str, key: bytes, value: bytes) -> None:
        with self._database() as (_, writer):
            writer.put(family, state_prefix("frontier", partition) + key, value)

    @contextmanager
    def _database(self) -> Iterator[tuple[StateReader, StateWriter]]:
        """The database as RocksDB alone sees it."""
        path = self.folder / "state" / "db"
        families = [name for name in Rdict.list_cf(str(path)) if name not in ("default", META)]
        store = Store(path, families, SharedMemory(StoreOptions()))
        batch = store.begin()
        yield store.view(), store.writer(batch)
        store.write(batch)
        store.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("audited")
    with serve(DemoSite(hosts=2, pages_per_host=8)) as server:
        config = load(write_config(folder / "gregor.toml", server), {}).config
        config = replace(config, fetch=replace(config.fetch, delay_s=DELAY_MS / 1000))
        job = EmbeddedCrawl(config, folder / "crawl")
        job.run()
        job.close()
    return Crawled(folder / "crawl", config)


@pytest.fixture
def crawled(original: Crawled, tmp_path: Path) -> Crawled:
    shutil.copytree(original.folder, tmp_path / "copy")
    return Crawled(tmp_path / "copy", original.config)


def test_a_crawl_that_was_left_alone_keeps_every_promise(crawled: Crawled) -> None:
    assert crawled.audit() == {}


def test_an_order_that_is_in_no_topic_is_found_to_be_lost(crawled: Crawled) -> None:
    order = crawled.records("schedule")[3]
    lease = decode_order(order.value).lease
    result = next(one for one in crawled.records("fetched") if decode_fetched(one.value).lease == lease)
    crawled.change(order, b"gone")
    crawled.change(result, b"gone")
    broken = crawled.audit()
    assert f"order {lease} is lost: it is in no topic" in broken["orders-once"].offenders
    assert broken["counters"].offenders, "its URLs are missing in the sums"


def test_an_order_that_was_passed_without_a_result_is_found(crawled: Crawled) -> None:
    result = crawled.records("fetched")[2]
    lease = decode_fetched(result.value).lease
    crawled.change(result, b"gone")
    broken = crawled.audit()
    assert any(f"order {lease} " in one and "without a result" in one for one in broken["orders-answered"].offenders)
    assert "orders-once" not in broken


def test_an_order_that_stands_there_twice_is_found(crawled: Crawled) -> None:
    first, second = crawled.records("schedule")[:2]
    crawled.change(second, first.value or b"")
    lease = decode_order(first.value).lease
    broken = crawled.audit()
    assert any(f"order {lease} " in one and "2 times" in one for one in broken["orders-once"].offenders)


def test_a_url_that_was_ordered_again_without_reason_is_found(crawled: Crawled) -> None:
    pages = [one for one in crawled.records("schedule") if decode_order(one.value).kind == "pages"]
    one, other = next((a, b) for a in pages for b in pages if a.offset < b.offset and a.partition == b.partition)
    url = decode_order(one.value).urls[0]
    changed = decode_order(other.value)
    crawled.change(
        other, encode(replace(changed, server=decode_order(one.value).server, urls=(url, *changed.urls[1:])))
    )
    assert any(url.path in offender for offender in crawled.audit()["visits-once"].offenders)


def test_a_request_before_its_time_is_found(crawled: Crawled) -> None:
    record, fetched = next(
        (record, found)
        for record in crawled.records("fetched")
        for found in [decode_fetched(record.value)]
        if len([one for one in found.results if one.started_ms]) > 1
    )
    first, second, *rest = fetched.results
    early = replace(second, started_ms=first.started_ms + DELAY_MS // 2)
    crawled.change(record, encode(replace(fetched, results=(first, early, *rest))))
    broken = crawled.audit()
    assert broken.keys() == {"politeness"}
    assert fetched.server in broken["politeness"].offenders[0]
    assert f"{DELAY_MS // 2} ms after" in broken["politeness"].offenders[0]


def test_a_state_that_was_changed_is_found(crawled: Crawled) -> None:
    crawled.put_state(1, QUEUE, b"example.com\0" + b"place of 11", b"value")
    broken = crawled.audit()
    assert broken.keys() == {"state-counts"}
    assert broken["state-counts"].offenders == ["partition 1, URLs queued: expected 0, found 1"]


def test_a_page_that_is_in_the_log_twice_is_found(crawled: Crawled) -> None:
    first, second = [one for one in crawled.records("pages") if decode_facts(one.header).kind == "pages"][:2]
    crawled.change(second, first.value or b"", first.header)
    broken = crawled.audit()
    assert any("in pages 2 times" in one for one in broken["responses-once"].offenders)


def test_an_archive_file_that_is_torn_cut_or_gone_is_found(crawled: Crawled) -> None:
    files = sorted((crawled.folder / "archive").glob("*.warc.gz"))
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[: len(whole) // 2] + b"\0" * 50 + whole[len(whole) // 2 + 50 :])
    broken = crawled.audit()
    assert any("is torn" in one for one in broken["archive-files"].offenders)
    assert broken["archived-once"].failed, "its pages are not in the archive"
    files[0].write_bytes(whole[:-10])
    assert any("that are committed" in one for one in crawled.audit()["archive-files"].offenders)
    files[0].unlink()
    assert any("is not there" in one for one in crawled.audit()["archive-files"].offenders)


def test_a_counter_that_is_not_what_the_topics_hold_is_found(crawled: Crawled) -> None:
    crawled.set_checkpoint(2, lambda one: replace(one, counters={**one.counters, "duplicates": 10**6}))
    assert crawled.audit().keys() == {"counters"}
