"""The crawl's topics on a cluster: what is there, what differs from the table, and how the missing ones are made.

Nothing here changes or deletes a topic that exists: partitions and clean-up decide where records are and whether they stay.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource, NewTopic, ResourceType
from msgspec import Struct
from msgspec.structs import replace

from gregor.config import Names
from gregor.errors import BrokerUnreachable, TopologyError, TransportError, placement_remedy
from gregor.runtime.transport.kafka.admin_queries import ANSWER_TIMEOUT_S, ask
from gregor.runtime.transport.kafka.clients import Clients
from schemas.codec import Undecodable, encode
from schemas.control import Layout, decode_control
from schemas.topics import TOPICS, Topic

LAYOUT_KEY: Final = b"layout"
RETENTION: Final = "offsets.retention.minutes"
_TIMEOUT_S: Final = 30.0
_PATIENCE_S: Final = 60.0

Aspect = Literal[
    "topic",
    "partitions",
    "cleanup.policy",
    "max.message.bytes",
    "retention.ms",
    "retention.bytes",
    "layout",
    "placement",
]


class TopicDifference(Struct, frozen=True, kw_only=True):
    """One thing that is not as the table and the configuration say."""

    topic: str
    """With the crawl's prefix."""
    aspect: Aspect
    """``topic``: the topic is missing. ``layout``, ``placement``: what the topic ``control`` says of them."""
    expected: str
    found: str
    """Empty: there is none."""

    @property
    def fatal(self) -> bool:
        """Whether a worker must not start: records would be looked for where they are not."""
        return self.aspect in ("topic", "partitions", "layout", "placement")

    @property
    def creatable(self) -> bool:
        """Whether ``create`` mends it."""
        return not self.found and self.aspect in ("topic", "layout")

    def __str__(self) -> str:
        if self.aspect == "topic":
            return f"{self.topic} is missing"
        return f"{self.topic}: expected {self.aspect} {self.expected}, found {self.found or 'none'}"


class TopicFound(Struct, frozen=True, kw_only=True):
    """A topic as the cluster has it."""

    partitions: int
    settings: Mapping[str, str]
    """Effective values of the settings that gregor cares for."""


def settings_of(topic: Topic) -> dict[str, str]:
    """What a topic must be set to, whatever the broker's defaults are."""
    return {
        "cleanup.policy": topic.cleanup,
        "max.message.bytes": str(topic.max_message_bytes),
        "retention.ms": "-1",
        "retention.bytes": "-1",
    }


def find_topics(admin: AdminClient, names: Names) -> dict[str, TopicFound]:
    """The crawl's topics that exist, by short name."""

    def look() -> tuple[dict[str, int], dict[str, dict[str, ConfigEntry]]]:
        listed = admin.list_topics(timeout=ANSWER_TIMEOUT_S).topics
        counts = {
            topic.name: len(listed[names.topic(topic.name)].partitions)
            for topic in TOPICS
            if names.topic(topic.name) in listed
        }
        resources = {name: ConfigResource(ResourceType.TOPIC, names.topic(name)) for name in counts}
        described = admin.describe_configs(list(resources.values())) if resources else {}
        return counts, {name: described[resource].result(ANSWER_TIMEOUT_S) for name, resource in resources.items()}

    counts, settings = ask(f"the topics of crawl {names.crawl!r}", look, _PATIENCE_S)
    wanted = settings_of(TOPICS[0])
    return {
        name: TopicFound(
            partitions=partitions,
            settings={key: entry.value for key, entry in settings[name].items() if key in wanted},
        )
        for name, partitions in counts.items()
    }


