"""The role of the fetcher."""

from typing import Final

from gregor.config import Config
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.loops.policy import policy_for
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.port import Session
from gregor.url.fingerprint import Placement
from workers.fetcher.backends.archive.web_files import require_web
from workers.fetcher.contact import require_contact
from workers.fetcher.metrics import METRICS
from workers.fetcher.stage import SPEC, FetcherStage


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    stage = FetcherStage(config, placement, worker_id=session.member)
    return OrderLoop(stage, session, policy_for(config.checkpoint, session), config_version=config.config_version)


def _require(config: Config) -> None:
    require_contact(config)
    require_web(config)


ROLE: Final = Role(spec=SPEC, make=make, require=_require, metrics=METRICS)
