"""The role of the archiver."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gregor.config import Config
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.port import Session
from gregor.url.fingerprint import Placement
from workers.archiver.metrics import METRICS
from workers.archiver.stage import SPEC, ArchiverStage


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    stage = ArchiverStage(config, archive_folder(config, scratch.home), session.member)
    # Every checkpoint of its brings files to the disk, whatever the log costs.
    return StageLoop(stage, session, config.checkpoint, config_version=config.config_version, notes=stage.note)


def archive_folder(config: Config, home: Path) -> Path:
    """Where the WARC files are; ``home`` is the folder of the crawl or worker."""
    return Path(config.archive.folder) if config.archive.folder else home / "archive"


def enabled(config: Config) -> bool:
    return config.archive.enabled


def folders(config: Config, home: Path) -> Mapping[str, Path]:
    return {"archive": archive_folder(config, home)}


ROLE: Final = Role(spec=SPEC, make=make, enabled=enabled, folders=folders, metrics=METRICS)
