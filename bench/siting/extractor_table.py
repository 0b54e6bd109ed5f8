"""What a table of a million sites costs an extractor: speed beside `hash` in the same minute, memory, and the time to read it at start."""

import gc
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.extractor import PARTITIONS, Body, Watch, through_the_stage
from gregor.config import Config
from gregor.config.sections import CrawlSection, PartitionsSection
from gregor.offline.generated import GeneratedWeb, WebShape
from gregor.runtime.loops.contract import Received
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered
from schemas.sites import Site
from workers.extractor.routing import MOST_MET, SiteRouting
from workers.extractor.stage import SPEC, ExtractorStage

SITES: Final = 1_000_000
TOGETHER: Final = 5_000
"""Rows of one poll."""
SHAPE: Final = WebShape(pages=200_000, sites=20_000)
HASH: Final = Config(crawl=CrawlSection(seeds=("http://s0.example/",), scope="any"))
PLACED: Final = replace(HASH, partitions=PartitionsSection(placement="sites", partitions=PARTITIONS))


def extractor_figures(quick: bool) -> dict[str, float]:
    ratio, by_hash = speed_ratio(600 if quick else 4_000, 6)
    return {
        "ratio_extractor_hash": ratio,
        "extractor_pages_per_cpu_s": round(by_hash),
        "bytes_per_site": bytes_per_site(),
        "table_rows_per_s": rows_per_s(SITES // 5 if quick else SITES),
    }


def speed_ratio(pages: int, times: int) -> tuple[float, float]:
    """Of processor time, the best of several runs of each in turn; and what `hash` makes of it. Every page meets sites for the first time:
    what is at hand of those met lately helps little."""
    # As the pipeline does for the stage.
    gc.set_threshold(50_000, 20, 100)
    web = GeneratedWeb(SHAPE)
    step = SHAPE.pages // pages
    bodies = [_body(web, number * step) for number in range(pages)]
    best = {"hash": 0.0, "sites": 0.0}
    for turn in range(times):
        # Whoever comes second finds the machine warmer.
        for name in ("hash", "sites") if turn % 2 else ("sites", "hash"):
            best[name] = max(best[name], _rate(bodies, name))
    return round(best["sites"] / best["hash"], 3), best["hash"]


def _rate(bodies: Sequence[Body], placement: str) -> float:
    return (through_the_stage(bodies, HASH) if placement == "hash" else through_the_stage(bodies, PLACED, _hear)).cpu


def _body(web: GeneratedWeb, page: int) -> Body:
    server, _, path = web.url(page).removeprefix("http://").partition("/")
    return Body(f"/{path}", web.body(page), server)


def _row(number: int) -> Site:
    """The sites that the pages link to are among them."""
    return Site(site=f"s{number}.example", slot=number % PARTITIONS, rank=number, found_ms=1_700_000_000_000 + number)


def _hear(stage: ExtractorStage) -> None:
    record = Record("sites", 0, 0, None, None, None, 0)
    for at in range(0, SITES, TOGETHER):
        stage.on_broadcast([Received(record, row) for row in map(_row, range(at, at + TOGETHER))])


def bytes_per_site() -> float:
    """All that an extractor holds for so many sites, read in pieces, when it has met many of them."""
    names = [_row(number).site for number in range(2 * MOST_MET)]
    tracemalloc.start()
    routing = SiteRouting(HashPlacement(4096, PARTITIONS))
    for at in range(0, SITES, TOGETHER):
        routing.hear([_row(number) for number in range(at, at + TOGETHER)])
    for name in names:
        routing.outputs([Discovered(server=name, paths=("/",))])
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return round(held / len(routing.table), 2)


def rows_per_s(count: int) -> float:
    """Rows a second of processor time, until an extractor has read them all from its log and takes its first partition."""
    with tempfile.TemporaryDirectory() as folder:
        settings = EmbeddedSettings(crawl="bench", partitions=PARTITIONS, placement="sites")
        transport = EmbeddedTransport.at(Path(folder) / "log", settings, SharedMemory(StoreOptions()), (SPEC,))
        for some in _pieces(count):
            transport.append(some)
        stage = ExtractorStage(PLACED, HashPlacement(4096, PARTITIONS))
        loop = StageLoop(stage, transport.open(SPEC), PLACED.checkpoint)
        watch = Watch()
        while not loop.owned:
            loop.step(0.05)
        rate = watch.rate(count).cpu
        stage.close()
        transport.close()
    return round(rate)


def _pieces(count: int) -> Iterator[list[Output]]:
    for at in range(0, count, TOGETHER):
        rows = map(_row, range(at, at + TOGETHER))
        yield [Output("sites", 0, row.site.encode(), encode(row)) for row in rows]
