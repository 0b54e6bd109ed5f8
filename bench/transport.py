"""The transports: records a second through a transaction, the time of small commits, and how fast a partition is restored.

Run: python bench/transport.py [--quick] [--json]

Records of 1 KB are consumed and produced again in batches, in one process: by a session on Kafka (transactions, positions), by one on
the embedded log, and by a plain loop without transactions on the same broker in the same minute. The commits are back to back with one
record each. The restore is that of packed fingerprints (12 bytes each, blocks of 4 KB) from a changelog on the broker into an empty
folder, from the assignment to the first batch.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from bench.report import finish, machine, options
from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.packed import Mutation, apply_deltas, pack_delta
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.embedded.transport import EmbeddedTransport
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    CheckpointInfo,
    Commit,
    Output,
    Position,
    Revoked,
    Session,
    StageSpec,
    TopicPartition,
    Transport,
)
from infra.kafka.cluster import KafkaCluster
from schemas.control import Layout

PARTITIONS: Final = 8
RECORD: Final = 1024
BATCH: Final = 10_000
BATCH_BYTES: Final = 16 * 1024 * 1024
FINGERPRINT: Final = 12
BLOCK: Final = 4096 // FINGERPRINT
BLOCKS_PER_COMMIT: Final = 2_000

COPY: Final = StageSpec(name="extractor", inputs=("pages",), outputs=("items",))


def _apply(_: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(("seen",), deltas, writer)


KEEP: Final = StageSpec(
    name="frontier", inputs=("discovered",), changelog="frontier-changelog", state=StateSpec(("seen",), _apply)
)


class Driver:
    """Polls and commits a session as a stage loop does, with nothing to decide."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.positions: dict[TopicPartition, Position] = {}
        self.epoch = 0

    def poll(self, wait: float = 0.1) -> Batch | None:
        event = self.session.poll(BATCH, BATCH_BYTES, wait)
        self.epoch = event.epoch
        match event:
            case Assigned():
                for partition, assignment in event.partitions.items():
                    for topic, position in assignment.positions.items():
                        self.positions[TopicPartition(topic, partition)] = position
            case Revoked():
                self.positions = {at: one for at, one in self.positions.items() if at.partition not in event.partitions}
            case Batch():
                self.positions.update({at: Position(offset) for at, offset in event.positions.items()})
                return event
        return None

    def commit(self, outputs: Sequence[Output], mutations: dict[int, list[Mutation]] | None = None) -> None:
        self.session.commit(
            Commit(
                epoch=self.epoch,
                outputs=outputs,
                positions=self.positions,
                mutations=mutations or {},
                mark=CheckpointInfo(now_ms=time.time_ns() // 1_000_000),
            )
        )

    def until_assigned(self) -> None:
        while len(self.positions) < PARTITIONS:
            self.poll()


def fill(transport: Transport, records: int, body: bytes) -> None:
    for first in range(0, records, BATCH):
        transport.append(
            [Output("pages", number % PARTITIONS, b"server", body) for number in range(first, first + BATCH)]
        )


def copy(transport: Transport, records: int) -> float:
    """Records a second, consumed and produced under one commit a batch."""
    driver = Driver(transport.open(COPY))
    driver.until_assigned()
    done = 0
    began = time.perf_counter()
    while done < records:
        batch = driver.poll()
        if batch is not None and batch.records:
            driver.commit([Output("items", one.partition, one.key or b"", one.value or b"") for one in batch.records])
            done += len(batch.records)
    took = time.perf_counter() - began
    driver.session.close()
    return done / took


def plain_copy(bootstrap: str, names: Names, records: int) -> float:
    """The same without transactions, without positions: what the client itself allows."""
    shared = {"bootstrap.servers": bootstrap, "compression.type": "lz4"}
    producer = Producer({**shared, "queue.buffering.max.messages": 1_000_000, "linger.ms": 5})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "plain", "enable.auto.commit": False})
    consumer.assign([KafkaPartition(names.topic("pages"), one, OFFSET_BEGINNING) for one in range(PARTITIONS)])
    target = names.topic("items")
    done = 0
    began = time.perf_counter()
    while done < records:
        for message in consumer.consume(BATCH, 0.1):
            producer.produce(target, message.value(), message.key(), message.partition())
            done += 1
        producer.poll(0)
    producer.flush()
    took = time.perf_counter() - began
    consumer.close()
    return done / took


