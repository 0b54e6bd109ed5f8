"""`gregor crawl`: a whole crawl on this machine, from seeds to files that can be used at once."""

import shutil
import sys
from pathlib import Path
from typing import Any

import click

from gregor.cli.crawl_options import (
    BEGINS_ANEW,
    DEMO,
    DEMO_NAME,
    GOES_ON,
    JSON,
    LIST,
    RECRAWL,
    SEEDS,
    URLS,
    WEB,
    flags_of,
    output_of,
    seeds_of,
    with_settings,
)
from gregor.cli.crawl_outcome import tell, write_outputs
from gregor.cli.crawl_plan import plan_lines, plan_of
from gregor.cli.interruptible import interruptible
from gregor.cli.progress import ProgressDisplay
from gregor.cli.say import say, say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.config import Config, Flag
from gregor.demo.judge import SiteJudgement, judge
from gregor.demo.museum import SETTINGS, Museum
from gregor.demo.server import serve
from gregor.errors import EXIT_INTERRUPTED, UsageError
from gregor.operate.crawl_handle import LOG, is_held
from gregor.run.embedded import EmbeddedCrawl
from gregor.runtime.transport.embedded.folder import identity_of
from workers.fetcher.backends.archive.web_files import require_web
from workers.fetcher.contact import require_contact

OUTPUT = "gregor-crawl"


@click.command(short_help="Crawl with one command, on this machine alone.")
@URLS
@SEEDS
@output_of("crawl", OUTPUT)
@WEB
@LIST
@RECRAWL
@click.option("--archive/--no-archive", default=True, help="Whether pages are kept as WARC.")
@with_settings
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@JSON
@DEMO
@pass_settings
def crawl(settings: CliSettings, /, urls: tuple[str, ...], output: Path | None, demo: bool, **chosen: Any) -> None:
    """Crawl from the URLs given and everything in scope behind them, on this machine alone and without a broker. A seed may be a page
    or a sitemap; one without a scheme is meant for https. Without other settings: the seeds' hosts, robots.txt obeyed, one second
    between two requests to a server.

    Ctrl-C stops after the last checkpoint; the same command goes on where it stopped, and so it does after a power cut.

    \b
    Examples:
      gregor crawl --demo                     a bundled site, in seconds
      gregor crawl -o docs --contact mailto:me@example.com https://docs.example.com/
      gregor crawl --list --seeds urls.txt    those pages alone
      gregor crawl --web docs/archive -o again https://docs.example.com/    what was archived, without a network
      gregor crawl --web generated:100000,1000,1 --scope any -o made-up http://s0.example/
      gregor crawl --depth 3 --pages 1000 --contact mailto:me@example.com --dry-run example.com
      gregor --config site.toml crawl         what the configuration file says

    \b
    In the output folder:
      report.html, summary.json   what came of it
      archive/                    WARC files and their indexes (CDXJ, Parquet)
      items.jsonl                 what the item rules took out
      state/                      the crawl itself, to go on later
    """
    flags = flags_of(chosen)
    if demo:
        if urls or chosen["seed_file"]:
            raise UsageError("expected either seeds or --demo, found both")
        if chosen["web"]:
            raise UsageError("expected either --demo or --web, found both; the demo serves a web of its own")
        if chosen["dry_run"]:
            raise UsageError("expected either --demo or --dry-run, found both; the demo touches nobody")
        _crawl_demo(settings, flags, output, chosen["as_json"])
        return
    seeds = seeds_of(urls, chosen["seed_file"])
    flags["crawl.seeds"] = Flag(seeds, "URL") if seeds else None
    config = settings.load(flags).config
    if not config.crawl.seeds:
        raise UsageError("expected at least one seed, found none; give a URL, or try `gregor crawl --demo`")
    place = output or Path(OUTPUT)
    if chosen["dry_run"]:
        plan = plan_of(config, place)
        if chosen["as_json"]:
            say_json(plan)
        else:
            say_lines(plan_lines(plan))
        return
    require_contact(config)
    require_web(config)
    _run(config, place, chosen["as_json"], GOES_ON)


def _crawl_demo(settings: CliSettings, flags: dict[str, Flag | None], output: Path | None, as_json: bool) -> None:
    with serve(Museum()) as server:
        for key, value in SETTINGS.items():
            flags[key] = flags.get(key) or Flag(value, "--demo")
        flags["crawl.seeds"] = Flag(tuple(server.site.seeds), "--demo")
        flags["crawl.name"] = flags["crawl.name"] or Flag(DEMO_NAME, "--demo")
        config = settings.load(flags).config
        if output is None:
            output = Path(DEMO_NAME)
            _remove_last_demo(output)
        if not as_json:
            say(f"A museum of {len(server.site.seeds)} houses answers at {server.site.seeds[0]} and its neighbours.")
        _run(config, output, as_json, BEGINS_ANEW)
        if not as_json:
            _tell_judgement(judge(Museum(port=server.port), server.requested()), output)


def _remove_last_demo(output: Path) -> None:
    """The site answers at another port each time: what is left of the last time is of no use. Nobody else's folder is touched."""
    identity = identity_of(output / LOG)
    if identity is not None and identity.crawl == DEMO_NAME and not is_held(output / LOG / "db" / "LOCK"):
        shutil.rmtree(output)


def _tell_judgement(found: SiteJudgement, output: Path) -> None:
    """What the site itself saw: everything once, nothing that is closed."""
    say(
        f"The museum's own log: {found.urls:,} URLs to be asked for, {found.requests:,} requests, {len(found.missed):,} missed, "
        f"{len(found.too_often):,} too often, {len(found.strange):,} that are closed; {found.endless:,} months of an endless calendar."
    )
    say(f"Next: `gregor explain URL {output}` tells the story of any URL; a site of your own:")
    say("  gregor crawl --contact mailto:you@example.com --pages 100 https://example.com/")


def _run(config: Config, output: Path, as_json: bool, after_stop: str) -> None:
    with interruptible() as stop:
        display = ProgressDisplay(config.crawl.max_pages, as_json)
        job = EmbeddedCrawl(config, output)
        try:
            job.run(display.show, stop)
            display.end()
            summary = write_outputs(job, config, output)
        finally:
            display.end()
            job.close()
    tell(summary, job, config, output, as_json)
    if stop.is_set():
        say(f"Stopped. {after_stop}; all of it is in {output}.", err=True)
        sys.exit(EXIT_INTERRUPTED)
