"""How fast one partition of the frontier admits, dispatches and confirms when it already holds a large crawl.

Run: python -m bench.frontier [--servers 1000000] [--urls 10000000] [--quick] [--json]

A first process fills a store; a second one opens it, which is timed, and then

    admit             records of ten new URLs of one server each, decoded from JSON, to the commit
    dispatch+confirm  orders encoded as JSON, results decoded from JSON, to the commit; the fetcher's own work is not timed
    idle tick         a tick while all that may be in flight is

Both is done twice, with servers placed by hash and by a coordinator (`sites_`: every server is a site that this partition owns, and each
record's is looked up); `sites_admit_ratio` and `sites_release_confirm_ratio` compare the two.

A commit is one WriteBatch, as on the embedded transport. Rates are per second of processor time of ALL threads, RocksDB's flushes and
compactions among them, so that a busy machine does not change them much; rates by the wall clock stand beside them. For comparison the
bare cost of putting as many keys into RocksDB.
"""

import argparse
import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import psutil
from xxhash import xxh3_128_hexdigest

from gregor.config import Config
from gregor.config.sections import CrawlSection, FetchSection, PartitionsSection, RobotsSection
from gregor.runtime.loops.contract import Received
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Store
from gregor.runtime.transport.port import Record
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRow, SiteRows, decode_discovered, decode_discovery
from schemas.fetched import Fetched, FetchResult, Timings, decode_fetched
from schemas.schedule import FetchOrder
from streams.frontier.partition import PartitionFrontier
from streams.frontier.storage.deltas import STATE
from streams.frontier.storage.families import FAMILIES

PATHS = 10
RECORDS = 10_000
"""Of one commit: 100,000 URLs, as a checkpoint has them."""
T0 = 1_700_000_000_000
TICKS = 20_000
PLACEMENTS = ("hash", "sites")
GRANTED = 50_000
"""Sites of one commit."""


def configured(placement: str) -> Config:
    return Config(
        crawl=CrawlSection(scope="any"),
        fetch=FetchSection(delay_s=0.0, delay_factor=0.0, orders_in_flight=10_000),
        robots=RobotsSection(obey=False),
        partitions=PartitionsSection(partitions=1, placement="sites" if placement == "sites" else "hash"),
    )


class Bench:
    """One partition on a store of its own."""

    def __init__(self, folder: Path, placement: str) -> None:
        self.store = Store(folder, FAMILIES, SharedMemory(StoreOptions()))
        self.frontier = PartitionFrontier(0, self.store.view(), configured(placement), {})
        self._by_sites = placement == "sites"

    def commit(self) -> None:
        deltas = [mutation.delta for mutation in self.frontier.mutations()]
        batch = self.store.begin()
        STATE.apply(self.store.view(), deltas, self.store.writer(batch))
        self.store.write(batch)
        self.frontier.committed()

    def admit(self, records: list[bytes], now: int, watch: "Watch") -> None:
        if self._by_sites:
            self._take_in([Record("discovered", 0, 0, None, record, None, now) for record in records], now, watch)
            return
        with watch:
            self.frontier.discover([decode_discovered(record) for record in records], now)
            self.commit()

    def _take_in(self, records: list[Record], now: int, watch: "Watch") -> None:
        with watch:
            self.frontier.take_in([Received(record, decode_discovery(record.value)) for record in records], now)
            self.commit()

    def grant(self, servers: int) -> None:
        """All of them."""
        for first in range(0, servers, GRANTED):
            rows = tuple(SiteRow(site=_name(one), slot=0) for one in range(first, min(servers, first + GRANTED)))
            self._take_in([Record("discovered", 0, 0, None, encode(SiteRows(sites=rows)), None, T0)], T0, Watch())

    def dispatch_and_confirm(self, now: int, watch: "Watch") -> int:
        """One round: orders out, their results in."""
        with watch:
            orders = self.frontier.dispatch(now)
            for order in orders:
                encode(order)
            self.commit()
        answers = [encode(_answer(order)) for order in orders]
        with watch:
            for answer in answers:
                self.frontier.confirm(decode_fetched(answer), now)
            self.commit()
        return sum(len(order.urls) for order in orders)


