"""The role of the extractor. A process of its own imports nothing of the other stages, and starts in half the time without them."""

import gc
from typing import Final

from gregor.config import Config
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.policy import policy_for
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.port import Session
from gregor.url.fingerprint import Placement
from workers.extractor.metrics import METRICS
from workers.extractor.stage import SPEC, ExtractorStage


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    gc.set_threshold(50_000, 20, 100)
    stage = ExtractorStage(config, placement, scratch.folder / "filter", scratch.lasting)
    return StageLoop(stage, session, policy_for(config.checkpoint, session), config_version=config.config_version)


ROLE: Final = Role(spec=SPEC, make=make, metrics=METRICS, in_processes=True, leaves_first=True)
