"""`gregor report`: summary.json and report.html of a crawl, made again from its log."""

from pathlib import Path

import click

from gregor.pipeline.operate.access import FolderAccess
from gregor.report.make import REPORT, SUMMARY, make_report
from gregor.stage.loop import now_ms


@click.command(short_help="Make the report of a crawl again.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="Folder for both files. Without: DIR.")
def report(folder: Path, output: Path | None) -> None:
    """Write summary.json and report.html into DIR, the folder of a crawl; the crawl may be running.

    \b
    Examples:
      gregor report docs
      gregor report docs --output /tmp/today
    """
    access = FolderAccess(folder)
    try:
        place = output or folder
        summary = make_report(place, access.reader, access.crawl, access.partitions, now_ms())
    finally:
        access.close()
    fetched, servers = summary.urls.fetched, summary.server_count
    click.echo(f"{fetched:,} URLs fetched by {summary.requests:,} requests. Servers: {servers:,}.")
    click.echo(f"For people: {place / REPORT}. For programs: {place / SUMMARY}.")