class Watch:
    """Adds up what the blocks under it take."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall_s += time.perf_counter() - self._began[0]
        self.cpu_s += time.process_time() - self._began[1]


def _records(servers: int, first: int, count: int) -> Iterator[bytes]:
    """Records of new URLs, server after server round and round in an order that is not theirs in the store."""
    for number in range(first, first + count):
        server = number * 7_368_787 % servers
        paths = tuple(f"/section-{number % 97}/article-{number * PATHS + part:x}.html" for part in range(PATHS))
        yield encode(
            Discovered(
                server=_name(server),
                paths=paths,
                depth=2 + number // servers % 4,
                hops=2,
                referrer="https://www.example.org/somewhere/else.html",
            )
        )


def _name(server: int) -> str:
    return f"www.site-{server:x}.example"


def _answer(order: FetchOrder) -> Fetched:
    results = tuple(
        FetchResult(
            path=url.path,
            scheme=url.scheme,
            outcome="ok",
            status=200,
            started_ms=order.created_ms + 1,
            timings=Timings(first_byte=40, total=60),
            address="192.0.2.1",
            wire_bytes=8_000,
            body_bytes=30_000,
            digest=xxh3_128_hexdigest(url.path.encode()),
            content_type="text/html",
        )
        for url in order.urls
    )
    return Fetched(
        server=order.server,
        lease=order.lease,
        results=results,
        started_ms=order.created_ms + 1,
        finished_ms=order.created_ms + 61,
    )


def fill(folder: Path, servers: int, urls: int, placement: str) -> None:
    bench = Bench(folder, placement)
    if placement == "sites":
        bench.grant(servers)
    records = urls // PATHS
    for first in range(0, records, RECORDS):
        bench.admit(list(_records(servers, first, min(RECORDS, records - first))), T0 + first, Watch())
    bench.store.close()


def straight(folder: Path, keys: int) -> Watch:
    """Putting as many keys and values of the queue's size, and nothing else."""
    store = Store(folder, FAMILIES, SharedMemory(StoreOptions()))
    watch = Watch()
    with watch:
        for first in range(0, keys, RECORDS * PATHS):
            batch = store.begin()
            writer = store.writer(batch)
            for number in range(first, first + RECORDS * PATHS):
                name = number * 7_368_787 % 1_000_003
                writer.put("queue", b"www.site-%x.example\0\0\2\x64%8d" % (name, number), b"x" * 50)
            store.write(batch)
    store.close()
    return watch


def measure(folder: Path, servers: int, urls: int, rounds: int, placement: str) -> dict[str, float]:
    start, admit, confirm, idle = Watch(), Watch(), Watch(), Watch()
    with start:
        bench = Bench(folder, placement)
    process = psutil.Process()
    rss = [process.memory_info().rss]
    for turn in range(rounds):
        records = list(_records(servers, urls // PATHS + turn * RECORDS, RECORDS))
        bench.admit(records, T0 + 1_000_000_000 + turn, admit)
        rss.append(process.memory_info().rss)
    confirmed = 0
    for turn in range(rounds):
        confirmed += bench.dispatch_and_confirm(T0 + 1_100_000_000 + turn, confirm)
        rss.append(process.memory_info().rss)
    now = T0 + 1_200_000_000
    bench.frontier.dispatch(now)
    bench.commit()
    with idle:
        for _ in range(TICKS):
            assert not bench.frontier.dispatch(now + 1)
    bench.store.close()
    admitted = rounds * RECORDS * PATHS
    bare = straight(folder.parent / "straight", admitted)
    return {
        "servers": servers,
        "urls": urls,
        "admit_per_s": round(admitted / admit.cpu_s),
        "release_confirm_per_s": round(confirmed / confirm.cpu_s),
        "idle_tick_us": round(idle.cpu_s / TICKS * 1e6, 2),
        "start_s": round(start.cpu_s, 2),
        "rss_mb": round(max(rss) / 1024 / 1024),
        "bare_puts_per_s": round(admitted / bare.cpu_s),
        "admit_wall_per_s": round(admitted / admit.wall_s),
        "release_confirm_wall_per_s": round(confirmed / confirm.wall_s),
        "start_wall_s": round(start.wall_s, 2),
    }


def filled_and_measured(servers: int, urls: int, rounds: int, placement: str) -> dict[str, float]:
    """Filled by another process, so that nothing is in memory."""
    folder = Path(tempfile.mkdtemp(prefix="gregor-bench-"))
    try:
        command = [sys.executable, __file__, "--servers", str(servers), "--urls", str(urls), "--placement", placement]
        subprocess.run([*command, "--fill", str(folder / "state")], check=True)
        return measure(folder / "state", servers, urls, rounds, placement)
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int)
    parser.add_argument("--urls", type=int)
    parser.add_argument("--rounds", type=int, default=5, help="commits of 100,000 URLs that are timed")
    parser.add_argument("--quick", action="store_true", help="100,000 servers and 1,000,000 URLs")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--placement", choices=PLACEMENTS, help="one of the two alone")
    options = parser.parse_args()
    servers = options.servers or (100_000 if options.quick else 1_000_000)
    urls = options.urls or (1_000_000 if options.quick else 10_000_000)
    if options.fill is not None:
        fill(options.fill, servers, urls, options.placement)
        return
    # As the pipeline sets it for the frontier.
    gc.set_threshold(50_000, 20, 100)
    began = time.perf_counter()
    found: dict[str, float] = {}
    for placement in [options.placement] if options.placement else PLACEMENTS:
        measured = filled_and_measured(servers, urls, options.rounds, placement)
        found |= measured if placement == "hash" else {f"sites_{name}": value for name, value in measured.items()}
    if not options.placement:
        for name in ("admit", "release_confirm"):
            found[f"sites_{name}_ratio"] = round(found[f"sites_{name}_per_s"] / found[f"{name}_per_s"], 3)
    if options.json:
        print(json.dumps(found))
        return
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, rocksdict {version('rocksdict')}"
    )
    print(f"{servers:,} servers, {urls:,} URLs queued; {time.perf_counter() - began:.0f} s")
    for name, value in found.items():
        if not name.endswith(("servers", "urls")):
            print(f"{name:<34}{value:>14,}")
    if "admit_per_s" in found:
        print(f"{'admit / bare puts':<34}{found['admit_per_s'] / found['bare_puts_per_s']:>14.2f}")


if __name__ == "__main__":
    main()
