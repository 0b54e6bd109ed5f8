"""The role of the frontier."""

import gc
from typing import Final

from gregor.config import Config
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.policy import policy_for
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.port import Session
from gregor.url.fingerprint import Placement
from streams.frontier.metrics import METRICS, FrontierCounters
from streams.frontier.stage import SPEC, FrontierStage


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    # Its records are trees, which reference counts free; looking for cycles in them took a third of its time.
    gc.set_threshold(50_000, 20, 100)
    stage = FrontierStage(config, placement)
    return StageLoop(stage, session, policy_for(config.checkpoint, session), config_version=config.config_version)


ROLE: Final = Role(spec=SPEC, make=make, metrics=METRICS, counters=FrontierCounters())
