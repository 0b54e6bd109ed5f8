"""The crawl's topics on a real broker: created once, compared with the table, never changed."""

import secrets
import time

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.errors import BrokerUnreachable, TopologyError, TransportError
from gregor.runtime.transport.kafka.clients import LARGEST_MESSAGE, Clients
from gregor.runtime.transport.kafka.topics import (
    TopicDifference,
    check_layout,
    check_topics,
    create,
    find_topics,
    read_layout,
    require,
)
from infra.kafka.cluster import KafkaCluster
from schemas.control import Layout
from schemas.topics import TOPICS

LAYOUT = Layout(repositories=64, partitions=2)


@pytest.fixture
def clients(kafka: KafkaCluster) -> Clients:
    return Clients(Names(f"topics-{secrets.token_hex(4)}"), KafkaSection(bootstrap=kafka.bootstrap))


@pytest.fixture
def admin(clients: Clients) -> AdminClient:
    return clients.wait_for_broker()


def make(admin: AdminClient, name: str, partitions: int, **settings: str) -> None:
    config = {key.replace("_", "."): value for key, value in settings.items()}
    admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
    while name not in admin.list_topics(timeout=30).topics:
        time.sleep(0.05)


def test_what_is_created_is_what_is_required(clients: Clients, admin: AdminClient) -> None:
    assert len(check_topics(admin, clients.names, LAYOUT)) == len(TOPICS)
    made = create(clients, admin, LAYOUT)
    assert made == [*(clients.names.topic(topic.name) for topic in TOPICS), f"{clients.names.topic('control')} layout"]
    assert check_topics(admin, clients.names, LAYOUT) == []
    assert read_layout(clients) == LAYOUT
    require(clients, admin, LAYOUT)


def test_creating_again_makes_nothing(clients: Clients, admin: AdminClient) -> None:
    create(clients, admin, LAYOUT)
    assert create(clients, admin, LAYOUT) == []


def test_only_what_is_missing_is_created(clients: Clients, admin: AdminClient) -> None:
    pages = clients.names.topic("pages")
    make(admin, pages, 2, retention_ms="3600000", cleanup_policy="delete", max_message_bytes="1000000")
    made = create(clients, admin, LAYOUT)
    assert pages not in made
    assert {(one.topic, one.aspect, one.expected, one.found) for one in check_topics(admin, clients.names, LAYOUT)} == {
        (pages, "retention.ms", "-1", "3600000"),
        (pages, "max.message.bytes", str(LARGEST_MESSAGE), "1000000"),
    }
    require(clients, admin, LAYOUT)


def test_a_missing_topic_is_told_with_the_command_that_makes_it(clients: Clients, admin: AdminClient) -> None:
    with pytest.raises(TopologyError) as told:
        require(clients, admin, LAYOUT)
    assert f"{clients.names.topic('discovered')} is missing" in str(told.value)
    assert "gregor topics --create" in str(told.value)


def test_a_missing_layout_is_written_later(clients: Clients, admin: AdminClient) -> None:
    for topic in TOPICS:
        make(admin, clients.names.topic(topic.name), topic.partition_count(2), cleanup_policy=topic.cleanup)
    with pytest.raises(TopologyError, match=r"expected layout N = 64, P = 2 by server, found none; .*--create"):
        require(clients, admin, LAYOUT)
    assert create(clients, admin, LAYOUT) == [f"{clients.names.topic('control')} layout"]
    require(clients, admin, LAYOUT)


def test_another_partition_count_is_refused_and_nothing_is_created(clients: Clients, admin: AdminClient) -> None:
    name = clients.names.topic("fetched")
    make(admin, name, 3)
    with pytest.raises(TopologyError, match=rf"{name}: expected partitions 2, found 3; set \[partitions\]"):
        create(clients, admin, LAYOUT)
    assert list(find_topics(admin, clients.names)) == ["fetched"]


def test_another_number_of_repositories_is_refused(clients: Clients, admin: AdminClient) -> None:
    create(clients, admin, LAYOUT)
    other = Layout(repositories=128, partitions=2)
    assert check_layout(clients, other) == [
        TopicDifference(
            topic=clients.names.topic("control"),
            aspect="layout",
            expected="N = 128, P = 2 by server",
            found="N = 64, P = 2 by server",
        )
    ]
    with pytest.raises(TopologyError, match=r"expected layout N = 128.*found N = 64.*cannot be changed"):
        require(clients, admin, other)
    with pytest.raises(TopologyError):
        create(clients, admin, other)
    assert read_layout(clients) == LAYOUT


def test_the_other_placement_is_refused_with_the_setting_that_mends_it(clients: Clients, admin: AdminClient) -> None:
    create(clients, admin, LAYOUT)
    other = Layout(repositories=64, partitions=2, placement="sites")
    with pytest.raises(TopologyError) as told:
        require(clients, admin, other)
    assert f"{clients.names.topic('control')}: expected placement sites, found hash; set " in str(told.value)
    assert "GREGOR_PARTITIONS__PLACEMENT=hash" in str(told.value)
    with pytest.raises(TopologyError, match="expected placement sites"):
        create(clients, admin, other)
    both = Layout(repositories=128, partitions=2, placement="sites")
    assert [one.aspect for one in check_layout(clients, both)] == ["layout", "placement"]


def test_crawls_on_one_cluster_do_not_see_each_other(clients: Clients, admin: AdminClient, kafka: KafkaCluster) -> None:
    create(clients, admin, LAYOUT)
    assert find_topics(admin, Names(f"{clients.names.crawl}-b")) == {}


def test_more_replicas_than_brokers_is_told(kafka: KafkaCluster) -> None:
    clients = Clients(Names(f"topics-{secrets.token_hex(4)}"), KafkaSection(bootstrap=kafka.bootstrap, replication=3))
    with pytest.raises(TransportError, match=r"cannot be made: .*kafka.replication says \(3\), or lower it"):
        create(clients, clients.wait_for_broker(), LAYOUT)


def test_no_broker_is_told_with_its_address() -> None:
    clients = Clients(Names("nobody"), KafkaSection(bootstrap="127.0.0.1:9", give_up_after_s=0.3))
    with pytest.raises(BrokerUnreachable, match=r"no Kafka broker answered at 127\.0\.0\.1:9 within 0\.3 s"):
        clients.wait_for_broker()
