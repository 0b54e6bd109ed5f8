"""`gregor status`: what each stage lags behind, what waits and for what, how fast it goes, and the largest servers."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from gregor.cli.numbers import Finite
from gregor.cli.say import say_json, say_lines, say_on_cleared_screen
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, folder_option, json_option, now_ms, opened
from gregor.errors import UsageError
from gregor.inspect.explain.checks import moment
from gregor.operate.site_status import SitesStatus
from gregor.operate.status import Status, Watch
from gregor.outputs.folds.servers import ServerRow

SLOTS_SHOWN: Final = 32


@click.command(short_help="Tell how a crawl is doing.")
@click.argument("place", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@folder_option
@bootstrap_option
@click.option(
    "--servers",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Servers to show; 0 reads five minutes only.",
)
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=Finite(0.2, 86_400),
    default=2.0,
    show_default=True,
    help="Between two looks of --watch.",
)
@json_option
@pass_settings
def status(
    settings: CliSettings,
    place: Path | None,
    folder: Path | None,
    bootstrap: str | None,
    servers: int,
    watch: bool,
    every: float,
    as_json: bool,
) -> None:
    """Tell how a crawl is doing: done, waiting and for what, paused or at work; the lag of each stage; rates; the largest servers.

    DIR is the folder of a crawl on this machine, whether it runs or not; without it, the crawl is that of the configuration.
    Looking never disturbs a crawl that runs.

    \b
    Examples:
      gregor status docs                    one look
      gregor status docs --watch            until Ctrl-C
      gregor status docs --json             for programs
      gregor --config big.toml status       a crawl on a cluster
    """
    if place is not None and folder is not None and place != folder:
        raise UsageError(f"expected one folder, found {place} and {folder}")
    with opened(settings, place or folder, bootstrap) as handle:
        looks = Watch(handle, whole=servers > 0)
        while True:
            now = looks.status(now_ms(), servers)
            _print(now, as_json, watch)
            if not watch:
                return
            time.sleep(every)


def _print(now: Status, as_json: bool, watch: bool) -> None:
    if as_json:
        say_json(now, indent=0 if watch else 2)
    elif watch:
        say_on_cleared_screen(lines(now))
    else:
        say_lines(lines(now))


def lines(now: Status) -> Iterator[str]:
    """A look as lines for people."""
    running = {True: "a process works on it", False: "no process works on it", None: ""}[now.running]
    yield f"crawl {now.crawl} in {now.where}: {now.phase}{f' ({running})' if running else ''}, {moment(now.now_ms)}"
    for what in now.waits_for:
        yield f"  waits: {what}"
    yield ""
    yield (
        f"  fetched {now.fetched:,}   queued {now.queued:,}   in flight {now.in_flight:,}   retrying {now.retrying:,}   "
        f"to be visited again {now.revisiting:,}"
    )
    yield f"  failed {now.failed:,}   dropped {now.dropped:,}   dead letters {now.dead_letters:,}"
    if now.sites is not None:
        yield from _sites(now.sites)
    if now.due_ms:
        yield f"  the first URL that waits for a time is due {moment(now.due_ms)}"
    if now.crawl_paused:
        yield "  the whole crawl is paused; `gregor resume` lets it go on"
    if now.paused_count:
        more = (
            f" and {now.paused_count - len(now.paused_servers)} more"
            if now.paused_count > len(now.paused_servers)
            else ""
        )
        yield f"  paused servers: {', '.join(now.paused_servers)}{more}"
    yield ""
    rows = [("stage", "lag", "members")]
    for name, stage in now.stages.items():
        rows.append((name, f"{stage.lag:,}", "-" if stage.members is None else str(stage.members)))
    yield from table(rows)
    yield ""
    rates = [("a second, in the last", "requests", "pages", "errors", "refused", "KiB")]
    for one in now.rates:
        figures = (one.requests, one.pages, one.errors, one.refused, one.bytes / 1024)
        rates.append((f"{one.seconds} s", *(f"{figure:,.1f}" for figure in figures)))  # type: ignore[arg-type]
    yield from table(rates)
    if now.servers:
        yield ""
        yield from table(
            [("server", "requests", "pages", "errors", "refused", "mean ms", "95 of 100", "MiB")]
            + [_row(row) for row in now.servers]
        )


def _sites(sites: SitesStatus) -> Iterator[str]:
    yield (
        f"  sites {sites.known:,}: placed {sites.placed:,}   waiting {sites.waiting:,}   being resolved {sites.found:,}   "
        f"unresolvable {sites.unresolvable:,}   blocked {sites.blocked:,}"
    )
    slots = "  ".join(f"{slot}: {count:,}" for slot, count in enumerate(sites.by_slot[:SLOTS_SHOWN]))
    more = f"  and {len(sites.by_slot) - SLOTS_SHOWN:,} more" if len(sites.by_slot) > SLOTS_SHOWN else ""
    yield f"  by slot  {slots}{more}"
    yield f"  links waiting for their sites {sites.links_waiting:,}   forwarded {sites.forwarded:,}"
    if sites.coordinators == 0:
        yield "  the coordinator does not run: sites that have a slot are crawled, links of new ones wait"


def _row(row: ServerRow) -> tuple[str, str, str, str, str, str, str, str]:
    return (
        row.server or f"{row.servers:,} others",
        f"{row.requests:,}",
        f"{row.pages:,}",
        f"{row.error_count:,}",
        f"{row.refused_count:,}",
        f"{row.times.mean_ms:,.0f}",
        f"{row.times.percentile(0.95):,.0f}",
        f"{row.wire_bytes / 2**20:,.2f}",
    )


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns; the first to the left, figures to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if n else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  " + "  ".join(cells).rstrip()
