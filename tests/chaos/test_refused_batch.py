"""A batch that the broker refuses while others are on their way."""

import time
from pathlib import Path

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.control import Layout
from tests.chaos.refusal import RefusingProxy


def test_a_first_batch_refused_by_the_leader_is_written_again_and_never_taken_for_written(tmp_path: Path) -> None:
    """A broker that knows nothing of a producer takes any sequence number for its first, and librdkafka takes the success of a later
    batch for that of all before it: with two batches on their way the first is lost, in a transaction that commits."""
    way = RefusingProxy(".pages")
    way.start()
    try:
        with KafkaCluster(proxies=(way.port,)) as cluster:
            way.target = cluster.behind_proxies[0]
            names, layout = Names("refused"), Layout(partitions=2, repositories=16)
            kafka = KafkaSection(bootstrap=f"127.0.0.1:{way.port}")
            clients = Clients(names, kafka)
            create(clients, clients.wait_for_broker(), layout)
            transport = KafkaTransport(names, kafka, tmp_path, SharedMemory(StoreOptions()))
            # More than one batch for one partition.
            written = [Output("pages", 0, b"", bytes([number]) * 1_000_000) for number in range(4)]
            transport.append(written)
            assert way.refused == 1
            while not transport.ends("pages")[0][1]:
                # Committed, and visible when the broker has marked it so.
                time.sleep(0.05)
            assert [(record.value or b"")[:1] for record in transport.read("pages", 0, 0)] == [
                one.value[:1] for one in written
            ]
            assert not way.overtaken
    finally:
        way.close()
