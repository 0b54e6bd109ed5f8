"""One partition of the frontier on a real store with its changelog as a list: committed, aborted, restarted and restored at will."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gregor.config import Config
from gregor.config.frontier import FrontierSection, RetrySection, RevisitSection, TrapsSection
from gregor.config.sections import (
    CrawlSection,
    FetchSection,
    PartitionsSection,
    RobotsSection,
    ServerRule,
    StateSection,
    UrlSection,
)
from gregor.config.sites import SitesSection
from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader, Store
from schemas.changelog import Checkpoint
from schemas.codec import LARGEST_RECORD
from schemas.discovered import Discovered
from schemas.fetched import Fetched, FetchResult, Outcome, RobotsRules
from schemas.schedule import FetchOrder
from streams.frontier.partition import PartitionFrontier
from streams.frontier.storage.deltas import STATE
from streams.frontier.storage.families import FAMILIES

IN_MEMORY = Path("/dev/shm")
SMALL = StoreOptions(
    block_cache_bytes=1024 * 1024, write_buffer_bytes=4 * 1024 * 1024, memtable_bytes=1024 * 1024, background_jobs=1
)
IDENTITY = StoreIdentity(cluster="cluster", topic="topic", crawl="crawl", partition=0)
T0 = 1_700_000_000_000
"""When every test begins."""


def configure(**sections: dict[str, Any]) -> Config:
    """Defaults that hold a test still: no delay, no robots, no scope; sections override them key by key."""
    given: dict[str, dict[str, Any]] = {
        "crawl": {"scope": "any"},
        "fetch": {"delay_s": 0.0, "delay_factor": 0.0, "urls_per_order": 4},
        "robots": {"obey": False},
        "frontier": {},
        "retry": {},
        "revisit": {},
        "traps": {},
        "partitions": {},
        "url": {},
        "state": {},
        "sites": {},
    }
    rules = tuple(ServerRule(**rule) for rule in sections.pop("server", {}).get("rules", ()))
    for name, keys in sections.items():
        given[name] = {**given[name], **keys}
    return Config(
        crawl=CrawlSection(**given["crawl"]),
        fetch=FetchSection(**given["fetch"]),
        robots=RobotsSection(**given["robots"]),
        frontier=FrontierSection(**given["frontier"]),
        retry=RetrySection(**given["retry"]),
        revisit=RevisitSection(**given["revisit"]),
        traps=TrapsSection(**given["traps"]),
        partitions=PartitionsSection(**given["partitions"]),
        url=UrlSection(**given["url"]),
        state=StateSection(**given["state"]),
        sites=SitesSection(**given["sites"]),
        server=rules,
    )


def contents(reader: StateReader) -> dict[str, dict[bytes, bytes]]:
    return {family: dict(reader.scan(family)) for family in FAMILIES}


class Rig:
    """Use as a context; ``frontier`` is the partition."""

    def __init__(self, config: Config | None = None, partition: int = 0) -> None:
        self.config = config or configure()
        self.partition = partition
        self._memory = SharedMemory(SMALL)
        self._folder = Path(tempfile.mkdtemp(prefix="gregor-frontier-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
        self._stores = 0
        self._log: list[tuple[int, bytes]] = []
        self._log_start = self._log_end = 0
        self.paused: set[str] = set()
        self._open()

    def __enter__(self) -> "Rig":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()
        shutil.rmtree(self._folder)

    def _open(self) -> None:
        self._store = Store(self._folder / str(self._stores), FAMILIES, self._memory)
        self.replica = Replica.open(self._store, STATE, IDENTITY)
        self._begin()

    def _begin(self) -> None:
        last = self.replica.checkpoint
        self.frontier = PartitionFrontier(
            self.partition, self.replica.reader, self.config, dict(last.counters) if last else {}, self.paused
        )

    @property
    def counters(self) -> dict[str, int]:
        return self.frontier.counters

    def commit(self) -> None:
        self.write(self.frontier.mutations(), self.frontier.counters)
        self.frontier.committed()

    def write(self, mutations: Sequence[Mutation], counters: Mapping[str, int]) -> None:
        """Log and apply what a partition on this state wants to be durable."""
        records = self.replica.prepare(mutations, Checkpoint(sequence=0, positions={}, counters=dict(counters)))
        assert max(len(key) + len(value) for key, value in records) <= LARGEST_RECORD
        self._log += [(self._log_end + number, value) for number, (_, value) in enumerate(records)]
        self._log_end += len(records) + 1
        self.replica.apply_live(records, self._log_end)

    def abort(self) -> None:
        """A checkpoint that came to nothing."""
        self.frontier.mutations()
        self.frontier.dropped()

    def restart(self) -> None:
        """kill -9 and the same folder again: what was not committed is gone."""
        self._store.close()
        self._open()

    def resume(self) -> None:
        """The same as far as the frontier can tell, on the store that is open: what RocksDB keeps is not in question."""
        self.replica = Replica.open(self._store, STATE, IDENTITY)
        self._begin()

    def truncate(self) -> None:
        """Delete what the rolling snapshot has made superfluous."""
        before = self.replica.truncate_before()
        if before is not None:
            self._log = [(offset, value) for offset, value in self._log if offset >= before]
            self._log_start = before
            self.replica.truncated(before)

    def move(self, slice_length: int = 1000) -> None:
        """Restore from the log into an empty folder, which must come out equal, and go on there."""
        live = contents(self.replica.reader)
        self._store.close()
        self._stores += 1
        self._store = Store(self._folder / str(self._stores), FAMILIES, self._memory)
        self.replica = Replica.open(self._store, STATE, IDENTITY)
        self.replica.standing(self._log_start, self._log_end)
        for at in range(0, len(self._log), slice_length):
            part = self._log[at : at + slice_length]
            following = self._log[at + slice_length][0] if at + slice_length < len(self._log) else self._log_end
            self.replica.replay(part, following)
        restored = contents(self.replica.reader)
        for family in FAMILIES:
            assert restored[family] == live[family], f"{family} differs after a restore"
        self._begin()


def links(server: str, *paths: str, **facts: Any) -> Discovered:
    return Discovered(server=server, paths=paths, **{"scheme": "http", "depth": 2, "hops": 1, **facts})


def result_of(order: FetchOrder, number: int, outcome: Outcome = "ok", **facts: Any) -> FetchResult:
    """A result of the order's URL ``number``; requests follow each other by the delay, each takes no time."""
    url = order.urls[number]
    status = {
        "ok": 200,
        "not-modified": 304,
        "redirect": 301,
        "client-error": 404,
        "server-error": 500,
        "rate-limited": 429,
    }
    asked = outcome not in ("expired", "cancelled")
    return FetchResult(
        **{
            "path": url.path,
            "scheme": url.scheme,
            "outcome": outcome,
            "status": status.get(outcome, 0),
            "started_ms": order.created_ms + number * order.delay_ms if asked else 0,
            **facts,
        }
    )


