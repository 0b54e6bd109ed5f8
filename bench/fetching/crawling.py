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
from gregor.stage.orders import OrderLoop
from gregor.state.options import SharedMemory, StoreOptions
from gregor.transport.embedded.settings import EmbeddedSettings
from gregor.transport.embedded.transport import EmbeddedTransport
from gregor.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.fetched import Fetched, decode_fetched
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.stage import SPEC, FetcherStage


class Plan(Struct, frozen=True, kw_only=True):
    """Which URLs to fetch: ``rounds`` orders of ``paths`` for each server."""

    servers: tuple[str, ...]
    paths: tuple[str, ...]
    rounds: int
    connections: int

    @property
    def pages(self) -> int:
        return len(self.servers) * len(self.paths) * self.rounds


class Measured(Struct, frozen=True, kw_only=True):
    pages: int
    seconds: float
    rss_mb: float
    outcomes: dict[str, int]
    full_rate: float = 0.0
    """Pages a second while every order was in flight: from the last one's first request to the first one's last answer."""


def bare(plan: Plan) -> Measured:
    """Each connection its server, each body read and dropped."""
    seconds = uvloop.run(_bare(plan))
    return Measured(pages=plan.pages, seconds=seconds, rss_mb=_peak_mb(), outcomes={"ok": plan.pages})


async def _bare(plan: Plan) -> float:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=plan.connections)) as session:

        async def crawl(server: str) -> None:
            for _ in range(plan.rounds):
                for path in plan.paths:
                    async with session.get(f"http://{server}{path}") as response:
                        await response.read()

        begun = time.perf_counter()
        await asyncio.gather(*(crawl(server) for server in plan.servers))
        return time.perf_counter() - begun


def through_the_stage(plan: Plan) -> Measured:
    """Orders from ``schedule``, results and pages committed; the time ends with the last commit."""
    flags = {
        "fetch.allow_addresses": ["127.0.0.0/8"],
        "fetch.connections": plan.connections,
        # The other end of ten thousand connections is one process on the same machine; how soon it accepts is not the question.
        "fetch.connect_timeout_s": 60.0,
    }
    config = load(None, {}, flags).config
    placement = HashPlacement(config.partitions.repositories, config.partitions.partitions)
    with TemporaryDirectory(prefix="gregor-bench-") as folder:
        transport = _transport(config, Path(folder))
        transport.append(_orders(plan, placement))
        stage = FetcherStage(config, placement, "bench")
        loop = OrderLoop(stage, transport.open(SPEC), config.checkpoint)
        begun = time.perf_counter()
        commits, wanted = 0, len(plan.servers) * plan.rounds
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
        pages=pages, seconds=seconds, rss_mb=_peak_mb(), outcomes=dict(outcomes), full_rate=_full_rate(fetched)
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
            encode(FetchOrder(server=server, lease=f"{server}-{number}", urls=urls)),
        )
        for number in range(plan.rounds)
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


def _full_rate(fetched: Sequence[Fetched]) -> float:
    answered = [[one.started_ms + one.timings.total for one in order.results] for order in fetched]
    begins = max(order.results[0].started_ms for order in fetched)
    ends = min(times[-1] for times in answered)
    within = sum(1 for times in answered for time_ms in times if begins < time_ms <= ends)
    return within / (ends - begins) * 1000 if ends > begins else 0.0


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
