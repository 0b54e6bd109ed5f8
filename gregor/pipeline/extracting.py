"""How an extractor is made. A process of its own needs nothing of the other stages, and starts in half the time without them."""

import gc
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config
from gregor.stage.loop import StageLoop
from gregor.stage.policy import suited
from gregor.stage.running import Loop
from gregor.transport.port import Session, StageSpec
from gregor.url.fingerprint import HashPlacement, Placement
from workers.extractor import stage

EXTRACTOR: Final[StageSpec] = stage.SPEC


class Scratch(Struct, frozen=True):
    """Where a stage may keep what it can do without."""

    folder: Path
    home: Path
    """The folder of the crawl or worker, which stays."""
    lasting: bool
    """Whether the folder lives and dies with the crawl's own log, so that what it says of the log stays true."""


def extractor(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    gc.set_threshold(50_000, 20, 100)
    made = stage.ExtractorStage(config, placement, scratch.folder / "filter", scratch.lasting)
    return StageLoop(made, session, suited(config.checkpoint, session), config_version=config.config_version)


def placement_of(config: Config) -> Placement:
    layout = config.partitions
    return HashPlacement(layout.repositories, layout.partitions, layout.partition_by)