def answer(order: FetchOrder, outcome: Outcome = "ok", **facts: Any) -> Fetched:
    """The same result for every URL of an order."""
    results = tuple(result_of(order, number, outcome, **facts) for number in range(len(order.urls)))
    return answer_with(order, results)


def answer_with(order: FetchOrder, results: tuple[FetchResult, ...], robots: tuple[RobotsRules, ...] = ()) -> Fetched:
    finished = max((one.started_ms for one in results), default=0) or order.created_ms
    return Fetched(
        server=order.server,
        lease=order.lease,
        results=results,
        kind=order.kind,
        received_ms=order.created_ms,
        started_ms=order.created_ms,
        finished_ms=finished,
        robots=robots,
    )


def rules(order: FetchOrder, verdict: str = "allow-all", text: str = "", delay_ms: int = 0) -> Fetched:
    """The answer to an order for robots.txt."""
    found = tuple(
        RobotsRules(scheme=url.scheme, verdict=verdict, text=text, crawl_delay_ms=delay_ms)  # type: ignore[arg-type]
        for url in order.urls
    )
    outcome: Outcome = "timeout" if verdict == "unreachable" else "ok"
    return answer_with(order, answer(order, outcome).results, found)


def paths_of(order: FetchOrder) -> list[str]:
    return [url.path for url in order.urls]
