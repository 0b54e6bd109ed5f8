"""Fold a crawl's log into summary.json and report.html."""

import os
from pathlib import Path
from typing import Final

import msgspec

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.operate.active_stages import stages_of
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.report.page import report_html
from gregor.outputs.report.previous import set_aside
from gregor.outputs.report.summary import Summary, summary_of
from gregor.run.progress import look
from gregor.runtime.transport.port import LogReader
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import Undecodable, encode

SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"
FOLDED: Final = ("fetched", "verdicts")
"""Topics without whose records a report is not complete."""


def make_report(output: Path, log: LogReader, crawl: str, partitions: int, now_ms: int) -> Summary:
    """Write both files into the folder ``output``, in place of those that are there; each is there whole or not at all. Complete ones
    are kept beside those that are not (previous.py)."""
    summary = fold_summary(log, crawl, partitions, now_ms)
    try:
        output.mkdir(parents=True, exist_ok=True)
        set_aside(output / SUMMARY, output / REPORT, summary)
        _write(output / SUMMARY, msgspec.json.format(encode(summary), indent=2) + b"\n")
        _write(output / REPORT, report_html(summary).encode("utf-8", "replace"))
    except OSError as error:
        raise GregorError(
            f"expected a folder for the report, found that {output} cannot be written to ({error.strerror})",
            exit_code=EXIT_ENVIRONMENT,
            remedy="make room or name another folder, then `gregor report`; the crawl itself is not touched",
        ) from error
    return summary


def fold_summary(log: LogReader, crawl: str, partitions: int, now_ms: int) -> Summary:
    """The summary of a crawl as its log stands now."""
    seen = look(log, stages_of(log), partitions)
    return summary_of(crawl, fold_views(log), seen, _archive(log), complete=_is_complete(log), now_ms=now_ms)


def fold_views(log: LogReader) -> CrawlView:
    """All views, from the first record that the log has to the last."""
    view = CrawlView()
    for topic in FOLDED:
        for partition, (first, end) in log.ends(topic).items():
            for record in log.read(topic, partition, first, end):
                view.record(topic, record.value)
    return view


def _is_complete(log: LogReader) -> bool:
    return all(first == 0 for topic in FOLDED for first, _ in log.ends(topic).values())


def _archive(log: LogReader) -> list[ArchiveFile]:
    """The last word on each file."""
    files: dict[bytes | None, ArchiveFile] = {}
    for partition, (first, end) in log.ends("archive").items():
        for record in log.read("archive", partition, first, end):
            try:
                files[record.key] = decode_archive_file(record.value)
            except Undecodable:
                files.pop(record.key, None)
    return list(files.values())


def _write(path: Path, content: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
