"""A transaction that is decided while one of its partitions has no leader: the partition learns of it when its broker is back."""

import secrets
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from infra.kafka.cluster import KafkaCluster

QUIET = {"log_level": 0}


def test_a_transaction_is_whole_though_a_partition_had_no_leader_when_it_was_committed(kafka3: KafkaCluster) -> None:
    name = f"restart-{secrets.token_hex(4)}"
    where = {"bootstrap.servers": kafka3.bootstrap, **QUIET}
    admin = AdminClient(where)
    # A partition on each broker, without copies: when the broker dies nobody can take over.
    admin.create_topics([NewTopic(name, 3, replica_assignment=[[0], [1], [2]])])[name].result()
    producer = Producer({**where, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    for partition in range(3):
        producer.produce(name, b"once", partition=partition)
    producer.flush()
    away = (kafka3.transaction_coordinator(name) + 1) % 3
    kafka3.kill(away)
    while admin.list_topics(name, timeout=10).topics[name].partitions[away].leader >= 0:
        time.sleep(0.1)
    producer.commit_transaction(60)
    kafka3.restart(away)
    reader = Consumer({**where, "group.id": name, "isolation.level": "read_committed"})
    while reader.get_watermark_offsets(TopicPartition(name, away))[1] < 1:
        # Its marker comes when the broker is found again; one that never comes is found by the test's time-out.
        time.sleep(0.1)
    reader.close()