def commit_times(transport: Transport, commits: int) -> tuple[float, float]:
    """Median and 99th percentile in milliseconds of back-to-back commits of one record."""
    driver = Driver(transport.open(COPY))
    driver.until_assigned()
    times = []
    for number in range(commits):
        began = time.perf_counter()
        driver.commit([Output("items", number % PARTITIONS, b"server", b"x")])
        times.append((time.perf_counter() - began) * 1000)
    driver.session.close()
    return float(np.percentile(times, 50)), float(np.percentile(times, 99))


class Restorable:
    """A partition with a changelog on the broker, and how long it takes to have it back."""

    def __init__(self, names: Names, kafka: KafkaSection, folder: Path) -> None:
        self._names = names
        self._kafka = kafka
        self._folder = folder

    def measure(self, millions: float) -> float:
        count = max(1, int(millions * 1e6) // BLOCK)
        self._write(count)
        shutil.rmtree(self._folder / "restore")
        driver = self._driver()
        while not driver.positions:
            driver.poll(0.0)
        began = time.perf_counter()
        driver.until_assigned()
        took = time.perf_counter() - began
        driver.session.close()
        return count * BLOCK / took

    def _write(self, count: int) -> None:
        """All blocks in the LAST partition to be restored, so that the first assignment marks the beginning."""
        driver = self._driver()
        driver.until_assigned()
        random = Random(1)
        for first in range(0, count, BLOCKS_PER_COMMIT):
            deltas = [
                (0, (number << 32).to_bytes(8, "big"), random.randbytes(BLOCK * FINGERPRINT))
                for number in range(first, min(count, first + BLOCKS_PER_COMMIT))
            ]
            packed = [Mutation(b"server", pack_delta(deltas[at : at + 50])) for at in range(0, len(deltas), 50)]
            driver.commit([], {PARTITIONS - 1: packed})
        driver.session.close()

    def _driver(self) -> Driver:
        transport = KafkaTransport(self._names, self._kafka, self._folder / "restore", SharedMemory(StoreOptions()))
        return Driver(transport.open(KEEP))


def main() -> None:
    chosen = options(__doc__)
    records = 200_000 if chosen.quick else 1_000_000
    commits = 200 if chosen.quick else 1000
    body = os.urandom(RECORD // 2) + bytes(RECORD // 2)
    names = Names("bench")
    print(machine("confluent-kafka", "rocksdict", "msgspec"))
    folder = Path(tempfile.mkdtemp(prefix="gregor-bench-"))
    try:
        with KafkaCluster() as cluster:
            kafka = KafkaSection(bootstrap=cluster.bootstrap)
            clients = Clients(names, kafka)
            create(clients, clients.wait_for_broker(), Layout(repositories=4096, partitions=PARTITIONS))
            transport = KafkaTransport(names, kafka, folder / "kafka", SharedMemory(StoreOptions()))
            fill(transport, records, body)
            plain = plain_copy(cluster.bootstrap, names, records)
            on_kafka = copy(transport, records)
            median, slowest = commit_times(transport, commits)
            restored = Restorable(names, kafka, folder).measure(3.0 if chosen.quick else 20.0)
        embedded = EmbeddedTransport.at(
            folder / "embedded",
            EmbeddedSettings(crawl="bench", partitions=PARTITIONS),
            SharedMemory(StoreOptions()),
            (COPY,),
        )
        fill(embedded, records, body)
        on_embedded = copy(embedded, records)
        embedded.close()
    finally:
        shutil.rmtree(folder)
    figures = {
        "kafka_records_per_s": round(on_kafka),
        "embedded_records_per_s": round(on_embedded),
        "plain_records_per_s": round(plain),
        "ratio_plain": round(on_kafka / plain, 2),
        "commit_ms_p50": round(median, 2),
        "commit_ms_p99": round(slowest, 2),
        "restore_fingerprints_per_s": round(restored),
    }
    finish(figures, chosen.json)


if __name__ == "__main__":
    main()
