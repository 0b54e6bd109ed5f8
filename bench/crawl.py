"""Whole crawls of one site by one crawler after the other, on one machine, in one run, without a delay.

Run: python bench/crawl.py [--quick] [--json] [--only NAME] [--site NAME] [--pages DIR]

The sites: pages of 20 KB with 100 links, generated; python3.11-doc and openjdk-17-doc; and `web`, pages like those of the web
(bench/crawling/web_pages.py, or those of a folder) on fifty hosts over TLS, plain and as gzip. nginx serves all. Crawlers of one site at
a time, Colly, spider-rs and wget2, have no part in `web`. The crawlers: gregor on the embedded
transport, without and with its archive; a bare loop of aiohttp, lexbor, ada and a set, which keeps nothing; Scrapy; Colly where Go is
installed, spider-rs where cargo is (it is built once, in some minutes), wget2 where it is. Rates are those of the server's log, from the
first request to the last; processor time and memory are those of all processes of a crawler. The documentation is crawled within about a
second: it comes three times to each, in turn, and the run in the middle counts.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.crawling.contenders import Contender, Run, contenders, measure, middle, settle
from bench.crawling.sites import Site, documentation, generated, web
from bench.engines.provision import run
from bench.report import finish, machine, parser

PAGES: Final = 10_000
QUICK_PAGES: Final = 700
WEB: Final = 4000
QUICK_WEB: Final = 300
SITES: Final = ("generated", "web", "web-gzip", "python", "openjdk")
QUICK: Final = ("gregor", "gregor+archive", "bare", "scrapy")


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _options(arguments)
    print(machine("aiohttp", "selectolax", "scrapy"))
    with tempfile.TemporaryDirectory(prefix="gregor-bench-") as name:
        folder = Path(name)
        # nginx reads the files as another user.
        folder.chmod(0o755)
        crawlers = [one for one in contenders() if _wanted(one, asked)]
        runs = {}
        for name in asked.site or (SITES[:2] if asked.quick else SITES):
            site = _site(name, folder / name, asked)
            able = [one for one in crawlers if not site.crawlers or one.name in site.crawlers]
            runs[site.name] = _crawl(site, able)
            shutil.rmtree(folder / name, ignore_errors=True)
    figures = _figures(runs)
    finish(figures, asked.json)


def _site(name: str, folder: Path, asked: argparse.Namespace) -> Site:
    if name == "generated":
        return generated(folder, QUICK_PAGES if asked.quick else PAGES)
    if name.startswith("web"):
        return web(folder, QUICK_WEB if asked.quick else WEB, asked.pages, name == "web-gzip")
    return documentation(name)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = parser(__doc__)
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.add_argument("--only", action="append", default=[], metavar="NAME", help="these crawlers alone")
    options.add_argument("--site", action="append", default=[], choices=SITES, help="these sites alone")
    options.add_argument("--pages", type=Path, metavar="DIR", help="real pages for `web`, in place of generated ones")
    return options.parse_args(arguments)


def _wanted(contender: Contender, asked: argparse.Namespace) -> bool:
    return contender.name in (asked.only or (QUICK if asked.quick else [contender.name]))


def _crawl(site: Site, crawlers: Sequence[Contender]) -> dict[str, Run]:
    """By every crawler in turn."""
    print(f"\n{site.name}\n{'':18}{'pages':>8}{'pages/s':>10}{'links/s':>10}{'CPU ms':>9}{'MB':>8}{'requests':>10}")
    runs: dict[str, list[Run]] = {crawler.name: [] for crawler in crawlers}
    for _ in range(site.rounds):
        for crawler in crawlers:
            runs[crawler.name].append(measure(crawler, site))
            _print(crawler, runs[crawler.name][-1])
            settle()
    counted = {name: middle(by) for name, by in runs.items()}
    if site.rounds > 1:
        print("the run in the middle")
        for crawler in crawlers:
            _print(crawler, counted[crawler.name])
    return counted


def _print(crawler: Contender, run: Run) -> None:
    print(
        f"{crawler.name:18}{run.pages:>8,}{run.pages_per_s:>10,.0f}{run.links_per_s:>10,}{run.cpu_ms_per_page:>9.3f}"
        f"{run.rss_mb:>8,.0f}{run.requests_per_url:>10.4f}  {crawler.version}",
        flush=True,
    )


def _figures(runs: dict[str, dict[str, Run]]) -> dict[str, Any]:
    first = next(iter(runs.values()))
    figures: dict[str, Any] = {
        "sites": {site: {name: msgspec.to_builtins(run) for name, run in by.items()} for site, by in runs.items()}
    }
    for title, ours, other in (
        ("ratio_scrapy", "gregor", "scrapy"),
        ("ratio_bare", "gregor", "bare"),
        ("ratio_bare_archive", "gregor+archive", "bare"),
        ("ratio_spider_rs", "gregor", "spider-rs"),
    ):
        both = [by for by in runs.values() if ours in by and other in by]
        if both:
            # The site on which we do worst.
            figures[title] = min(round(by[ours].pages_per_s / by[other].pages_per_s, 3) for by in both)
    for site, by in runs.items():
        if site.startswith("web"):
            cores = {name: round(1000 / run.cpu_ms_per_page, 1) for name, run in by.items()}
            figures[f"pages_per_s_core_{site.replace('-', '_')}"] = cores
    if "gregor+archive" in first:
        figures["stage_shares"] = first["gregor+archive"].stage_shares
    return figures


if __name__ == "__main__":
    run(main)