def compare(found: Mapping[str, TopicFound], names: Names, layout: Layout) -> list[TopicDifference]:
    """What differs from the table, in its order."""
    differences: list[TopicDifference] = []
    for topic in TOPICS:
        name = names.topic(topic.name)
        expected = topic.partition_count(layout.partitions)
        there = found.get(topic.name)
        if there is None:
            differences.append(TopicDifference(topic=name, aspect="topic", expected=f"{expected} partitions", found=""))
            continue
        if there.partitions != expected:
            differences.append(
                TopicDifference(topic=name, aspect="partitions", expected=str(expected), found=str(there.partitions))
            )
        aspects: tuple[Aspect, ...] = ("cleanup.policy", "max.message.bytes", "retention.ms", "retention.bytes")
        for aspect in aspects:
            setting, value = settings_of(topic)[aspect], there.settings.get(aspect, "")
            if value != setting:
                differences.append(TopicDifference(topic=name, aspect=aspect, expected=setting, found=value))
    return differences


def check_topics(admin: AdminClient, names: Names, layout: Layout) -> list[TopicDifference]:
    """What differs on the cluster from the table of topics; empty: nothing."""
    return compare(find_topics(admin, names), names, layout)


def check_layout(clients: Clients, layout: Layout) -> list[TopicDifference]:
    """Whether ``control`` holds this crawl's {N, P, placement}; the topic must exist."""
    recorded = read_layout(clients)
    topic = clients.names.topic("control")
    if recorded is None:
        return [TopicDifference(topic=topic, aspect="layout", expected=_told(layout), found="")]
    differences = []
    if replace(recorded, placement=layout.placement) != layout:
        differences.append(TopicDifference(topic=topic, aspect="layout", expected=_told(layout), found=_told(recorded)))
    if recorded.placement != layout.placement:
        differences.append(
            TopicDifference(topic=topic, aspect="placement", expected=layout.placement, found=recorded.placement)
        )
    return differences


def require(clients: Clients, admin: AdminClient, layout: Layout) -> None:
    """For a worker's start: raises TopologyError, with what mends it, when topics or layout are not this crawl's."""
    differences = [one for one in check_topics(admin, clients.names, layout) if one.fatal]
    if not any(one.aspect == "topic" for one in differences):
        differences += check_layout(clients, layout)
    if differences:
        raise TopologyError(_listed(differences), remedy=remedy(differences))


def remedy(differences: Sequence[TopicDifference]) -> str:
    """What to do about the worst of them."""
    alien = [one for one in differences if one.fatal and not one.creatable]
    if alien and all(one.aspect == "placement" for one in alien):
        return placement_remedy(alien[0].found, "choose another crawl.name")
    if alien:
        return (
            "set [partitions] to what the crawl was begun with, or choose another crawl.name: "
            "the partitions of a crawl cannot be changed under it"
        )
    if any(one.creatable for one in differences):
        return "`gregor topics --create` makes what is missing"
    return "set it with Kafka's own `kafka-configs --alter --entity-type topics`: gregor changes no topic that exists"


def create(clients: Clients, admin: AdminClient, layout: Layout) -> list[str]:
    """Make the topics that are missing, and record the layout when there is none; the names of what was made.

    Raises TopologyError and makes nothing when what exists belongs to another layout: half of each would fit neither.
    """
    names = clients.names
    found = find_topics(admin, names)
    differences = compare(found, names, layout)
    if "control" in found:
        differences += check_layout(clients, layout)
    alien = [one for one in differences if one.fatal and not one.creatable]
    if alien:
        raise TopologyError(_listed(alien), remedy=remedy(alien))
    made = _create_topics(admin, names, [topic for topic in TOPICS if topic.name not in found], layout, clients)
    if "control" not in found or any(one.aspect == "layout" for one in differences):
        _write_layout(clients, layout)
        made.append(f"{names.topic('control')} layout")
    return made


def make_topic(clients: Clients, admin: AdminClient, topic: Topic, layout: Layout) -> bool:
    """Make a topic of the crawl's that is not in the table; False: it is there already."""
    if clients.names.topic(topic.name) in admin.list_topics(timeout=_TIMEOUT_S).topics:
        return False
    return bool(_create_topics(admin, clients.names, [topic], layout, clients))


