"""How long it takes from a link that was found to its order, on a cluster that has little else to do."""

import secrets
import time
from collections.abc import Sequence
from random import Random
from typing import Final

import confluent_kafka as ck

from gregor.config import Config
from gregor.run.placement import placement_of
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.transport import KafkaTransport
from schemas.codec import encode
from schemas.discovered import Discovered
from schemas.schedule import decode_order

TIMEOUT_S: Final = 30.0
BETWEEN_S: Final = (0.05, 0.25)
"""Between one order and the next link: at no fixed distance from anybody's clock."""


def measure(config: Config, transport: KafkaTransport, links: Sequence[tuple[str, str]]) -> list[float]:
    """Milliseconds for each link (server and path), one after the other, from the call that commits it to ``discovered`` to the moment at
    which a reader of committed records has its order. The reader's own way to the broker is part of it."""
    clients = Clients(config.names, config.kafka)
    orders = _at_the_end(clients, transport)
    producer = clients.producer("cli", secrets.token_hex(8))
    producer.init_transactions(TIMEOUT_S)
    placement = placement_of(config)
    random = Random(1)
    taken = []
    for server, path in links:
        time.sleep(random.uniform(*BETWEEN_S))
        found = Discovered(server=server, paths=(path,), scheme="http", found_ms=int(time.time() * 1000))
        producer.begin_transaction()
        producer.produce(clients.names.topic("discovered"), encode(found), server, placement.partition(server))
        producer.flush(TIMEOUT_S)
        began = time.perf_counter()
        producer.commit_transaction(TIMEOUT_S)
        _wait_for(orders, server, path)
        taken.append((time.perf_counter() - began) * 1000)
    orders.close()
    return taken


def _at_the_end(clients: Clients, transport: KafkaTransport) -> ck.Consumer:
    reader = clients.reader()
    topic = clients.names.topic("schedule")
    reader.assign(
        [ck.TopicPartition(topic, partition, end) for partition, (_, end) in transport.ends("schedule").items()]
    )
    # The first question to each partition is on its way before anything is timed.
    reader.consume(1000, 1.0)
    return reader


def _wait_for(orders: ck.Consumer, server: str, path: str) -> None:
    give_up = time.monotonic() + TIMEOUT_S
    while time.monotonic() < give_up:
        for message in orders.consume(1, 1.0):
            if message.error() is None:
                order = decode_order(message.value())
                if order.server == server and path in [url.path for url in order.urls]:
                    return
    raise SystemExit(f"expected an order for {path} within {TIMEOUT_S:g} s, found none: is the frontier at work?")
