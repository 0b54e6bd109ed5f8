"""Records that no stage can read, of every kind that anybody who may write to a topic could leave there; and some that can be read and
make no sense."""

import gzip
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer
from msgspec import Struct

from gregor.config import Config
from gregor.runtime.transport.port import TopicPartition
from schemas.codec import LARGEST_RECORD
from schemas.pages import FACTS_HEADER

TOPICS: Final = ("discovered", "schedule", "fetched", "pages", "control")
BOMB: Final = 20 * 1024 * 1024
"""Bytes of a record that is small only as long as it is compressed: a topic's limit is one for what is sent."""


class Poison(Struct, frozen=True):
    value: bytes | None
    key: bytes | None = b"server.invalid"
    headers: tuple[tuple[str, bytes | None], ...] = ()


def unreadable(random: Random, count: int) -> Iterator[Poison]:
    """Of each kind at least one; the rest are small."""
    text = json.dumps({"server": "käfer.invalid", "paths": ["/ü"], "lease": "0-1", "urls": [], "results": []})
    documents: list[Any] = [
        *({"server": 7, "paths": []}, {"server": "a.invalid"}, {"server": "a.invalid", "paths": [1, 2]}),
        *(
            {"server": "a.invalid", "paths": None, "urls": "no", "results": {}, "lease": []},
            {"type": "stop", "type2": 1},
        ),
        *({"type": "pause", "paused": "perhaps"}, {"type": "nobody"}, [], "text", 3, None, True, [[[]]], {"": {}}),
        {"server": "a.invalid", "lease": "0-1", "urls": [{"path": 3}], "results": [{"path": "/", "outcome": "fine"}]},
        {
            "server": "a.invalid",
            "paths": ["/"],
            "depth": 2**70,
            "lease": "0-1",
            "urls": [{"path": "/", "visit": 10**30}],
        },
    ]
    kinds = [json.dumps(document).encode() for document in documents]
    kinds += [
        b"",
        b" ",
        b"{",
        b'{"server":',
        b"not json",
        b"\x00",
        b"\xff\xfe\xfd",
        b"NaN",
        b"1e999",
        b"-",
        b"'",
        b"\n\n",
    ]
    kinds += [text.encode("utf-16"), text.encode("utf-32"), b"\xef\xbb\xbf" + text.encode(), b"\xe4" + text.encode()]
    kinds += [gzip.compress(text.encode()), b"[" * 100_000, b'{"a":' * 50_000, b"PK\x03\x04", b"<html></html>"]
    yield from map(Poison, kinds)
    yield Poison(None)
    yield Poison(b"{", key=None)
    yield Poison(b"{", key=random.randbytes(20_000), headers=((FACTS_HEADER, random.randbytes(20_000)),))
    yield Poison(b"{", headers=(("one", b"{"), ("two", None), ("one", b"\xff")))
    yield Poison(b"{", headers=((FACTS_HEADER, None),))
    # A letter of it has to hold all of this and fit into a record itself.
    large = random.randbytes(LARGEST_RECORD - 20_000 - 20_000)
    yield Poison(large, key=random.randbytes(20_000), headers=((FACTS_HEADER, random.randbytes(20_000)),))
    yield Poison(bytes(BOMB))
    made = len(kinds) + 7
    for number in range(made, count):
        yield Poison(b"%d " % number + random.randbytes(random.randrange(200)))


class Poisoner:
    """Writes what our own code never would."""

    def __init__(self, config: Config) -> None:
        self._names = config.names
        # lz4 packs what is always the same into nothing; a topic's limit is compared with that.
        self._producer = Producer(
            {"bootstrap.servers": config.kafka.bootstrap, "message.max.bytes": 2 * BOMB, "compression.type": "lz4"}
        )

    def write(self, topic: str, partitions: int, poison: list[Poison]) -> dict[tuple[TopicPartition, int], Poison]:
        """Spread over the topic's partitions; gives where each one stands."""
        places: dict[tuple[TopicPartition, int], Poison] = {}

        for number, one in enumerate(poison):

            def stands(error: KafkaError | None, message: Message, one: Poison = one) -> None:
                assert error is None, f"{topic}: {error}"
                places[TopicPartition(topic, message.partition()), message.offset()] = one

            self._producer.produce(
                self._names.topic(topic),
                one.value,
                # A compacted topic takes no record without a key.
                b"" if one.key is None and topic == "control" else one.key,
                number % partitions,
                headers=list(one.headers),
                on_delivery=stands,
            )
        self._producer.flush()
        assert len(places) == len(poison)
        return places
