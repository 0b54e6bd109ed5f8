"""`gregor rearchive`: an archive made again from the topic pages, from any offset."""

from pathlib import Path

import click
from msgspec.structs import replace

from gregor.cli.moments import milliseconds
from gregor.cli.say import say
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, configuration, folder_option, opened
from gregor.errors import UsageError
from gregor.operate.control_state import control_state
from gregor.outputs.archive.rearchive import rearchive as archive_again
from gregor.runtime.transport.port import LogReader


@click.command(short_help="Make an archive again from the log.")
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "starts",
    multiple=True,
    metavar="[PARTITION:]OFFSET",
    help="Where to begin: in every partition, or in the one named; may be repeated. Without: at the beginning.",
)
@click.option("--since", metavar="TIME", help="Where to begin: 2026-11-16, or 2026-11-16T15:41:00Z.")
@folder_option
@bootstrap_option
@pass_settings
def rearchive(
    settings: CliSettings,
    output: Path,
    starts: tuple[str, ...],
    since: str | None,
    folder: Path | None,
    bootstrap: str | None,
) -> None:
    """Write the pages that the log still has, from any offset on, as a new archive into the folder OUTPUT.

    The crawl may go on meanwhile, and its own archive stays as it is. With PARTITION:OFFSET alone only these partitions are read. New
    rules for items on old pages are `gregor reextract`.

    \b
    Examples:
      gregor rearchive again --folder docs
      gregor rearchive again --from 3:1200 --from 4:0
      gregor rearchive today --since 2026-11-16
    """
    with opened(settings, folder, bootstrap) as handle:
        log = handle.reader
        config, _ = configuration(settings, handle, control_state(log), bootstrap)
        config = replace(config, crawl=replace(config.crawl, name=handle.crawl))
        done = archive_again(log, config, starts_of(log, starts, since), output)
    say(f"{done.pages:,} pages in {done.files:,} files in {output}")
    if done.unreadable:
        say(f"{done.unreadable:,} records were no pages; the topic dead-letters has them.")


def starts_of(log: LogReader, given: tuple[str, ...], since: str | None) -> dict[int, int]:
    """The first offset of ``pages`` in each partition that is wanted."""
    if given and since is not None:
        raise UsageError("expected either --from or --since, found both")
    if since is not None:
        return dict(log.since("pages", milliseconds(since)))
    partitions = log.ends("pages")
    everywhere = 0
    named: dict[int, int] = {}
    for text in given:
        partition, colon, offset = text.rpartition(":")
        if not offset.isdecimal() or (colon and (not partition.isdecimal() or int(partition) not in partitions)):
            raise UsageError(
                f"expected OFFSET or PARTITION:OFFSET with a partition of {min(partitions)} to {max(partitions)}, found {text!r}"
            )
        if colon:
            named[int(partition)] = int(offset)
        else:
            everywhere = int(offset)
    return named or dict.fromkeys(partitions, everywhere)
