"""Pages a second from `pages` to `discovered` on the embedded transport, one process, beside Scrapy's LinkExtractor on the same bodies.

`ratio_lexbor_real` is about reading alone, on pages like those of the web (bench/crawling/web_pages.py, or the folder of `--pages`):
their links found, joined and hashed, beside lexbor's parse of the same bytes, which finds nothing yet.

`cache_speedup` is about what follows parsing, on pages that repeat their navigation: joining, scope, filter, records; once
with the filter and the remembered links, once with both switched off.
"""

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from bench.crawling.web_pages import web_bodies
from gregor.config import Config
from gregor.config.sections import CrawlSection, FilterSection
from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.rules.scope import LinkScope
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Output
from gregor.url.domain import registered_domain
from gregor.url.fingerprint import HashPlacement, fingerprints
from gregor.url.links import join_many
from infra.documentation import pages as documentation
from schemas.codec import encode
from schemas.pages import PageFacts
from workers.extractor import readers
from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.lists import FilterSettings
from workers.extractor.linker import Linker
from workers.extractor.links import extract
from workers.extractor.page_links import PageLinks
from workers.extractor.reading import ReadSettings, read
from workers.extractor.stage import SPEC, ExtractorStage
from workers.extractor.tally import RefusalTally

PARTITIONS = 8
SERVER = "site.example"
CONFIG = Config(crawl=CrawlSection(seeds=(f"http://{SERVER}/",)))
WORDS = (
    "one",
    "morning",
    "it",
    "woke",
    "before",
    "the",
    "household",
    "and",
    "found",
    "its",
    "ceiling",
    "unexpectedly",
    "near",
)


class Body(Struct, frozen=True):
    """A page as a server sends it."""

    path: str
    body: bytes
    server: str = SERVER

    @property
    def facts(self) -> PageFacts:
        headers = (("Content-Type", "text/html; charset=utf-8"),)
        return PageFacts(
            server=self.server, path=self.path, scheme="http", lease=self.path, status=200, response_headers=headers
        )


def synthetic(count: int) -> list[Body]:
    """20 KB and 100 links each: 70 of navigation, which the pages of a directory share, and 30 of their own."""
    random = Random(1)
    return [Body(f"/part{number // 100}/page{number}.html", _page(random, number, count)) for number in range(count)]


def _page(random: Random, number: int, count: int) -> bytes:
    navigation = [f"page{number // 100 * 100 + k}.html" for k in range(40)] + [f"../part{k}/" for k in range(30)]
    own = [f"../part{other // 100}/page{other}.html" for other in (random.randrange(count) for _ in range(30))]
    links = "".join(
        f'<li class="toc"><a class="reference" href="{href}" title="{random.choice(WORDS)}">{random.choice(WORDS)}</a></li>\n'
        for href in [*navigation, *own]
    )
    text = "".join(f"<p>{' '.join(random.choices(WORDS, k=70))}</p>\n" for _ in range(21))
    return f"<!doctype html><html><head><title>Page {number}</title></head><body><ul>{links}</ul>{text}</body></html>".encode()


def navigation_only(count: int) -> list[Body]:
    """Every page of a directory has the same 100 links."""
    links = "".join(f'<a href="page{k}.html">x</a><a href="../part{k}/index.html">x</a>' for k in range(50))
    return [Body(f"/part{number // 200}/page{number}.html", links.encode()) for number in range(count)]


