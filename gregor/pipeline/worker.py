"""One stage as one process on a Kafka cluster."""

import logging
import signal
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from gregor.config import Config
from gregor.pipeline.extracting import Scratch, placement_of
from gregor.pipeline.stages import ROLES, archive_folder
from gregor.state.options import SharedMemory, StoreOptions
from gregor.transport.kafka.transport import KafkaTransport
from workers.fetcher.contact import require_contact

if TYPE_CHECKING:
    from gregor.metrics.worker import WorkerMetrics

_log: Final = logging.getLogger("gregor.pipeline")


def kafka_transport(config: Config, folder: Path) -> KafkaTransport:
    return KafkaTransport(config.names, config.kafka, folder, SharedMemory(StoreOptions.of(config.state)))


def run_worker(role: str, config: Config, folder: Path) -> None:
    """Until SIGTERM, SIGINT or `gregor stop`: the checkpoint is finished, the group is left."""
    if role == "fetcher":
        require_contact(config)
    with ExitStack() as closing:
        # Before anything else: whoever looks after the worker can then tell one that waits for a broker from one that is not there.
        metrics = _metrics(role, config, folder) if config.metrics.port else None
        if metrics is not None:
            closing.callback(metrics.close)
        _run(role, config, folder, metrics)


def _metrics(role: str, config: Config, folder: Path) -> "WorkerMetrics":
    # Not needed by most who import this, and slow to import.
    from gregor.metrics.worker import WorkerMetrics

    archive = {"archive": archive_folder(config, folder)} if role == "archiver" else {}
    return WorkerMetrics(config, ROLES[role].spec, {"state": folder, **archive})


def _run(role: str, config: Config, folder: Path, metrics: "WorkerMetrics | None") -> None:
    chosen = ROLES[role]
    transport = kafka_transport(config, folder)
    transport.require(config.layout)
    now = transport.ends("control")[0][1]
    session = transport.open(chosen.spec)
    scratch = Scratch(folder / "scratch" / role, home=folder, lasting=False)
    loop = chosen.make(config, placement_of(config), session, scratch)
    loop.heed_stops(now)
    if metrics is not None:
        metrics.watch(loop, session.member)

    def stop(number: int, frame: FrameType | None) -> None:
        _log.info("stopping %s after the last checkpoint", role)
        loop.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    loop.run()
    transport.close()
