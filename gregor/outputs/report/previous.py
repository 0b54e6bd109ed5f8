"""The last summary and report that told of a whole crawl. What was trimmed from its log cannot be folded again, so that they stay beside
those that tell of the rest."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from gregor.outputs.report.summary import Summary


class _Told(Struct, frozen=True):
    """What has to be known of an earlier summary."""

    crawl: str = ""
    complete: bool = False


def aside(file: Path) -> Path:
    """Where a file is kept that told of everything."""
    return file.with_stem(f"{file.stem}-complete")


def set_aside(summary: Path, report: Path, new: Summary) -> None:
    """Keep both files of the same crawl if they are complete and the new ones are not."""
    if new.complete:
        return
    try:
        old = msgspec.json.decode(summary.read_bytes(), type=_Told)
    except (FileNotFoundError, msgspec.MsgspecError):
        return
    if not old.complete or old.crawl != new.crawl:
        return
    # The summary last: as long as it is there, both are known to be worth keeping.
    for file in (report, summary):
        with suppress(FileNotFoundError):
            os.replace(file, aside(file))


def caveat(summary: Path, report: Path, new: Summary) -> str:
    """What is said of a summary that does not tell of everything; empty: it does."""
    if new.complete:
        return ""
    kept = (
        f" {aside(report)} and {aside(summary).name} are the last that told of all." if aside(summary).exists() else ""
    )
    return f"Records were trimmed from the log: what is folded from it tells of the rest alone.{kept}"
