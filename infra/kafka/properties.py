"""The broker's settings, as text for server.properties.

They make a small broker that behaves like a large one where gregor depends on it: internal topics as durable as the
others, nothing created or expired behind anybody's back, and groups and transactions that notice a dead member within
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from infra.kafka.ports import HOST

MIB = 1024 * 1024
# The largest record is 6 MiB (topic and producer limit); a batch adds its own header and the record's key and headers.
MESSAGE_MAX_BYTES = 6 * MIB + 64 * 1024


class Node(msgspec.Struct, frozen=True):
    """One broker, which is also a controller: its id is its index in the cluster."""

    id: int
    port: int
    controller_port: int
    side_port: int = 0
    """A second way in, which clients are told to reach under another port (that of a proxy); 0: there is none."""
    side_advertised: int = 0
    """The proxy's port; 0: there is none, and clients come to the side port itself."""


def server_properties(node: Node, nodes: tuple[Node, ...], data: Path, more: Mapping[str, str] | None = None) -> str:
    """``more`` stands above everything else."""
    settings = {
        **_addresses(node, nodes),
        **_durability(len(nodes)),
        **_groups_and_transactions(),
        **_small(),
        "log.dirs": str(data),
        **(more or {}),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _addresses(node: Node, nodes: tuple[Node, ...]) -> dict[str, str | int]:
    listeners = [f"PLAINTEXT://{HOST}:{node.port}"]
    advertised = [f"PLAINTEXT://{HOST}:{node.port}"]
    if node.side_port:
        listeners.append(f"SIDE://{HOST}:{node.side_port}")
        advertised.append(f"SIDE://{HOST}:{node.side_advertised or node.side_port}")
    return {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{node.controller_port}"]),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        # Named here and not in the formatted storage, so that kept data can be started again on other ports.
        "controller.quorum.voters": ",".join(f"{n.id}@{HOST}:{n.controller_port}" for n in nodes),
    }


def _durability(brokers: int) -> dict[str, str | int]:
    """Three copies of which two must acknowledge, or what one broker can give."""
    copies, in_sync = (3, 2) if brokers >= 3 else (1, 1)
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "unclean.leader.election.enable": "false",
        "auto.create.topics.enable": "false",
        "log.retention.ms": -1,
        "log.retention.bytes": -1,
        "message.max.bytes": MESSAGE_MAX_BYTES,
        "replica.fetch.max.bytes": MESSAGE_MAX_BYTES,
        # How long a killed broker still counts as alive: its partitions have no leader and its restart is refused so long.
        # With three, being thought dead by mistake on a busy machine costs more than the wait; one has nobody to lose to.
        "broker.heartbeat.interval.ms": 500,
        "broker.session.timeout.ms": 6000 if brokers >= 3 else 3000,
    }


def _groups_and_transactions() -> dict[str, str | int]:
    return {
        "group.initial.rebalance.delay.ms": 0,
        # Ten years: a crawl may rest, and a group without positions does not know what it has done.
        "offsets.retention.minutes": 5_256_000,
        "group.min.session.timeout.ms": 6000,
        # Groups of the newer protocol have their time-outs set here, not by the client.
        "group.consumer.min.heartbeat.interval.ms": 1000,
        "group.consumer.heartbeat.interval.ms": 2000,
        "group.consumer.min.session.timeout.ms": 6000,
        "group.consumer.session.timeout.ms": 10000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    }


def _small() -> dict[str, str | int]:
    return {
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.num.partitions": 1,
        "num.network.threads": 2,
        "num.io.threads": 2,
        "num.replica.fetchers": 1,
        "num.recovery.threads.per.data.dir": 1,
        "background.threads": 2,
        "log.cleaner.threads": 1,
        "log.cleaner.dedupe.buffer.size": 8 * MIB,
    }
