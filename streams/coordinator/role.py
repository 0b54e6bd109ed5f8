"""The role of the coordinator: only crawls that place sites have it."""

import gc
from functools import partial
from typing import Final

from gregor.config import Config
from gregor.config.sections import OFFLINE_BACKENDS
from gregor.errors import UsageError
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.policy import policy_for
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Role, Scratch
from gregor.runtime.transport.port import ReadsLog, Session
from gregor.url.fingerprint import Placement
from streams.coordinator.metrics import METRICS, CoordinatorCounters
from streams.coordinator.name_lookup import DnsLookup
from streams.coordinator.stage import SPEC, CoordinatorStage


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    # Its records are trees, which reference counts free.
    gc.set_threshold(50_000, 20, 100)
    assert isinstance(session, ReadsLog), "the coordinator runs where the log can be read"
    table = partial(session.read, "sites", 0)
    stage = CoordinatorStage(config, table, DnsLookup if resolves(config) else None)
    return StageLoop(stage, session, policy_for(config.checkpoint, session), config_version=config.config_version)


def resolves(config: Config) -> bool:
    """Whether names are resolved before their sites are placed. Who opens no socket needs no address."""
    return config.sites.resolve and config.fetch.backend not in OFFLINE_BACKENDS


def enabled(config: Config) -> bool:
    return config.partitions.placement == "sites"


def require(config: Config) -> None:
    if not enabled(config):
        raise UsageError(
            f'expected a crawl with partitions.placement = "sites", found {config.partitions.placement!r}',
            remedy="a crawl that places by hash has no coordinator and needs none",
        )


ROLE: Final = Role(
    spec=SPEC,
    make=make,
    enabled=enabled,
    require=require,
    needed=True,
    metrics=METRICS,
    counters=CoordinatorCounters(),
)
