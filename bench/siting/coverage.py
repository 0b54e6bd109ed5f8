"""How much of a web a crawl finds under each coverage, and how many bytes the coordinator is told for it.

The paper's alternative would be to send every page URL that leads to another site through the coordinator: what that would take is counted
from the records that went to slots and homes instead.
"""

from collections import Counter
from collections.abc import Set
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from bench.siting.hosted_web import HostedWeb
from gregor.config import Config, load
from gregor.demo.server import DemoServer, requested, serve
from gregor.offline.generated import WebShape
from gregor.run.embedded import EmbeddedCrawl
from gregor.run.placement import placement_of
from gregor.runtime.transport.port import Transport
from schemas.discovered import Discovered, decode_discovery

CONFIG = """
crawl.name = "sites"
crawl.scope = "any"
crawl.seeds = [{seeds}]
fetch.delay_s = 0.0
fetch.delay_factor = 0.0
fetch.allow_addresses = ["127.0.0.0/8"]
robots.obey = false
partitions.placement = "{placement}"
archive.enabled = false
"""
SITES = """
sites.coverage = "{coverage}"
sites.root_page = {root_page}
"""


class Outcome(Struct, frozen=True, kw_only=True):
    """Of one crawl."""

    requested: Counter[str]
    """How often each URL was asked for."""
    coordinator_bytes: int
    """Values of `sites-found`."""
    inter_site_bytes: int
    """Values of the records with page URLs of other sites than the page's own, each once."""


def coverage_figures(folder: Path, quick: bool) -> dict[str, Any]:
    """A web of a thousand sites, crawled whole under each coverage."""
    shape = WebShape(pages=1_500 if quick else 10_000, sites=1_000, seed=5)
    with serve(HostedWeb(shape)) as server:
        everything = server.site.urls()
        full = crawled(server, folder / "full", placement="sites")
        two_level = crawled(server, folder / "two-level", placement="sites", coverage="two-level")
    return {
        "coverage_full": _share(full, everything),
        "coverage_two_level": _share(two_level, everything),
        "coordinator_bytes": {
            "full": full.coordinator_bytes,
            "two-level": two_level.coordinator_bytes,
            "every inter-site page URL through it": full.inter_site_bytes + full.coordinator_bytes,
        },
    }


def _share(outcome: Outcome, everything: Set[str]) -> float:
    """Of the generator's own list; what was asked for beside it would be a fault."""
    assert outcome.requested.keys() <= everything, outcome.requested.keys() - everything
    return round(len(outcome.requested) / len(everything), 4)


def crawled(
    server: DemoServer,
    folder: Path,
    *,
    placement: Literal["hash", "sites"],
    coverage: Literal["full", "two-level"] = "full",
    root_page: bool = True,
) -> Outcome:
    """A whole crawl of what ``server`` serves, on the embedded transport, in this process."""
    folder.mkdir(parents=True)
    seeds = ", ".join(f'"{seed}"' for seed in server.seeds)
    text = CONFIG.format(seeds=seeds, placement=placement)
    if placement == "sites":
        text += SITES.format(coverage=coverage, root_page=str(root_page).lower())
    (folder / "gregor.toml").write_text(text)
    config = load(folder / "gregor.toml", {}).config
    begun = len(server.log)
    crawl = EmbeddedCrawl(config, folder / "crawl")
    try:
        crawl.run()
        return Outcome(
            requested=requested(server.log[begun:]),
            coordinator_bytes=sum(len(one.value or b"") for one in crawl.transport.read("sites-found", 0, 0)),
            inter_site_bytes=_inter_site_bytes(crawl.transport, config),
        )
    finally:
        crawl.close()


def _inter_site_bytes(log: Transport, config: Config) -> int:
    """A record that its home passed on stands in two partitions."""
    site = placement_of(config).site
    sizes: dict[tuple[str, str, str, str], int] = {}
    for partition in range(config.partitions.partitions):
        for record in log.read("discovered", partition, 0):
            found = decode_discovery(record.value)
            if not isinstance(found, Discovered) or not found.paths or not found.referrer:
                continue
            if site(found.referrer.split("/", 3)[2]) != site(found.server):
                sizes[found.referrer_lease, found.scheme, found.server, found.paths[0]] = len(record.value or b"")
    return sum(sizes.values())
