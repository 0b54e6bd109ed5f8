"""A crawl that was left alone passes the audit; each kind of damage that is done to a copy of it is found, and nothing else."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from msgspec.structs import replace
from rocksdict import Rdict

from gregor.config import Config, load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.run import Places, audit
from gregor.run.embedded import EmbeddedCrawl
from gregor.run.placement import placement_of
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import META, StateReader, StateWriter, Store
from gregor.runtime.transport.embedded.layout import (
    LOG,
    PASSING,
    checkpoint_key,
    chunk_key,
    chunks_end,
    pack_chunks,
    state_prefix,
)
from gregor.runtime.transport.embedded.read_only import ReadOnlyLog
from gregor.runtime.transport.port import Output, Record, TopicPartition
from schemas.changelog import Checkpoint
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRows, decode_discovery
from schemas.fetched import decode_fetched
from schemas.pages import decode_facts
from schemas.schedule import decode_order
from schemas.sites import Site, decode_site
from streams.frontier.sites.site_record import KNOWN, SiteRecord, encode_site
from streams.frontier.storage.families import QUEUE, SERVERS, SITES, WAITING
from streams.frontier.storage.server import ServerRecord, encode_server
from tests.run.configured import write_config

PARTITIONS = 4
DELAY_MS = 20


class Crawled:
    """The folder of a crawl that is over, to be damaged."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config

    def audit(self) -> dict[str, Finding]:
        """The invariants that do not hold."""
        log = ReadOnlyLog(self.folder / "state")
        try:
            found = audit(log, self.config, PARTITIONS, Places(archive=self.folder / "archive"), tolerance_ms=2)
        finally:
            log.close()
        assert all(one.checked for one in found if one.name != "state-changelog"), (
            "every check found something to look at"
        )
        return {one.name: one for one in found if not one.holds}

    def records(self, topic: str) -> list[Record]:
        log = ReadOnlyLog(self.folder / "state")
        try:
            return [record for partition in log.ends(topic) for record in log.read(topic, partition, 0)]
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


def crawl(folder: Path, hosts: int, placement: Literal["hash", "sites"]) -> Crawled:
    with serve(DemoSite(hosts=hosts, pages_per_host=8)) as server:
        config = load(write_config(folder / "gregor.toml", server), {}).config
        config = replace(
            config,
            fetch=replace(config.fetch, delay_s=DELAY_MS / 1000),
            partitions=replace(config.partitions, placement=placement),
        )
        job = EmbeddedCrawl(config, folder / "crawl")
        job.run()
        job.close()
    return Crawled(folder / "crawl", config)


def copied(original: Crawled, folder: Path) -> Crawled:
    shutil.copytree(original.folder, folder / "copy")
    return Crawled(folder / "copy", original.config)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl(tmp_path_factory.mktemp("audited"), 2, "hash")


