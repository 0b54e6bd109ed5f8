"""Brokers that go and come back: a transaction decided meanwhile is whole in every partition, and lag is told again."""

import secrets
import time
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from gregor.config import load
from gregor.run.topology import ROLES
from gregor.runtime.metrics.metric_defs import LAG
from gregor.runtime.metrics.survey import Survey
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.port import TopicPartition as Place
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import until

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

    def marked() -> bool:
        # A client gives up what it asks of a broker that it has just been told of anew.
        with suppress(KafkaException):
            return bool(reader.get_watermark_offsets(TopicPartition(name, away))[1] >= 1)
        return False

    until(marked, "the marker is there, which comes when the broker is found again")
    reader.close()


def test_lag_is_told_again_when_leaders_have_moved(kafka3: KafkaCluster) -> None:
    chosen = {"crawl.name": f"lag-{secrets.token_hex(4)}", "kafka.bootstrap": kafka3.bootstrap, "kafka.replication": 1}
    config = load(None, {}, {**chosen, "partitions.partitions": 4}).config
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    places = [Place("pages", partition) for partition in range(4)]
    survey = Survey(clients, ROLES["extractor"].spec, lambda: dict.fromkeys(places, 0), every_s=0.2)
    survey.start()
    try:
        until(lambda: LAG in survey.figures(), "lag is known")
        leader = kafka3.leader(config.names.topic("pages"), 0)
        kafka3.kill(leader)
        until(lambda: LAG not in survey.figures(), "nobody knows lag meanwhile")
        kafka3.restart(leader)
        until(lambda: LAG in survey.figures(), "lag is known again")
        assert survey.figures()[LAG] == {("pages", str(partition)): 0 for partition in range(4)}
    finally:
        survey.close()
