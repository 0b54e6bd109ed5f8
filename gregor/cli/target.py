"""Which crawl a command is about: a folder on this machine, or the topics of the configured cluster."""

import getpass
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from gregor.cli.crawl import OUTPUT
from gregor.cli.settings import CliSettings
from gregor.config import Config, Flag
from gregor.errors import UsageError
from gregor.operate.config_history import recall_config
from gregor.operate.control_state import ControlState
from gregor.operate.crawl_handle import CrawlHandle, FolderHandle, KafkaHandle
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.reachable import require_somebody
from gregor.runtime.transport.kafka.transport import KafkaTransport

F = TypeVar("F", bound=Callable[..., Any])


def folder_option(command: F) -> F:
    text = f"The crawl's folder; without it the configured cluster, or {OUTPUT} here."
    return click.option("--folder", type=click.Path(path_type=Path), metavar="DIR", help=text)(command)


def bootstrap_option(command: F) -> F:
    return click.option("--bootstrap", help="Brokers of the cluster: host:port, several with commas.")(command)


def json_option(command: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


def state_option(text: str) -> Callable[[F], F]:
    """One folder: of several, the last would be looked at alone, and its user would take the answer for that of all."""
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    return click.option("--state", type=folder, metavar="DIR", multiple=True, callback=_once, help=text)


def _once(context: click.Context, option: click.Parameter, given: tuple[Path, ...]) -> Path | None:
    if len(given) > 1:
        raise UsageError(
            f"expected --state once, found it {len(given)} times", remedy="run the command for each folder"
        )
    return given[0] if given else None


@contextmanager
def opened(settings: CliSettings, folder: Path | None, bootstrap: str | None) -> Iterator[CrawlHandle]:
    """The crawl of a folder that was named; else that of the cluster, if one is configured; else what `gregor crawl` makes here."""
    handle = _handle(settings, folder, bootstrap)
    try:
        yield handle
    finally:
        handle.close()


def _handle(settings: CliSettings, folder: Path | None, bootstrap: str | None) -> CrawlHandle:
    if folder is not None:
        return FolderHandle(folder)
    loaded = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")})
    if loaded.origin["kafka.bootstrap"] != "default":
        require_somebody(loaded.config.kafka)
        return KafkaHandle(loaded.config, Path(loaded.config.state.folder))
    return FolderHandle(Path(OUTPUT))


def cluster(config: Config) -> KafkaTransport:
    """The configured cluster, for a command that is about no folder."""
    require_somebody(config.kafka)
    return kafka_transport(config, Path(config.state.folder))


def configuration(
    settings: CliSettings, handle: CrawlHandle, known: ControlState, bootstrap: str | None
) -> tuple[Config, str]:
    """What to judge by, and where it comes from: the file that was named, else what the crawl itself noted, else what is there."""
    named = settings.path is not None or "GREGOR_CONFIG" in settings.env
    recalled = None if named else recall_config(known)
    if recalled is not None:
        return recalled, "as the crawl noted it"
    loaded = settings.load({"kafka.bootstrap": Flag(bootstrap, "--bootstrap")})
    config = loaded.config
    partitions = replace(config.partitions, partitions=handle.partitions, placement=handle.placement)
    source = f"from {loaded.path}" if loaded.path else "the defaults, since no file is named and the crawl noted none"
    return replace(config, partitions=partitions), source


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def user() -> str:
    """Who runs the command, for people who wonder later; empty: the system does not say."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
