"""`gregor crawl`: a whole crawl in one process, with progress and a summary."""

import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

import click

from gregor.cli.settings import Settings, pass_settings
from gregor.config import Config, Flag
from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_INTERRUPTED, UsageError
from gregor.pipeline.embedded import EmbeddedCrawl
from gregor.pipeline.progress import Look
from gregor.pipeline.stages import archive_folder
from workers.fetcher.contact import require_contact

LINE_EVERY_S = 1.0


@click.command(short_help="Crawl with one command, on this machine alone.")
@click.argument("seeds", nargs=-1)
@click.option("--demo", is_flag=True, help="Crawl a small site that gregor itself serves on loopback.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the crawl lives; the same folder goes on later.")
@click.option("--delay", type=float, help="Seconds between two requests to one server.")
@click.option(
    "--contact", help="URL or mailto: where the owner of a site learns who is crawling; public hosts need it."
)
@pass_settings
def crawl(
    settings: Settings,
    seeds: tuple[str, ...],
    demo: bool,
    folder: Path | None,
    delay: float | None,
    contact: str | None,
) -> None:
    """Crawl SEEDS and everything in scope behind them, on this machine alone and without a broker.

    Ctrl-C stops after the last checkpoint; the same command with the same --folder goes on where it stopped.

    \b
    Examples:
      gregor crawl --demo                     a small bundled site, in seconds
      gregor crawl --folder docs https://docs.example.com/
      gregor --config site.toml crawl         what the configuration file says
    """
    if demo:
        if seeds:
            raise UsageError("expected either seeds or --demo, found both")
        _crawl_demo(settings, folder)
        return
    flags = {
        "crawl.seeds": Flag(seeds, "SEEDS") if seeds else None,
        "crawl.contact": Flag(contact, "--contact"),
        "fetch.delay_s": Flag(delay, "--delay"),
    }
    config = settings.load(flags).config
    if not config.crawl.seeds:
        raise UsageError("expected at least one seed, found none; give a URL, or try `gregor crawl --demo`")
    require_contact(config)
    place = folder or Path(config.state.folder)
    _run(config, place)
    _tell_archive(config, place)


def _crawl_demo(settings: Settings, folder: Path | None) -> None:
    with serve(DemoSite()) as server, _folder(folder) as path:
        flags = {
            "crawl.seeds": Flag(tuple(server.site.seeds), "--demo"),
            "fetch.delay_s": Flag(0.0, "--demo"),
            "fetch.allow_addresses": Flag(("127.0.0.0/8",), "--demo"),
        }
        click.echo(f"A small site answers at {', '.join(server.site.seeds)}")
        config = settings.load(flags).config
        _run(config, path)
        _judge(server)
        if folder is not None:
            _tell_archive(config, folder)


def _tell_archive(config: Config, folder: Path) -> None:
    if config.archive.enabled:
        place = archive_folder(config, folder)
        click.echo(
            f"The pages are in {place}: `gregor export {place}` takes them out, `gregor index {place}` indexes them."
        )


def _judge(server: DemoServer) -> None:
    """What the site itself saw: every page once, none twice."""
    asked = server.requested()
    expected = server.site.urls()
    twice = sum(1 for count in asked.values() if count > 1)
    missed = len(expected - asked.keys())
    click.echo(
        f"The site's own log: {len(expected)} URLs exist, {len(asked)} were asked for, {twice} twice, {missed} never."
    )


def _run(config: Config, folder: Path) -> None:
    stop = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        stop.set()

    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    began = time.monotonic()
    progress = _Progress(began)
    job = EmbeddedCrawl(config, folder)
    try:
        last = job.run(progress.show, stop)
    finally:
        progress.end()
        job.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
    _summarise(last, time.monotonic() - began)
    if stop.is_set():
        click.echo(f"Stopped. The same command with --folder {folder} goes on where it stopped.")
        sys.exit(EXIT_INTERRUPTED)


class _Progress:
    """One line that is rewritten on a terminal, a line a second elsewhere."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._terminal = sys.stderr.isatty()
        self._next = began + LINE_EVERY_S

    def show(self, now: Look) -> None:
        moment = time.monotonic()
        if not self._terminal and moment < self._next:
            return
        self._next = moment + LINE_EVERY_S
        counters = now.counters
        fetched = counters.get("confirmed", 0)
        rate = fetched / max(moment - self._began, 0.001)
        line = (
            f"{fetched:,} fetched, {rate:,.0f} a second, {counters.get('queued', 0):,} queued, "
            f"{counters.get('leased', 0):,} in flight, {counters.get('duplicates', 0):,} links known already"
        )
        until = now.waiting_until_ms
        if until is not None:
            line = f"{fetched:,} fetched, waiting until {datetime.fromtimestamp(until / 1000):%Y-%m-%d %H:%M:%S}"
        click.echo(f"\r\033[K{line}" if self._terminal else line, err=True, nl=not self._terminal)

    def end(self) -> None:
        if self._terminal:
            click.echo("\r\033[K", err=True, nl=False)


def _summarise(last: Look, seconds: float) -> None:
    counters = last.counters
    fetched = counters.get("confirmed", 0)
    found = counters.get("admitted", 0) + counters.get("duplicates", 0)
    click.echo(f"{fetched:,} URLs fetched in {seconds:.1f} s, {fetched / seconds:,.0f} a second.")
    click.echo(f"{found:,} links found, {counters.get('admitted', 0):,} of them new.")
    for title, prefix in (("Refused", "refused_"), ("Dropped", "dropped_"), ("Failed", "failed_")):
        reasons = {name.removeprefix(prefix): count for name, count in counters.items() if name.startswith(prefix)}
        if any(reasons.values()):
            told = (f"{count:,} by {reason}" for reason, count in sorted(reasons.items()) if count)
            click.echo(f"{title}: {', '.join(told)}.")
    waiting = counters.get("queued", 0) + counters.get("leased", 0) + counters.get("retrying", 0)
    if waiting:
        click.echo(f"{waiting:,} URLs are still waiting.")


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """The folder that was asked for, or one that is gone afterwards."""
    if given is not None:
        yield given
        return
    path = Path(tempfile.mkdtemp(prefix="gregor-demo-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