def python_documentation(count: int) -> list[Body]:
    """The pages of python3.11-doc below 200 KB, as often as it takes."""
    small = [Body(path, file.read_bytes()) for path, file in documentation("python") if file.stat().st_size < 200_000]
    rounds = -(-count // len(small))
    return [Body(f"{one.path}?round={n}" if n else one.path, one.body) for n in range(rounds) for one in small][:count]


def like_the_web(count: int, folder: Path | None) -> list[Body]:
    """Pages of the folder, as often as it takes, or generated ones of their statistics; each directory a site of its own."""
    return [Body(f"/site{number % 50}/{number}", body) for number, body in enumerate(web_bodies(count, folder))]


class Rate(Struct, frozen=True):
    """Pages a second of the clock, and of the processor, which the machine's other work leaves alone."""

    wall: float
    cpu: float


class Watch:
    """Measures from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def rate(self, count: int) -> Rate:
        return Rate(count / (time.perf_counter() - self._wall), count / (time.process_time() - self._cpu))


def through_the_stage(
    bodies: Sequence[Body], config: Config = CONFIG, before: Callable[[ExtractorStage], None] = lambda _: None
) -> Rate:
    """Pages a second through log, stage and log; ``before`` is done to the stage before the clock starts."""
    with tempfile.TemporaryDirectory() as folder:
        memory = SharedMemory(StoreOptions())
        transport = EmbeddedTransport.at(
            Path(folder) / "log", EmbeddedSettings(crawl="bench", partitions=PARTITIONS), memory, (SPEC,)
        )
        stage = ExtractorStage(config, HashPlacement(4096, PARTITIONS), Path(folder) / "filter")
        loop = StageLoop(stage, transport.open(SPEC), config.checkpoint)
        for start in range(0, len(bodies), 500):
            transport.append(
                [
                    Output("pages", number % PARTITIONS, SERVER.encode(), one.body, encode(one.facts))
                    for number, one in enumerate(bodies[start : start + 500])
                ]
            )
        ends = {partition: end for partition, (_, end) in transport.ends("pages").items()}
        # Read once in the life of a process.
        registered_domain(SERVER)
        before(stage)
        watch = Watch()
        while not loop.commits or any(at.offset < ends[where.partition] for where, at in _positions(transport).items()):
            loop.step(0.05)
        rate = watch.rate(len(bodies))
        stage.close()
        transport.close()
    return rate


def _positions(transport: EmbeddedTransport) -> Any:
    return transport.committed(SPEC.name, SPEC.inputs)


def through_scrapy(bodies: Sequence[Body]) -> Rate:
    """Pages a second of links extracted and made canonical, and nothing else."""
    try:
        from scrapy.http import HtmlResponse  # type: ignore[import-not-found, unused-ignore]
        from scrapy.linkextractors import LinkExtractor  # type: ignore[import-not-found, unused-ignore]
        from w3lib.url import canonicalize_url
    except ImportError as error:
        raise GregorError(
            f"the comparison needs Scrapy ({error})", exit_code=EXIT_ENVIRONMENT, remedy="pip install scrapy"
        ) from None
    extractor = LinkExtractor()
    watch = Watch()
    for one in bodies:
        response = HtmlResponse(one.facts.url, body=one.body, encoding="utf-8")
        for link in extractor.extract_links(response):
            canonicalize_url(link.url)
    return watch.rate(len(bodies))


def through_the_reader(bodies: Sequence[Body]) -> Rate:
    """Links found and joined by the reader that is here, and their fingerprints."""
    fingerprints_of = _fingerprints()
    watch = Watch()
    for one in bodies:
        page = extract(one.body, "text/html", one.facts.url)
        fingerprints_of(page, one)
    return watch.rate(len(bodies))


def _fingerprints() -> Callable[[PageLinks, Body], None]:
    """The native reader makes them while it joins; of what Python found they are made here."""
    if readers.READER == "native":
        return lambda page, one: None

    def made(page: PageLinks, one: Body) -> None:
        joined = join_many(page.base, [link.href for link in page.links])
        urls = [(scheme, path) for links in joined.servers.values() for scheme, path, _, _ in links]
        fingerprints([scheme for scheme, _ in urls], [path for _, path in urls])

    return made


def through_lexbor(bodies: Sequence[Body]) -> Rate:
    """Trees built, and nothing looked for in them."""
    watch = Watch()
    for one in bodies:
        LexborHTMLParser(one.body)
    return watch.rate(len(bodies))


def links_per_second(bodies: Sequence[Body], caches: bool) -> Rate:
    """Links a second through the part behind the parser."""
    config = CONFIG if caches else replace(CONFIG, filter=FilterSection(capacity=0, hrefs=0))
    placement = HashPlacement(4096, PARTITIONS)
    known = UrlFilter(FilterSettings(capacity=config.filter.capacity), None)
    linker = Linker(config, LinkScope(config), known, RefusalTally(placement, ""))
    settings = ReadSettings.of(config)
    readings = [(one.facts, read(one.facts, one.body, settings)) for one in bodies]
    links = sum(link.times for _, reading in readings for link in reading.found)
    watch = Watch()
    for number, (facts, reading) in enumerate(readings, 1):
        records, _ = linker.link(facts, reading, (), 0)
        for record in records:
            encode(record)
        if number % 100 == 0:
            known.committed()
    rate = watch.rate(links)
    known.committed()
    known.finish()
    return rate


def best(measure: Callable[..., Rate], bodies: Sequence[Body], times: int, *more: Any) -> Rate:
    """The machine is shared: the fastest of several runs says the most."""
    runs = [measure(bodies, *more) for _ in range(times)]
    return Rate(max(one.wall for one in runs), max(one.cpu for one in runs))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pages", type=Path, metavar="DIR", help="real pages in place of generated ones")
    options = parser.parse_args(arguments)
    # As the pipeline does for the stage.
    gc.set_threshold(50_000, 20, 100)
    count, times = (1500, 3) if options.quick else (6000, 3)
    made, real, repeated = synthetic(count), python_documentation(500), navigation_only(count)
    some = made[: count // 10]
    ours, scrapys = best(through_the_stage, made, times), best(through_scrapy, some, times)
    ours_real, scrapys_real = best(through_the_stage, real[::5], times), best(through_scrapy, real[::5], times)
    web = like_the_web(416 if options.quick else 2000, options.pages)
    read_web, parsed_web = best(through_the_reader, web, times), best(through_lexbor, web, times)
    ours_web = best(through_the_stage, web, times)
    cached, uncached = best(links_per_second, repeated, times, True), best(links_per_second, repeated, times, False)
    figures: dict[str, Any] = {
        "pages_per_s": round(ours.wall),
        "ratio_scrapy": round(ours.wall / scrapys.wall, 1),
        "cache_speedup": round(cached.wall / uncached.wall, 1),
        "pages_per_cpu_s": round(ours.cpu),
        "ratio_scrapy_cpu": round(ours.cpu / scrapys.cpu, 1),
        "cache_speedup_cpu": round(cached.cpu / uncached.cpu, 1),
        "scrapy_pages_per_s": round(scrapys.wall),
        "python_doc_pages_per_s": round(ours_real.wall),
        "python_doc_pages_per_cpu_s": round(ours_real.cpu),
        "python_doc_ratio_scrapy": round(ours_real.wall / scrapys_real.wall, 1),
        "python_doc_ratio_scrapy_cpu": round(ours_real.cpu / scrapys_real.cpu, 1),
        "reader": readers.READER,
        "ratio_lexbor_real": round(read_web.cpu / parsed_web.cpu, 2),
        "read_us_per_page_real": round(1e6 / read_web.cpu),
        "lexbor_us_per_page_real": round(1e6 / parsed_web.cpu),
        "pages_per_cpu_s_web": round(ours_web.cpu),
        "repeated_links_per_s": round(cached.wall),
        "repeated_links_per_s_without_caches": round(uncached.wall),
    }
    if options.json:
        print(json.dumps(figures))
        return
    names = ("selectolax", "ada-url", "scrapy", "rocksdict")
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, ", end="")
    print(", ".join(f"{name} {version(name)}" for name in names))
    print(f"synthetic: {count} pages of {sum(len(one.body) for one in made) // count} bytes and 100 links")
    for name, figure in figures.items():
        print(f"{name:40} {figure:>12,}" if not isinstance(figure, str) else f"{name:40} {figure:>12}")


if __name__ == "__main__":
    main(sys.argv[1:])
