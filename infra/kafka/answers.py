"""What brokers answer when they are asked: who is there, who leads a partition, who coordinates an id."""

from __future__ import annotations

import socket

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from infra.kafka.errors import KafkaError

_PATIENCE = 10.0


def brokers_seen(address: str) -> frozenset[int]:
    """The brokers that the one at this address knows to be in service; none if it does not answer yet."""
    host, port = address.rsplit(":", 1)
    try:
        # Cheaper than a client, which would also log each refused connection.
        socket.create_connection((host, int(port)), timeout=1.0).close()
        return frozenset(_admin(address).list_topics(timeout=2.0).brokers)
    except (OSError, KafkaException):
        return frozenset()


def leader(bootstrap: str, topic: str, partition: int) -> int:
    partitions = _partition_leaders(bootstrap, topic)
    if partition not in partitions:
        raise KafkaError(f"topic {topic} has no partition {partition}, only {sorted(partitions)}")
    return partitions[partition]


def coordinator(bootstrap: str, internal_topic: str, name: str) -> int:
    """The leader of the internal topic's partition that the name hashes to, which is what coordinates it."""
    partitions = _partition_leaders(bootstrap, internal_topic)
    return partitions[partition_of_name(name, len(partitions))]


def partition_of_name(name: str, partitions: int) -> int:
    """Kafka's abs(String.hashCode()) % partitions, in which the absolute value of the smallest int is 0."""
    code = 0
    encoded = name.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        code = (31 * code + int.from_bytes(encoded[at : at + 2], "big")) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def _partition_leaders(bootstrap: str, topic: str) -> dict[int, int]:
    described = _admin(bootstrap).list_topics(topic, timeout=_PATIENCE).topics[topic]
    if described.error is not None:
        raise KafkaError(f"expected topic {topic} on {bootstrap}, found: {described.error.str()}")
    return {number: partition.leader for number, partition in described.partitions.items()}


def _admin(address: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": address, "log_level": 0})
