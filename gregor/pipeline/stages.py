"""The topology as data: every stage of a crawl, what it reads and writes, and how it is made and run."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.pipeline.extracting import EXTRACTOR, Scratch, extractor
from gregor.stage.loop import StageLoop
from gregor.stage.orders import OrderLoop
from gregor.stage.policy import suited
from gregor.stage.running import Loop
from gregor.transport.port import Session, StageSpec
from gregor.url.fingerprint import Placement
from streams.frontier import stage as frontier
from workers.archiver import stage as archiver
from workers.fetcher import stage as fetcher


class Role(Struct, frozen=True):
    """A stage that a process can run."""

    spec: StageSpec
    make: Callable[[Config, Placement, Session, Scratch], Loop]


def _frontier(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    # Its records are trees, which reference counts free; looking for cycles in them took a third of its time.
    gc.set_threshold(50_000, 20, 100)
    stage = frontier.FrontierStage(config, placement)
    return StageLoop(stage, session, suited(config.checkpoint, session), config_version=config.config_version)


def _fetcher(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    stage = fetcher.FetcherStage(config, placement, worker_id=session.member)
    return OrderLoop(stage, session, suited(config.checkpoint, session), config_version=config.config_version)


def _archiver(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    stage = archiver.ArchiverStage(config, archive_folder(config, scratch.home), session.member)
    # Every checkpoint of its brings files to the disk, whatever the log costs.
    return StageLoop(stage, session, config.checkpoint, config_version=config.config_version, notes=stage.note)


ROLES: Final = {
    "frontier": Role(frontier.SPEC, _frontier),
    "fetcher": Role(fetcher.SPEC, _fetcher),
    "extractor": Role(EXTRACTOR, extractor),
    "archiver": Role(archiver.SPEC, _archiver),
}


def embedded_roles(config: Config) -> dict[str, Role]:
    """The stages of a crawl in one process."""
    return {name: role for name, role in ROLES.items() if name != "archiver" or config.archive.enabled}


def archive_folder(config: Config, home: Path) -> Path:
    """Where the WARC files are; ``home`` is the folder of the crawl or worker."""
    return Path(config.archive.folder) if config.archive.folder else home / "archive"
