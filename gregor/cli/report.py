"""`gregor report`: summary.json and report.html of a crawl, made again from its log."""

from pathlib import Path

import click

from gregor.cli.say import say
from gregor.operate.crawl_handle import FolderHandle
from gregor.outputs.report.make import REPORT, SUMMARY, make_report
from gregor.outputs.report.previous import caveat
from gregor.runtime.loops.loop import now_ms


@click.command(short_help="Make the report of a crawl again.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="Folder for both files. Without: DIR.")
def report(folder: Path, output: Path | None) -> None:
    """Write summary.json and report.html into DIR, the folder of a crawl; the crawl may be running.

    They are folded from the log. After `gregor trim` they tell of what is left in it alone; the last that told of all are then kept as
    summary-complete.json and report-complete.html.

    \b
    Examples:
      gregor report docs
      gregor report docs --output /tmp/today
    """
    handle = FolderHandle(folder)
    try:
        place = output or folder
        summary = make_report(place, handle.reader, handle.crawl, handle.partitions, now_ms())
    finally:
        handle.close()
    fetched, servers = summary.urls.fetched, summary.server_count
    say(f"{fetched:,} URLs fetched by {summary.requests:,} requests. Servers: {servers:,}.")
    say(f"For people: {place / REPORT}. For programs: {place / SUMMARY}.")
    if partial := caveat(place / SUMMARY, place / REPORT, summary):
        say(partial)
