"""Which crawl a command is about: a folder on this machine, or the topics of the configured cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from gregor.cli.crawl import OUTPUT
from gregor.cli.settings import Settings
from gregor.config import Config, Flag
from gregor.pipeline.operate.access import Access, FolderAccess, KafkaAccess
from gregor.pipeline.operate.pauses import Held
from gregor.pipeline.operate.remembered import recall

F = TypeVar("F", bound=Callable[..., Any])


def folder_option(command: F) -> F:
    text = f"The crawl's folder; without it the configured cluster, or {OUTPUT} here."
    return click.option("--folder", type=click.Path(path_type=Path), metavar="DIR", help=text)(command)


def bootstrap_option(command: F) -> F:
    return click.option("--bootstrap", help="Brokers of the cluster: host:port, several with commas.")(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


@contextmanager
def opened(settings: Settings, folder: Path | None, bootstrap: str | None) -> Iterator[Access]:
    """The crawl of a folder that was named; else that of the cluster, if one is configured; else what `gregor crawl` makes here."""
    access = _access(settings, folder, bootstrap)
    try:
        yield access
    finally:
        access.close()


def _access(settings: Settings, folder: Path | None, bootstrap: str | None) -> Access:
    if folder is not None:
        return FolderAccess(folder)
    loaded = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")})
    if loaded.origin["kafka.bootstrap"] != "default":
        return KafkaAccess(loaded.config, Path(loaded.config.state.folder))
    return FolderAccess(Path(OUTPUT))


def configuration(settings: Settings, access: Access, known: Held, bootstrap: str | None) -> tuple[Config, str]:
    """What to judge by, and where it comes from: the file that was named, else what the crawl itself noted, else what is there."""
    named = settings.path is not None or "GREGOR_CONFIG" in settings.env
    recalled = None if named else recall(known)
    if recalled is not None:
        return recalled, "as the crawl noted it"
    loaded = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")})
    config = loaded.config
    partitions = replace(config.partitions, partitions=access.partitions)
    source = f"from {loaded.path}" if loaded.path else "the defaults, since no file is named and the crawl noted none"
    return replace(config, partitions=partitions), source


def now_ms() -> int:
    return time.time_ns() // 1_000_000
