"""One stage as one process on a Kafka cluster."""

import logging
import signal
from pathlib import Path
from types import FrameType
from typing import Final

from gregor.config import Config
from gregor.pipeline.extracting import Scratch, placement_of
from gregor.pipeline.stages import ROLES
from gregor.state.options import SharedMemory, StoreOptions
from gregor.transport.kafka.transport import KafkaTransport
from workers.fetcher.contact import require_contact

_log: Final = logging.getLogger("gregor.pipeline")


def kafka_transport(config: Config, folder: Path) -> KafkaTransport:
    return KafkaTransport(config.names, config.kafka, folder, SharedMemory(StoreOptions.of(config.state)))


def run_worker(role: str, config: Config, folder: Path) -> None:
    """Until SIGTERM, SIGINT or `gregor stop`: the checkpoint is finished, the group is left."""
    if role == "fetcher":
        require_contact(config)
    transport = kafka_transport(config, folder)
    transport.require(config.layout)
    chosen = ROLES[role]
    now = transport.ends("control")[0][1]
    session = transport.open(chosen.spec)
    scratch = Scratch(folder / "scratch" / role, home=folder, lasting=False)
    loop = chosen.make(config, placement_of(config), session, scratch)
    loop.heed_stops(now)

    def stop(number: int, frame: FrameType | None) -> None:
        _log.info("stopping %s after the last checkpoint", role)
        loop.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    loop.run()
    transport.close()
