"""`gregor sites import` and `gregor sites export`: the table of sites as CSV."""

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from gregor.cli.say import say, standard_output
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.sites_target import told, with_sites
from gregor.cli.target import bootstrap_option, folder_option, now_ms, user
from gregor.errors import UsageError
from gregor.operate.site_table import SiteTable
from gregor.operate.sites import Who, in_letters
from gregor.operate.sites_csv import SiteFile, write_csv

_CHUNK = 1 << 20


@click.command("import", short_help="Take sites and decisions from CSV.")
@click.argument("path", metavar="FILE.csv", type=click.Path(path_type=Path, allow_dash=True))
@folder_option
@bootstrap_option
@pass_settings
def import_command(settings: CliSettings, path: Path, folder: Path | None, bootstrap: str | None) -> None:
    """Take sites and what was decided of them from FILE.csv, or from standard input with "-".

    The first line names the columns: site, and any of state, budget, max_depth and tags (separated by semicolons). A site that nobody
    has met is made known. State placed or approved lets it be crawled, blocked does not; any other leaves it as it is. A column that is
    left out, and an empty budget or depth, change nothing. slot, found_on and found are what the crawl says of a site and are not taken
    in. One wrong line, and nothing of the file is.

    \b
    Examples:
      gregor sites import sites.csv --folder docs
      gregor sites export - --folder old | gregor sites import - --folder new
    """
    with with_sites(settings, folder, bootstrap) as crawl, _opened(path) as file:
        lines = SiteFile(
            file, "standard input" if str(path) == "-" else str(path), crawl.partition_by, crawl.partitions
        )
        count = lines.check()
        if not count:
            say("no sites in it")
            return
        said = ""
        for letter in in_letters(lines.commands(Who(user(), now_ms()))):
            said = crawl.handle.send(letter)
        say(f"import {count:,} {'site' if count == 1 else 'sites'}: {said}")
        told(crawl)


@click.command("export", short_help="Give all sites as CSV.")
@click.argument("path", metavar="[FILE.csv]", type=click.Path(path_type=Path, allow_dash=True), default="-")
@folder_option
@bootstrap_option
@pass_settings
def export_command(settings: CliSettings, path: Path, folder: Path | None, bootstrap: str | None) -> None:
    """Write all sites to FILE.csv, or to standard output: site, state, slot, budget, max_depth, tags, found_on, found.

    \b
    Examples:
      gregor sites export sites.csv --folder docs
      gregor sites export --folder docs | grep ,waiting,
    """
    with with_sites(settings, folder, bootstrap) as crawl, SiteTable(crawl.reader) as known:
        if str(path) == "-":
            write_csv(known.rows(), _StandardOutput())
            return
        with path.open("w", encoding="utf-8", newline="") as file:
            count = write_csv(known.rows(), file)
        say(f"{count:,} {'site' if count == 1 else 'sites'} written to {path}")


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """A file that can be read twice."""
    if str(path) == "-":
        with tempfile.TemporaryFile() as copy:
            while chunk := sys.stdin.buffer.read(_CHUNK):
                copy.write(chunk)
            yield io.TextIOWrapper(copy, "utf-8-sig", newline="")
        return
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(f"expected a CSV file of sites, found {str(error.strerror).lower()}: {path}") from error
    with file:
        yield file


class _StandardOutput:
    def __init__(self) -> None:
        self._out = standard_output()

    def write(self, text: str) -> None:
        self._out.write(text.encode())
