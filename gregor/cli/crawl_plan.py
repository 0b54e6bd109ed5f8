"""What a dry run tells: what the crawl would do, as far as it can be known without asking anybody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from gregor.config import Config
from gregor.operate.crawl_handle import LOG
from gregor.rules.canonical import rules_of
from gregor.run.embedded import require_folder
from gregor.run.seeds import parse_seeds
from workers.fetcher.contact import require_contact

MOST_SEEDS: Final = 20
_SCOPE: Final = {"hosts": "the seeds' hosts", "domains": "the seeds' registered domains", "any": "anywhere"}


class CrawlPlan(Struct, frozen=True, kw_only=True, tag="plan"):
    """For programs; a limit of 0 is none."""

    crawl: str
    seeds: list[str]
    servers: int
    follow_links: bool
    scope: Literal["hosts", "domains", "any"]
    max_depth: int
    max_pages: int
    delay_s: float
    connections: int
    obey_robots: bool
    user_agent: str
    """The whole header."""
    contact: str
    recrawl: Literal["off", "fixed", "adaptive"]
    recrawl_hours: float
    archive: bool
    output: str
    goes_on: bool
    """Whether the crawl is there already."""


def plan_of(config: Config, output: Path) -> CrawlPlan:
    """Raises what the crawl itself would be refused with."""
    require_contact(config)
    require_folder(config, output)
    crawl, fetch = config.crawl, config.fetch
    seeds = parse_seeds(crawl.seeds, rules_of(config.url))
    return CrawlPlan(
        crawl=crawl.name,
        seeds=[url.text for url in seeds],
        servers=len({url.server for url in seeds}),
        follow_links=crawl.follow_links,
        scope=crawl.scope,
        max_depth=crawl.max_depth,
        max_pages=crawl.max_pages,
        delay_s=fetch.delay_s,
        connections=fetch.connections,
        obey_robots=config.robots.obey,
        user_agent=config.user_agent_header,
        contact=crawl.contact,
        recrawl=config.revisit.mode,
        recrawl_hours=config.revisit.interval_hours if config.revisit.mode != "off" else 0.0,
        archive=config.archive.enabled,
        output=str(output),
        goes_on=(output / LOG).exists(),
    )


def plan_lines(plan: CrawlPlan) -> Iterator[str]:
    """The same for people."""
    yield f"{len(plan.seeds):,} seeds on {plan.servers:,} servers:"
    yield from (f"  {url}" for url in plan.seeds[:MOST_SEEDS])
    if len(plan.seeds) > MOST_SEEDS:
        yield f"  and {len(plan.seeds) - MOST_SEEDS:,} more"
    if plan.follow_links:
        limits = f"{_limit(plan.max_depth, 'depth')}, {_limit(plan.max_pages, 'pages')}"
        yield f"Links are followed to {_SCOPE[plan.scope]}, {limits}."
    else:
        yield f"No links are followed; {_limit(plan.max_pages, 'pages')}."
    robots = "robots.txt is obeyed" if plan.obey_robots else "robots.txt is NOT obeyed"
    yield f"{plan.delay_s:g} s between two requests to a server; {robots}; {plan.connections:,} connections at most."
    if plan.recrawl != "off":
        pace = "; then sooner after a change, later without" if plan.recrawl == "adaptive" else ", until Ctrl-C"
        yield f"Every page is fetched again after {plan.recrawl_hours:g} hours{pace}."
    yield f"User-Agent: {plan.user_agent}" + ("" if plan.contact else ", without a contact")
    exists = " (which is there: the crawl in it goes on)" if plan.goes_on else ""
    kept = "" if plan.archive else ", without an archive"
    yield f"Everything goes to {plan.output}{exists}{kept}. Nothing was asked for."


def _limit(value: int, what: str) -> str:
    return f"{value:,} {what} at most" if value else f"any {what}"
