"""`gregor cluster`: a whole small cluster on this machine, brokers and workers as processes, from seeds to a finished crawl."""

import logging
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

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
    with_cluster_settings,
)
from gregor.cli.crawl_outcome import tell, write_outputs
from gregor.cli.interruptible import interruptible
from gregor.cli.progress import ProgressDisplay
from gregor.cli.say import say, say_json
from gregor.cli.settings import CliSettings, pass_settings
from gregor.config import Config, Flag
from gregor.config.text import from_toml
from gregor.demo.judge import judge
from gregor.demo.museum import SETTINGS, Museum
from gregor.demo.server import serve
from gregor.errors import EXIT_INTERRUPTED, ConfigError, UsageError
from gregor.printable import log_printable
from gregor.run.local.cluster import CONFIG, LOGS, METRICS, ClusterPlan, LocalCluster
from gregor.run.local.folder_lock import LOCK, folder_lock
from gregor.run.progress import is_done, waits_too_long_ms
from gregor.run.topology import ROLES, enabled_roles
from gregor.runtime.loops.loop import now_ms
from workers.fetcher.backends.archive.web_files import require_web
from workers.fetcher.contact import require_contact

OUTPUT = "gregor-cluster"
DEMO_OUTPUT = "gregor-cluster-demo"
LOOK_EVERY_S = 1.0


