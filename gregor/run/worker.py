"""One stage as one process on a Kafka cluster."""

import logging
import signal
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from gregor.config import Config
from gregor.run.placement import placement_of
from gregor.run.topology import ROLES
from gregor.runtime.role import Role, Scratch
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.kafka.transport import KafkaTransport

if TYPE_CHECKING:
    from gregor.runtime.metrics.worker import WorkerMetrics

_log: Final = logging.getLogger("gregor.run")


def kafka_transport(config: Config, folder: Path) -> KafkaTransport:
    return KafkaTransport(config.names, config.kafka, folder, SharedMemory(StoreOptions.of(config.state)))


def run_worker(role: str, config: Config, folder: Path) -> None:
    """Until SIGTERM, SIGINT or `gregor stop`: the checkpoint is finished, the group is left."""
    chosen = ROLES[role]
    chosen.require(config)
    with ExitStack() as closing:
        # Before anything else: whoever looks after the worker can then tell one that waits for a broker from one that is not there.
        metrics = _metrics(chosen, config, folder) if config.metrics.port else None
        if metrics is not None:
            closing.callback(metrics.close)
        _run(chosen, config, folder, metrics)


def _metrics(role: Role, config: Config, folder: Path) -> "WorkerMetrics":
    # Not needed by most who import this, and slow to import.
    from gregor.runtime.metrics.worker import WorkerMetrics

    return WorkerMetrics(config, role, folder)


def _run(role: Role, config: Config, folder: Path, metrics: "WorkerMetrics | None") -> None:
    transport = kafka_transport(config, folder)
    transport.require(config.layout)
    now = transport.ends("control")[0][1]
    session = transport.open(role.spec)
    scratch = Scratch(folder / "scratch" / role.name, home=folder, lasting=False)
    loop = role.make(config, placement_of(config), session, scratch)
    loop.heed_stops(now)
    if metrics is not None:
        metrics.watch(loop, session.member)

    def stop(number: int, frame: FrameType | None) -> None:
        _log.info("stopping %s after the last checkpoint", role.name)
        loop.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    loop.run()
    transport.close()
