"""`gregor reextract`: items taken once more from the pages of a crawl, with other rules."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from gregor.cli.interruptible import interruptible
from gregor.cli.rearchive import starts_of
from gregor.cli.say import say, say_json, say_lines
from gregor.cli.settings import CliSettings, pass_settings
from gregor.cli.target import bootstrap_option, configuration, folder_option, json_option, opened
from gregor.cli.what_if import judged_by
from gregor.config import Config
from gregor.errors import EXIT_INTERRUPTED, UsageError
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import CrawlHandle, FolderHandle
from gregor.outputs.reextract.sources import TopicSource, missing, source_of
from gregor.outputs.reextract.to_file import Form, Reextracted, to_file
from gregor.outputs.reextract.to_topic import to_topic
from workers.archiver.role import archive_folder


@click.command("reextract", short_help="Take items again from old pages, by new rules.")
@click.argument("output", metavar="[OUTPUT]", required=False, type=click.Path(path_type=Path))
@click.option("--as", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", help="One file, or a folder.")
@click.option("--topic", metavar="NAME", help="Write to a new topic of the cluster instead of a file.")
@click.option(
    "--config", "file", type=click.Path(path_type=Path), help="File with the rules: its [[item]] and [extract]."
)
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a setting of [extract]; repeatable.")
@click.option(
    "--from",
    "starts",
    multiple=True,
    metavar="[PARTITION:]OFFSET",
    help="Where to begin in pages: in every partition, or in the one named; repeatable. Without: at the beginning.",
)
@click.option("--since", metavar="TIME", help="Where to begin: 2026-11-16, or 2026-11-16T15:41:00Z.")
@click.option("--archive", type=click.Path(path_type=Path), metavar="DIR", help="Read the WARC files of this folder.")
@click.option("--processes", type=click.IntRange(0, 256), help="Processes that read pages beside this one.")
@folder_option
@bootstrap_option
@json_option
@pass_settings
def reextract(
    settings: CliSettings,
    output: Path | None,
    form: Form,
    topic: str | None,
    file: Path | None,
    changes: tuple[str, ...],
    starts: tuple[str, ...],
    since: str | None,
    archive: Path | None,
    processes: int | None,
    folder: Path | None,
    bootstrap: str | None,
    as_json: bool,
) -> None:
    """Read the pages of a crawl again, with other rules for items, and write what they give to the file OUTPUT or to a new topic. The
    items are those of a crawl with these rules; links are not followed and nothing is asked of any server.

    Pages come from the topic, or where it was trimmed from the archive. A run that was interrupted or killed goes on with the same
    command: nothing is there twice. Into a topic, the same command may run on several machines at once. The crawl may go on meanwhile;
    pages that come later are not read.

    The items that the crawl took itself are `gregor items`; the pages themselves as a new archive `gregor rearchive`; other decisions of
    the frontier `gregor replay`.

    \b
    Examples:
      gregor reextract prices.jsonl --folder shop --config rules.toml
      gregor reextract facts --as parquet --folder docs --set 'extract.page_facts=["title", "language"]'
      gregor --config big.toml reextract --topic items-2 --config rules.toml --since 2026-11-16
    """
    if (output is None) == (topic is None):
        raise UsageError("expected either a file or --topic, found " + ("neither" if output is None else "both"))
    if topic is not None and archive is not None:
        raise UsageError("expected either --archive or --topic, found both; a topic is filled from the topic pages")
    with opened(settings, folder, bootstrap) as handle:
        known = control_state(handle.reader)
        own, _ = configuration(settings, handle, known, bootstrap)
        new, _ = judged_by(settings, handle, known, bootstrap, file, changes)
        config = _with_rules(own, new, handle.crawl, processes)
        begin = starts_of(handle.reader, starts, since)
        with interruptible() as stop:
            if topic is not None:
                _require_cluster(handle)
                home = Path(config.state.folder)
                done = to_topic(config, begin, topic, home, stop, _tell)
            else:
                assert output is not None
                source = source_of(handle.reader, begin, archive or _archive(handle, own), archive is not None)
                if isinstance(source, TopicSource):
                    _warn(handle, begin)
                done = to_file(handle.reader, config, source, output, form, stop, _tell)
    if as_json:
        say_json(done, indent=2)
    else:
        say_lines(_lines(done, str(output or f"topic {config.names.topic(topic or '')}")))
    if not done.finished:
        say("Stopped. The same command goes on where it stopped.", err=True)
        sys.exit(EXIT_INTERRUPTED)


def _with_rules(own: Config, new: Config, crawl: str, processes: int | None) -> Config:
    """The crawl's own configuration, with the rules of another."""
    extract = new.extract if processes is None else replace(new.extract, processes=processes)
    config = replace(own, item=new.item, extract=extract, crawl=replace(own.crawl, name=crawl))
    if not config.item and not config.extract.page_facts:
        raise UsageError(
            "expected rules for items, found none",
            remedy="write [[item]] tables, or extract.page_facts, and name the file",
        )
    return config


def _require_cluster(handle: CrawlHandle) -> None:
    if isinstance(handle, FolderHandle):
        raise UsageError("expected a cluster for --topic, found the crawl of a folder", remedy="write to a file")


def _archive(handle: CrawlHandle, config: Config) -> Path | None:
    home = handle.folder.parent if isinstance(handle, FolderHandle) else Path(config.state.folder)
    place = archive_folder(config, home)
    return place if place.is_dir() else None


def _warn(handle: CrawlHandle, begin: dict[int, int]) -> None:
    """What is gone is said, and if nothing is left that is an error."""
    gone = missing(handle.reader, begin)
    ends = handle.reader.ends("pages")
    if gone and all(first == end for first, end in ends.values()):
        raise UsageError("expected pages, found that all of them were trimmed", remedy="name an archive with --archive")
    for partition, first in gone.items():
        say(f"pages[{partition}] begins at offset {first:,}: what stood before was trimmed", err=True)


def _tell(line: str) -> None:
    say(line, err=True)


def _lines(done: Reextracted, place: str) -> Iterator[str]:
    yield f"{done.items:,} items of {done.pages:,} pages from {done.source} in {place}"
    yield from (f"  {count:,} by {rule}" for rule, count in done.rules.items())
    yield from (f"  {count:,} {reason}" for reason, count in done.failures.items())
    if done.unreadable:
        yield f"  {done.unreadable:,} records were no pages; the topic dead-letters has them"