def _with_workers(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each role: how many workers of it. Of a role that a crawl can do without there may be none."""
    for role in reversed(ROLES.values()):
        least = click.IntRange(min=0 if role.optional else 1)
        shown = f"{role.name.capitalize()} workers."
        command = click.option(f"--{role.name}s", type=least, default=1, show_default=True, help=shown)(command)
    return command


@click.command(short_help="Crawl with a small cluster on this machine.")
@URLS
@SEEDS
@output_of("cluster", OUTPUT)
@click.option("--brokers", type=click.Choice(["1", "3"]), default="1", show_default=True, help="Kafka brokers.")
@_with_workers
@click.option(
    "--views/--no-views", default=True, show_default=True, help="Show the crawl in the browser while it runs."
)
@click.option("--ui", is_flag=True, help="Show Kafka's topics and groups in the browser, too.")
@WEB
@LIST
@RECRAWL
@with_cluster_settings
@click.option("--keep", is_flag=True, help="Stay when the crawl is done, for more seeds, until Ctrl-C.")
@JSON
@DEMO
@pass_settings
def cluster(settings: CliSettings, /, urls: tuple[str, ...], output: Path | None, demo: bool, **chosen: Any) -> None:
    """Start Kafka brokers and workers of every role on this machine, crawl, and stop all of it. For trying out how a crawl on a
    cluster runs and is operated: the workers are the same processes that run on many machines. Needs Java and Maven.

    While it runs, every other command works on it with the configuration that it writes: `gregor --config OUTPUT/gregor.toml status`.
    A worker or broker that dies is started again. Ctrl-C stops in good order; the same command goes on where it stopped.

    \b
    Examples:
      gregor cluster --demo                        a bundled site, to its end
      gregor cluster --demo --brokers 3 --fetchers 2 --extractors 2
      gregor cluster --demo --keep --ui            stays, with a Kafka UI beside the crawl's own page
      gregor cluster --keep -o docs --contact mailto:me@example.com https://docs.example.com/

    \b
    In the output folder:
      gregor.toml                 the configuration of its workers
      report.html, summary.json   what came of it
      archive/, items.jsonl       pages (WARC) and items
      kafka/, workers/, logs/     data of the brokers, states and messages
      metrics.json                where the workers' metrics are
    """
    flags = flags_of({**chosen, "archive": chosen["archivers"] > 0})
    if demo:
        if urls or chosen["seed_file"]:
            raise UsageError("expected either seeds or --demo, found both")
        if chosen["web"]:
            raise UsageError("expected either --demo or --web, found both; the demo serves a web of its own")
        _crawl_demo(settings, flags, output, chosen)
        return
    seeds = seeds_of(urls, chosen["seed_file"])
    flags["crawl.seeds"] = Flag(seeds, "URL") if seeds else None
    config = settings.load(flags).config
    if not config.crawl.seeds and not chosen["keep"]:
        raise UsageError("expected at least one seed, found none; give a URL, --keep, or try `gregor cluster --demo`")
    require_contact(config)
    require_web(config)
    _run(config, output or Path(OUTPUT), chosen, GOES_ON)


def _crawl_demo(
    settings: CliSettings, flags: dict[str, Flag | None], output: Path | None, chosen: dict[str, Any]
) -> None:
    if output is None:
        output = Path(DEMO_OUTPUT)
        remove_last_demo(output)
    with serve(Museum()) as server:
        for key, value in SETTINGS.items():
            flags[key] = flags.get(key) or Flag(value, "--demo")
        flags["crawl.seeds"] = Flag(tuple(server.site.seeds), "--demo")
        flags["crawl.name"] = flags["crawl.name"] or Flag(DEMO_NAME, "--demo")
        _run(settings.load(flags).config, output, chosen, BEGINS_ANEW)
        found = judge(Museum(port=server.port), server.requested())
        if chosen["as_json"]:
            say_json({"type": "judgement", "clean": found.clean, **msgspec.to_builtins(found)})
        else:
            say(
                f"The museum's own log: {found.urls:,} URLs to be asked for, {found.requests:,} requests, {len(found.missed):,} "
                f"missed, {len(found.too_often):,} too often, {len(found.strange):,} that are closed."
            )


def remove_last_demo(output: Path) -> None:
    """The site answers at another port each time: what is left of the last time is of no use. Nobody else's folder is touched, nor that
    of a demo that runs."""
    try:
        last = from_toml((output / CONFIG).read_text())
    except (OSError, ConfigError):
        return
    if last.crawl.name == DEMO_NAME:
        with folder_lock(output):
            for entry in output.iterdir():
                if entry.is_dir():
                    shutil.rmtree(entry)
                elif entry.name != LOCK:
                    entry.unlink()


def _run(config: Config, output: Path, chosen: dict[str, Any], after_stop: str) -> None:
    as_json, keep = chosen["as_json"], chosen["keep"]
    log_printable(logging.WARNING, "gregor: %(message)s")
    workers = {role: chosen[f"{role}s"] for role in enabled_roles(config)}
    for role, count in workers.items():
        if not count:
            raise UsageError(
                f"expected at least one {role}, which a crawl of this configuration needs, found --{role}s 0",
                remedy="leave the option out",
            )
    plan = ClusterPlan(brokers=int(chosen["brokers"]), workers=workers, views=chosen["views"], ui=chosen["ui"])
    with interruptible() as stop:
        display = ProgressDisplay(config.crawl.max_pages, as_json)
        with LocalCluster(config, output, plan) as job:
            if not as_json:
                _greet(job)
            done = _until_done(job, display, stop, keep)
            job.note_cpu()
            if done:
                job.finish()
            else:
                job.stop_workers()
            display.end()
            summary = write_outputs(job, job.config, output)
            if not done and not stop.is_set() and not job.waits_until_ms:
                job.let_go()
    tell(summary, job, job.config, output, as_json)
    if not done and not keep:
        say(f"Stopped. {after_stop}; all of it is in {output}.", err=True)
        sys.exit(EXIT_INTERRUPTED)


def _until_done(job: LocalCluster, display: ProgressDisplay, stop: threading.Event, keep: bool) -> bool:
    """Whether it came to its end; else it was stopped, or would wait for too long."""
    before, resting = job.look(), False
    while not stop.is_set() and not job.ended:
        stop.wait(LOOK_EVERY_S)
        job.tend()
        now = job.look()
        done = before is not None and now is not None and is_done(before, now)
        if now is not None and done and not keep:
            job.sites_waiting = now.sites_waiting
            return True
        if before is not None and now is not None and not keep:
            job.waits_until_ms = waits_too_long_ms(before, now, now_ms(), job.config.crawl.max_wait_hours)
            if job.waits_until_ms:
                return False
        if now is not None and not done:
            display.show(now)
        elif now is not None and not resting:
            display.rest(now)
        before, resting = now, done
    return False


def _greet(job: LocalCluster) -> None:
    say(f"Kafka answers at {job.bootstrap}; crawl {job.config.crawl.name}.")
    members = ", ".join(f"{member.name} ({member.pid})" for member in job.members)
    say(f"Workers and their processes: {members}. What they say: {job.folder / LOGS}.")
    if job.views is not None:
        say(f"Watch the crawl in the browser: {job.views.address}")
    if job.ui is not None:
        say(f"Look at the topics in the browser: {job.ui.address}")
    say(f"Where their metrics are: {job.folder / METRICS}, for file_sd_configs of Prometheus.")
    say(f"Look after it with: gregor --config {job.folder / CONFIG} status | explain URL | pause | seed URL | stop")
