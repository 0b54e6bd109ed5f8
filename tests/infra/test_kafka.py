"""The brokers that the other tests stand on: they answer, they keep what they acknowledged, and they go when we go."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from infra.kafka.answers import brokers_seen
from infra.kafka.cluster import KafkaCluster
from infra.kafka.errors import KafkaError
from infra.kafka.ports import HOST, held_ports

QUIET = {"log_level": 0}


def new_topic(cluster: KafkaCluster, partitions: int = 1) -> str:
    """A topic with the cluster's own default replication."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, partitions)])[name].result()
    return name


def produce(cluster: KafkaCluster, topic: str, values: list[bytes]) -> list[bytes | None]:
    """Write all values; give back those that the broker acknowledged."""
    acknowledged: list[bytes | None] = []
    limits = {"message.max.bytes": 7 * 1024 * 1024}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, **limits, **QUIET})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=0,
            on_delivery=lambda error, message: acknowledged.append(message.value()) if error is None else None,
        )
    producer.flush()
    return acknowledged


def read_all(cluster: KafkaCluster, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": topic, "enable.auto.commit": False, **QUIET}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []
    while len(values) < count:
        values += [message.value() for message in consumer.consume(count, 0.2) if message.error() is None]
    consumer.close()
    return values


def test_a_broker_gives_back_what_was_written(kafka: KafkaCluster) -> None:
    topic = new_topic(kafka)
    values = [b"%d" % i for i in range(1000)]
    assert produce(kafka, topic, values) == values
    assert read_all(kafka, topic, 1000) == values


def test_a_record_of_six_mebibytes_passes_a_topic_that_allows_it(kafka: KafkaCluster) -> None:
    topic = new_topic(kafka)
    body = bytes(6 * 1024 * 1024 - 1024)
    assert produce(kafka, topic, [body]) == [body]
    assert read_all(kafka, topic, 1) == [body]


def test_topics_are_not_created_by_asking_and_never_expire(kafka: KafkaCluster) -> None:
    topic = new_topic(kafka)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    settings = admin.describe_configs([resource])[resource].result()
    assert settings["retention.ms"].value == "-1"
    admin.list_topics("nobody-made-this", timeout=10)
    assert "nobody-made-this" not in admin.list_topics(timeout=10).topics


def test_the_broker_looks_for_timed_out_transactions_every_second(kafka: KafkaCluster) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET})
    resource = ConfigResource(ConfigResource.Type.BROKER, "0")
    settings = admin.describe_configs([resource])[resource].result()
    assert settings["transaction.abort.timed.out.transaction.cleanup.interval.ms"].value == "1000"


@pytest.fixture(scope="module")
def lone() -> Iterator[KafkaCluster]:
    """One broker to do harm to."""
    with KafkaCluster() as cluster:
        yield cluster


def test_a_killed_broker_comes_back_with_all_it_acknowledged(lone: KafkaCluster) -> None:
    topic = new_topic(lone)
    first = produce(lone, topic, [b"before-%d" % i for i in range(5000)])
    address = lone.bootstrap
    lone.kill(0)
    assert not lone.alive(0)
    lone.restart(0)
    assert lone.bootstrap == address
    second = produce(lone, topic, [b"after-%d" % i for i in range(10)])
    assert len(first) == 5000
    assert read_all(lone, topic, 5010) == first + second


def test_a_stopped_broker_is_silent_until_it_is_continued(lone: KafkaCluster) -> None:
    topic = new_topic(lone)
    lone.stop_process(0)
    assert brokers_seen(lone.bootstrap) == frozenset()
    lone.continue_process(0)
    assert produce(lone, topic, [b"x"]) == [b"x"]


def test_three_brokers_lose_nothing_when_the_leader_is_killed(kafka3: KafkaCluster) -> None:
    topic = new_topic(kafka3)
    before = produce(kafka3, topic, [b"before-%d" % i for i in range(500)])
    leader = kafka3.leader(topic, 0)
    kafka3.kill(leader)
    during = produce(kafka3, topic, [b"during-%d" % i for i in range(500)])
    assert kafka3.leader(topic, 0) != leader
    kafka3.restart(leader)
    assert len(before) == len(during) == 500
    assert read_all(kafka3, topic, 1000) == before + during