@pytest.fixture(scope="module")
def original_placed(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl(tmp_path_factory.mktemp("placed"), 6, "sites")


@pytest.fixture
def crawled(original: Crawled, tmp_path: Path) -> Crawled:
    return copied(original, tmp_path)


@pytest.fixture
def placed(original_placed: Crawled, tmp_path: Path) -> Crawled:
    """A crawl whose coordinator placed six sites in four slots."""
    return copied(original_placed, tmp_path)


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


def moved_site(placed: Crawled) -> Site:
    """One whose slot is not its home."""
    home = placement_of(placed.config).partition
    rows = [decode_site(record.value) for record in placed.records("sites")]
    return next(row for row in rows if row.slot != home(row.site))


def rows_of(placed: Crawled, site: str) -> dict[int, tuple[Record, SiteRows]]:
    """By partition, the record that tells of the site."""
    found = {}
    for record in placed.records("discovered"):
        rows = decode_discovery(record.value)
        if isinstance(rows, SiteRows) and any(row.site == site for row in rows.sites):
            found[record.partition] = record, rows
    return found


def test_a_crawl_with_sites_that_was_left_alone_keeps_every_promise(placed: Crawled) -> None:
    assert placed.audit() == {}


def test_a_second_grant_of_a_site_is_found(placed: Crawled) -> None:
    site = moved_site(placed)
    home = placement_of(placed.config).partition(site.site)
    record, rows = rows_of(placed, site.site)[home]
    forged = tuple(replace(row, slot=home) if row.site == site.site else row for row in rows.sites)
    placed.change(record, encode(SiteRows(sites=forged)))
    broken = placed.audit()
    assert broken.keys() == {"sites-once"}
    assert f"{site.site} was granted to partitions {sorted((home, site.slot))}" in broken["sites-once"].offenders


def test_a_grant_that_is_lost_is_found(placed: Crawled) -> None:
    site = moved_site(placed)
    record, rows = rows_of(placed, site.site)[site.slot]
    placed.change(record, encode(SiteRows(sites=tuple(row for row in rows.sites if row.site != site.site))))
    broken = placed.audit()
    assert broken.keys() == {"sites-once", "sites-in-slot"}
    assert f"{site.site} has slot {site.slot}, and grants for none" in broken["sites-once"].offenders
    assert f"partition {site.slot} has URLs of {site.site}; its site has no slot" in broken["sites-in-slot"].offenders


def test_a_pointer_that_is_lost_is_found(placed: Crawled) -> None:
    site = moved_site(placed)
    home = placement_of(placed.config).partition(site.site)
    record, rows = rows_of(placed, site.site)[home]
    placed.change(record, encode(SiteRows(sites=tuple(row for row in rows.sites if row.site != site.site))))
    broken = placed.audit()
    assert broken.keys() == {"sites-once"}
    assert broken["sites-once"].offenders == [f"{site.site} has slot {site.slot}, and no pointer at its home {home}"]


def test_a_table_that_says_something_else_is_found(placed: Crawled) -> None:
    record = placed.records("sites")[0]
    row = decode_site(record.value)
    other = (row.slot + 1) % PARTITIONS
    placed.change(record, encode(replace(row, slot=other)))
    broken = placed.audit()
    assert broken.keys() == {"sites-once"}
    assert f"{row.site} has slot {other}, and grants for [{row.slot}]" in broken["sites-once"].offenders
    placed.change(record, b"{")
    assert any("is not in topic sites" in one for one in placed.audit()["sites-once"].offenders)


def test_urls_outside_the_slot_of_their_site_are_found(placed: Crawled) -> None:
    site = moved_site(placed)
    other = (site.slot + 1) % PARTITIONS
    placed.put_state(other, SERVERS, site.site.encode(), encode_server(ServerRecord(admitted=1)))
    broken = placed.audit()
    assert broken.keys() == {"sites-in-slot"}
    assert broken["sites-in-slot"].offenders == [f"partition {other} has URLs of {site.site}; the slot is {site.slot}"]


def test_results_that_came_to_another_partition_than_the_order_of_their_lease_are_found(placed: Crawled) -> None:
    record = placed.records("fetched")[0]
    fetched = decode_fetched(record.value)
    partition, _, number = fetched.lease.partition("-")
    elsewhere = f"{(int(partition) + 1) % PARTITIONS}-{number}"
    placed.change(record, encode(replace(fetched, lease=elsewhere)))
    broken = placed.audit()
    assert any(f"its results came to partition {partition}" in one for one in broken["results-match"].offenders)


def test_links_that_were_forwarded_to_nowhere_are_found(placed: Crawled) -> None:
    def lose(one: Checkpoint) -> Checkpoint:
        counts = {"forwarded": one.counters.get("forwarded", 0) + 3, "duplicates": one.counters["duplicates"] - 3}
        return replace(one, counters={**one.counters, **counts})

    placed.set_checkpoint(1, lose)
    broken = placed.audit()
    assert broken.keys() == {"links-waiting"}
    assert "links forwarded: expected" in broken["links-waiting"].offenders[0]


def test_links_that_wait_without_being_counted_are_found(placed: Crawled) -> None:
    link = Discovered(server="a.example", paths=("/a", "/b"))
    placed.put_state(1, WAITING, b"a.example\0" + bytes(8), encode(link))
    broken = placed.audit()
    assert broken.keys() == {"state-counts"}
    assert broken["state-counts"].offenders == ["partition 1, URLs waiting: expected 0, found 2"]


def test_a_site_that_waits_although_nobody_told_the_coordinator_is_found(placed: Crawled) -> None:
    placed.put_state(1, SITES, KNOWN + b"a.example", encode_site(SiteRecord()))
    broken = placed.audit()
    assert broken.keys() == {"state-counts", "links-waiting"}
    assert broken["links-waiting"].offenders == [
        "a.example waits in partition 1, and the coordinator was never told of it"
    ]
