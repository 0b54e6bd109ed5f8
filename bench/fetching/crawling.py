"""What fetches: a bare aiohttp loop that drops the bodies, and the fetcher's stage through the embedded transport."""

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import uvloop
from msgspec import Struct

from gregor.config import Config, load
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.fetched import Fetched, decode_fetched
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.stage import SPEC, FetcherStage


class Plan(Struct, frozen=True, kw_only=True):
    """Which URLs to fetch: ``paths`` of each server, one after another on one connection, ``connections`` servers at once."""

    servers: tuple[str, ...]
    paths: tuple[str, ...]
    connections: int
    connect_timeout_s: float = 10.0

    @property
    def pages(self) -> int:
        return len(self.servers) * len(self.paths)


class Measured(Struct, frozen=True, kw_only=True):
    pages: int
    seconds: float
    rss_mb: float
    outcomes: dict[str, int]
    cycle_s: float = 0.0
    """Mean seconds from the start of a request to that of the server's next one; of the last one, to its answer."""
    all_at_once: bool = False
    """Whether the last server's first request had started when the first server's last answer came."""


def bare(plan: Plan) -> Measured:
    """Each body read and dropped."""
    seconds = uvloop.run(_bare(plan))
    return Measured(pages=plan.pages, seconds=seconds, rss_mb=_peak_mb(), outcomes={"ok": plan.pages})


async def _bare(plan: Plan) -> float:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=plan.connections)) as session:
        servers = iter(plan.servers)

        async def crawl() -> None:
            for server in servers:
                for path in plan.paths:
                    async with session.get(f"http://{server}{path}") as response:
                        await response.read()

        begun = time.perf_counter()
        await asyncio.gather(*(crawl() for _ in range(plan.connections)))
        return time.perf_counter() - begun


def through_the_stage(plan: Plan) -> Measured:
    """Orders from ``schedule``, results and pages committed; the time ends with the last commit."""
    flags = {
        "fetch.allow_addresses": ["127.0.0.0/8"],
        "fetch.delay_s": 0.0,
        "fetch.connections": plan.connections,
        "fetch.connect_timeout_s": plan.connect_timeout_s,
    }
    config = load(None, {}, flags).config
    placement = HashPlacement(config.partitions.repositories, config.partitions.partitions)
    with TemporaryDirectory(prefix="gregor-bench-") as folder:
        transport = _transport(config, Path(folder))
        transport.append(_orders(plan, placement))
        stage = FetcherStage(config, placement, "bench")
        loop = OrderLoop(stage, transport.open(SPEC), config.checkpoint)
        begun = time.perf_counter()
        commits, wanted = 0, len(plan.servers)
        while commits == loop.commits or _count(transport, "fetched") < wanted:
            commits = loop.commits
            loop.step(0.2)
        seconds = time.perf_counter() - begun
        fetched = _fetched(transport, config)
        outcomes: Counter[str] = Counter(result.outcome for one in fetched for result in one.results)
        pages = _count(transport, "pages")
        stage.close()
        transport.close()
    assert pages == plan.pages, outcomes
    return Measured(
        pages=pages,
        seconds=seconds,
        rss_mb=_peak_mb(),
        outcomes=dict(outcomes),
        cycle_s=_cycle_s(fetched),
        all_at_once=max(one.results[0].started_ms for one in fetched) < min(map(_ended_ms, fetched)),
    )


def _transport(config: Config, folder: Path) -> EmbeddedTransport:
    settings = EmbeddedSettings(crawl="bench", partitions=config.partitions.partitions)
    return EmbeddedTransport.at(folder, settings, SharedMemory(StoreOptions.of(config.state)), [SPEC])


def _orders(plan: Plan, placement: HashPlacement) -> Sequence[Output]:
    urls = tuple(OrderUrl(path=path, scheme="http") for path in plan.paths)
    return [
        Output(
            "schedule",
            placement.partition(server),
            server.encode(),
            encode(FetchOrder(server=server, lease=server, urls=urls)),
        )
        for server in plan.servers
    ]


def _count(transport: EmbeddedTransport, topic: str) -> int:
    return sum(end - begin for begin, end in transport.ends(topic).values())


def _fetched(transport: EmbeddedTransport, config: Config) -> list[Fetched]:
    ends = transport.ends("fetched")
    return [
        decode_fetched(record.value)
        for partition in range(config.partitions.partitions)
        for record in transport.read("fetched", partition, *ends[partition])
    ]


def _cycle_s(fetched: Sequence[Fetched]) -> float:
    spans = sum(_ended_ms(one) - one.results[0].started_ms for one in fetched)
    return spans / sum(len(one.results) for one in fetched) / 1000


def _ended_ms(fetched: Fetched) -> int:
    last = fetched.results[-1]
    return last.started_ms + last.timings.total


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
