"""What a whole crawl says and leaves behind: the files in the output folder, the summary, the seeds that failed."""

import sys
from pathlib import Path
from typing import Final, Protocol

import msgspec

from gregor.cli.say import say, say_json
from gregor.config import Config
from gregor.errors import EXIT_APPROVALS, EXIT_CHECK_FAILED, EXIT_WAITING
from gregor.inspect.explain.checks import moment
from gregor.outputs.archive.index import MERGED, build_index
from gregor.outputs.archive.items import items_of, write_jsonl
from gregor.outputs.archive.reader import open_archive
from gregor.outputs.report.make import REPORT, SUMMARY, make_report
from gregor.outputs.report.previous import caveat
from gregor.outputs.report.summary import Summary
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.transport.port import LogReader
from workers.archiver.manifest import read_manifests
from workers.archiver.role import archive_folder

ITEMS: Final = "items.jsonl"
MOST_REASONS: Final = 8


class Job(Protocol):
    """A crawl that has been run, on this machine alone or on a cluster."""

    @property
    def transport(self) -> LogReader: ...

    @property
    def cpu_s(self) -> dict[str, float]:
        """Processor time by stage."""
        ...

    @property
    def silent(self) -> dict[str, str]:
        """If it ended because no server of the seeds answered: each of them, and what happened instead."""
        ...

    @property
    def waits_until_ms(self) -> int:
        """If it ended because nothing may be asked for before: until when; else 0."""
        ...

    @property
    def sites_waiting(self) -> int:
        """If it ended because nothing else is left: sites that somebody has to approve; else 0."""
        ...

    @property
    def shows_sites(self) -> str:
        """By which commands they are shown and approved, for people."""
        ...


def write_outputs(job: Job, config: Config, output: Path) -> Summary:
    """The files that people use: indexes of the archive, items, summary and report."""
    archive = archive_folder(config, output)
    if config.archive.enabled and read_manifests(archive):
        build_index(open_archive(archive))
    write_jsonl(lambda: items_of(job.transport), output / ITEMS)
    return make_report(output, job.transport, config.crawl.name, config.partitions.partitions, now_ms())


def tell(summary: Summary, job: Job, config: Config, output: Path, as_json: bool) -> None:
    """The summary; ends the program when no seed could be fetched, when the crawl waits for a time that is far away, and when it waits
    for people."""
    if as_json:
        whole = {"type": "summary", "cpu_s": job.cpu_s, "output": str(output), **msgspec.to_builtins(summary)}
        say_json(whole)
    else:
        _tell_people(summary, config, output)
    if job.sites_waiting:
        sites = "1 site waits" if job.sites_waiting == 1 else f"{job.sites_waiting:,} sites wait"
        say(f"gregor: {sites} for somebody to approve; {job.shows_sites}, and the same command goes on", err=True)
        sys.exit(EXIT_APPROVALS)
    if job.silent or (summary.state == "done" and not summary.urls.fetched):
        say(f"gregor: {_why_nothing(summary, job.silent, config, output)}", err=True)
        sys.exit(EXIT_CHECK_FAILED)
    if job.waits_until_ms:
        urls = "1 URL waits" if summary.urls.waiting == 1 else f"{summary.urls.waiting:,} URLs wait, the first"
        say(f"gregor: {urls} until {moment(job.waits_until_ms)}; the same command goes on then", err=True)
        sys.exit(EXIT_WAITING)


def _why_nothing(summary: Summary, silent: dict[str, str], config: Config, output: Path) -> str:
    told = [f"{server}: {what}" for server, what in list(silent.items())[:MOST_REASONS]]
    told += [f"{count:,} {name}" for name, count in summary.outcomes.items()]
    told += [f"{one.count:,} refused by {one.reason}" for one in summary.refusals]
    found = "; ".join(told) or "nothing was asked for"
    return (
        f"expected the seeds to answer, found none that did ({found}); `gregor explain {config.crawl.seeds[0]} {output}` tells "
        f"more, and the same command goes on trying"
    )


def _tell_people(summary: Summary, config: Config, output: Path) -> None:
    urls, links = summary.urls, summary.links
    say(
        f"{urls.fetched:,} URLs of {summary.server_count:,} servers fetched in {summary.duration_s:,.1f} s, "
        f"{summary.pages_per_s:,.0f} a second; {_size(summary.body_bytes)} of content."
    )
    answers = ", ".join(f"{count:,} with {status}" for status, count in summary.statuses.items())
    if answers:
        say(f"Answers: {answers}.")
    if urls.failed or urls.waiting:
        say(f"{urls.failed:,} URLs failed, {urls.waiting:,} are still waiting.")
    if summary.refusals:
        shown = ", ".join(f"{one.count:,} by {one.reason}" for one in summary.refusals[:MOST_REASONS])
        say(f"Not fetched: {shown}.")
    say(f"{links.new:,} new URLs found.")
    say(f"Report: {output / REPORT}")
    if partial := caveat(output / SUMMARY, output / REPORT, summary):
        say(partial)
    if config.archive.enabled:
        place = archive_folder(config, output)
        say(f"Pages: {place} (WARC, {place / MERGED} and Parquet beside it); `gregor export {place}` takes them out.")
    if (output / ITEMS).stat().st_size:
        say(f"Items: {output / ITEMS}")


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"