def test_three_brokers_keep_three_copies_of_every_topic(kafka3: KafkaCluster) -> None:
    producer = Producer({"bootstrap.servers": kafka3.bootstrap, "transactional.id": "three", **QUIET})
    producer.init_transactions()
    topic = new_topic(kafka3)
    admin = AdminClient({"bootstrap.servers": kafka3.bootstrap, **QUIET})
    for name in (topic, "__transaction_state"):
        for partition in admin.list_topics(name, timeout=10).topics[name].partitions.values():
            assert len(partition.replicas) == 3
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        assert admin.describe_configs([resource])[resource].result()["min.insync.replicas"].value == "2"


def test_the_coordinator_that_we_name_is_the_one_the_broker_names(kafka3: KafkaCluster) -> None:
    topic = new_topic(kafka3)
    admin = AdminClient({"bootstrap.servers": kafka3.bootstrap, **QUIET})
    for group in ("a", "gregor-frontier", "größer"):
        consumer = Consumer({"bootstrap.servers": kafka3.bootstrap, "group.id": group, **QUIET})
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        described = admin.describe_consumer_groups([group])[group].result()
        assert kafka3.group_coordinator(group) == described.coordinator.id
        consumer.close()


OWNER = """
import threading, time
from infra.kafka.cluster import KafkaCluster
cluster = KafkaCluster()
starter = threading.Thread(target=cluster.start)
starter.start()
starter.join()
print(cluster.pid(0), cluster.folder, flush=True)
time.sleep(3600)
"""


def test_a_broker_does_not_outlive_a_killed_run() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        broker = psutil.Process(int(pid))
        # The thread that started it has ended and the broker must not have noticed.
        assert "kafka.Kafka" in broker.cmdline()
        owner.send_signal(signal.SIGKILL)
    while broker.is_running() and broker.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.02)
    subprocess.run(["rm", "-r", folder], check=True)


def test_kept_data_are_there_at_the_next_start_on_other_ports(tmp_path: Path) -> None:
    with KafkaCluster(folder=tmp_path) as cluster:
        topic = new_topic(cluster)
        produce(cluster, topic, [b"kept"])
    again = KafkaCluster(folder=tmp_path)
    again.start()
    try:
        assert read_all(again, topic, 1) == [b"kept"]
    finally:
        again.wipe()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_one_broker_is_refused_for_three(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text('{"id":"AAAAAAAAAAAAAAAAAAAAAA","brokers":1}')
    with pytest.raises(KafkaError, match="holds a cluster of 1, asked for 3"):
        KafkaCluster(brokers=3, folder=tmp_path).start()


def test_a_broker_that_dies_at_its_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    data = tmp_path / "broker-0" / "data"
    data.mkdir(parents=True)
    (data / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    with pytest.raises(KafkaError, match=r"broker 0 ended at its start with exit code 1(.|\n)*node"):
        KafkaCluster(folder=tmp_path).start()


def test_a_port_that_is_taken_is_named() -> None:
    with held_ports(1) as (port,), pytest.raises(KafkaError, match=f"port {port} on 127.0.0.1 is taken"):
        KafkaCluster(port=port).start()


def test_ports_that_are_held_are_not_given_twice() -> None:
    with held_ports(200) as first, held_ports(200) as second:
        assert len({*first, *second}) == 400


def test_a_port_whose_last_broker_has_just_ended_is_free() -> None:
    with held_ports(1) as (port,):
        pass
    with socket.create_server((HOST, port)) as server, socket.create_connection((HOST, port)) as client:
        served, _ = server.accept()
        # Whoever closes first keeps the connection in TIME_WAIT.
        served.close()
        assert client.recv(1) == b""
    with held_ports(0, (port,)) as held:
        assert held == (port,)
