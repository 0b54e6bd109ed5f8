"""Both engines with a crawl's topics and nothing in them, for what is built on the port alone."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from gregor.config import Config
from gregor.config.sections import CrawlSection, KafkaSection, PartitionsSection
from gregor.run.topology import ROLES
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Assigned, CheckpointInfo, Commit, Position, TopicPartition, Transport
from infra.kafka.cluster import KafkaCluster
from tests.runtime.transport.embedded_folder import SMALL

PARTITIONS = 2
SPECS = [role.spec for role in ROLES.values()]


@contextmanager
def embedded(folder: Path, placement: Literal["hash", "sites"] = "hash") -> Iterator[EmbeddedTransport]:
    settings = EmbeddedSettings(crawl="desk", partitions=PARTITIONS, placement=placement)
    transport = EmbeddedTransport.at(folder, settings, SharedMemory(SMALL), SPECS)
    try:
        yield transport
    finally:
        transport.close()


def on_kafka(kafka: KafkaCluster, folder: Path) -> tuple[Config, KafkaTransport]:
    config = Config(
        crawl=CrawlSection(name=f"desk-{secrets.token_hex(4)}"),
        partitions=PartitionsSection(partitions=PARTITIONS),
        kafka=KafkaSection(bootstrap=kafka.bootstrap, session_timeout_s=6.0),
    )
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    return config, KafkaTransport(config.names, config.kafka, folder, SharedMemory(SMALL))


def pass_all(transport: Transport, stage: str, counters: Mapping[int, Mapping[str, int]] | None = None) -> None:
    """The stage reads everything that is there, and commits, with these counters of its partitions."""
    spec = ROLES[stage].spec
    session = transport.open(spec)
    epoch, positions = 0, dict[TopicPartition, int]()
    ends = {
        TopicPartition(topic, partition): end
        for topic in spec.inputs
        for partition, (_, end) in transport.ends(topic).items()
    }
    while any(positions.get(at, -1) < end for at, end in ends.items()):
        event = session.poll(1000, 1 << 20, 0.1)
        epoch = event.epoch
        if isinstance(event, Assigned):
            for partition, assignment in event.partitions.items():
                for topic, position in assignment.positions.items():
                    positions[TopicPartition(topic, partition)] = position.offset
        else:
            positions.update(getattr(event, "positions", {}))
    session.commit(
        Commit(
            epoch=epoch,
            positions={at: Position(one) for at, one in positions.items()},
            mark=CheckpointInfo(now_ms=1, counters=counters or {}),
        )
    )
    session.close()