def forgets_after_days(admin: AdminClient) -> float | None:
    """How long the brokers keep positions of a group that nobody is in, the shortest of them; None: they do not say."""

    def look() -> list[dict[str, ConfigEntry]]:
        brokers = admin.list_topics(timeout=ANSWER_TIMEOUT_S).brokers
        asked = [ConfigResource(ResourceType.BROKER, str(one)) for one in brokers]
        return [answer.result(ANSWER_TIMEOUT_S) for answer in admin.describe_configs(asked).values()]

    try:
        found = ask("the settings of the brokers", look, _TIMEOUT_S)
    except TransportError:
        # Not everybody who may crawl may see how the brokers are set.
        return None
    minutes = [int(one[RETENTION].value) for one in found if RETENTION in one]
    return min(minutes) / (24 * 60) if minutes else None


def _create_topics(
    admin: AdminClient, names: Names, missing: Sequence[Topic], layout: Layout, clients: Clients
) -> list[str]:
    replication = clients.kafka.replication
    wanted = [
        NewTopic(
            names.topic(topic.name),
            num_partitions=topic.partition_count(layout.partitions),
            replication_factor=replication,
            # One copy may be away without stopping the crawl, none of the acknowledged records is then lost.
            config={**settings_of(topic), "min.insync.replicas": str(max(1, replication - 1))},
        )
        for topic in missing
    ]
    made = []
    for name, future in (admin.create_topics(wanted) if wanted else {}).items():
        try:
            future.result(timeout=_TIMEOUT_S)
            made.append(name)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                few = error.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR
                raise TransportError(
                    f"{name} cannot be made: {error.args[0].str()}",
                    remedy=f"start as many brokers as kafka.replication says ({replication}), or lower it"
                    if few
                    else None,
                ) from error
        except TimeoutError as error:
            raise TransportError(f"{name} cannot be made: no answer came within {_TIMEOUT_S:g} s") from error
    _wait_until_listed(admin, [topic.topic for topic in wanted])
    return made


def _wait_until_listed(admin: AdminClient, topics: Sequence[str]) -> None:
    """The controller has made them; the broker that we ask hears of it a moment later."""
    give_up = time.monotonic() + _TIMEOUT_S
    while set(topics) - admin.list_topics(timeout=_TIMEOUT_S).topics.keys() and time.monotonic() < give_up:
        time.sleep(0.05)


def read_layout(clients: Clients) -> Layout | None:
    """{N, P, placement} as recorded in ``control``; None: it is not."""
    topic = clients.names.topic("control")
    reader = clients.bounded_reader()
    found: Layout | None = None
    try:
        reader.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING)])
        give_up = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < give_up:
            # A consume of many waits for all of them or its whole time.
            for message in reader.consume(1, 0.5) + reader.consume(1000, 0):
                error = message.error()
                if error is None:
                    found = _layout_in(message) or found
                elif error.code() == KafkaError._PARTITION_EOF:
                    return found
                elif not error.retriable():
                    raise TransportError(f"{topic} cannot be read: {error.str()}")
        raise BrokerUnreachable(f"{topic} could not be read to its end within {_TIMEOUT_S:g} s")
    finally:
        reader.close()


def _layout_in(message: ck.Message) -> Layout | None:
    if message.key() != LAYOUT_KEY:
        return None
    try:
        record = decode_control(message.value())
    except Undecodable:
        return None
    return record if isinstance(record, Layout) else None


def _write_layout(clients: Clients, layout: Layout) -> None:
    producer = clients.plain_producer()
    failed: list[KafkaError] = []
    producer.produce(
        clients.names.topic("control"),
        encode(layout),
        LAYOUT_KEY,
        0,
        on_delivery=lambda error, _: failed.append(error) if error else None,
    )
    left = producer.flush(_TIMEOUT_S)
    if failed or left:
        why = failed[0].str() if failed else f"no answer within {_TIMEOUT_S:g} s"
        raise TransportError(f"the layout cannot be written to {clients.names.topic('control')}: {why}")


def _listed(differences: Sequence[TopicDifference]) -> str:
    more = f" and {len(differences) - 3} more" if len(differences) > 3 else ""
    return ", ".join(map(str, differences[:3])) + more


def _told(layout: Layout) -> str:
    return f"N = {layout.repositories}, P = {layout.partitions} by {layout.partition_by}"
