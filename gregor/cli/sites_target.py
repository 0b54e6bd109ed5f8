"""The crawl that a command about sites is about; one that places servers by hash has none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

from gregor.cli.say import say
from gregor.cli.settings import CliSettings
from gregor.cli.target import configuration, opened
from gregor.config import Config
from gregor.errors import UsageError
from gregor.operate.config_history import recall_config
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import CrawlHandle, FolderHandle
from gregor.run.placement import placement_of
from gregor.runtime.transport.port import LogReader

COORDINATOR = "coordinator"


class SiteCrawl(Struct, frozen=True):
    """A crawl with sites."""

    handle: CrawlHandle
    config: Config

    @property
    def reader(self) -> LogReader:
        return self.handle.reader

    @property
    def partitions(self) -> int:
        return self.handle.partitions

    @property
    def partition_by(self) -> Literal["server", "domain"]:
        return self.config.partitions.partition_by

    def home(self, site: str) -> int:
        return placement_of(self.config).partition(site)


@contextmanager
def with_sites(settings: CliSettings, folder: Path | None, bootstrap: str | None) -> Iterator[SiteCrawl]:
    """UsageError when the crawl has no sites."""
    with opened(settings, folder, bootstrap) as handle:
        handle.catch_up()
        if handle.placement != "sites":
            raise UsageError(
                f'expected a crawl with partitions.placement = "sites", found one that places servers by their hash: {handle.where}',
                remedy="it has no table of sites; `gregor status` shows its servers",
            )
        known = control_state(handle.reader)
        # A folder's crawl noted what it runs under; the file at hand may be that of another.
        recalled = recall_config(known) if isinstance(handle, FolderHandle) else None
        config = recalled or configuration(settings, handle, known, bootstrap)[0]
        yield SiteCrawl(handle, config)


def told(crawl: SiteCrawl) -> None:
    """Say so if nobody is there to obey what was just written."""
    nobody = crawl.handle.running() is False if isinstance(crawl.handle, FolderHandle) else None
    if nobody or crawl.handle.members(COORDINATOR) == 0:
        say("no coordinator runs now; it is obeyed once one does")
