"""The coordinator on a real broker: alone, with a successor, and killed in the middle of its work."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.sections import CrawlSection, KafkaSection
from gregor.config.text import as_toml
from gregor.run.progress import look
from gregor.run.worker import kafka_transport
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRows, decode_discovery
from schemas.sites import decode_site
from streams.coordinator.inspect import StateSites, TopicSites
from streams.coordinator.stage import SPEC
from tests.chaos.processes import gregor, seeded, until
from tests.streams.coordinator.contract import CoordinatorOnAnEngine
from tests.streams.coordinator.rig import PARTITIONS, configure, found

ROUNDS = 30
EACH = 400


@pytest.fixture
def config(kafka: KafkaCluster) -> Config:
    settings = KafkaSection(bootstrap=kafka.bootstrap, session_timeout_s=6.0, transaction_timeout_s=10.0)
    crawl = CrawlSection(name=f"sites-{secrets.token_hex(4)}")
    return replace(configure(), kafka=settings, crawl=crawl)


@pytest.fixture
def transport(config: Config, tmp_path: Path) -> Iterator[KafkaTransport]:
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    one = kafka_transport(config, tmp_path / "member")
    yield one
    one.close()


class TestCoordinatorOnKafka(CoordinatorOnAnEngine):
    """What holds on every engine."""


@pytest.mark.timeout(600)
def test_whichever_coordinator_is_killed_no_site_is_lost_or_has_two_slots(
    transport: KafkaTransport, config: Config, tmp_path: Path
) -> None:
    """Two of them, one at work and one that stands by; new sites and repeated ones arrive all the while."""
    path = tmp_path / "gregor.toml"
    path.write_text(as_toml(config) + "\n")
    moments = seeded("coordinators")
    names = [f"site{number}.example.org" for number in range(ROUNDS * EACH)]

    def passed() -> bool:
        return look(transport, [SPEC], PARTITIONS).lag[SPEC.name] == 0

    with ExitStack() as stack:
        workers = [
            stack.enter_context(gregor(path, "worker", "coordinator", "--folder", tmp_path / f"worker-{number}"))
            for number in range(2)
        ]
        for number in range(ROUNDS):
            fresh = names[number * EACH : (number + 1) * EACH]
            again = moments.sample(names[: (number + 1) * EACH], 50)
            notes = [found(*fresh, home=number % PARTITIONS), found(*again)]
            transport.append([Output("sites-found", 0, b"test", encode(note)) for note in notes])
            if number in (5, 12, 20):
                until(lambda: look(transport, [SPEC], PARTITIONS).counters.get("sites_known", 0) > 0, "it works")
                workers[number % 2].restart()
        until(passed, "everything is passed", workers=workers)
        for worker in workers:
            code, printed = worker.terminate()
            assert code == 0, printed
    rows = {row.site: row for row in TopicSites(transport).rows()}
    assert sorted(rows) == sorted(names), "none is lost"
    assert sorted(row.rank for row in rows.values()) == list(range(len(names)))
    assert all(row.slot == row.rank % PARTITIONS for row in rows.values())
    slots: dict[str, set[int]] = {}
    for record in transport.read("sites", 0, 0):
        row = decode_site(record.value)
        slots.setdefault(row.site, set()).add(row.slot)
    assert all(len(of) == 1 for of in slots.values()), "one slot a site, in every row that was ever written"
    assert look(transport, [SPEC], PARTITIONS).counters["sites_placed"] == len(names)
    granted = _granted(transport)
    assert granted == {site: [row.slot] for site, row in rows.items()}, "one grant and one root page a site"
    states = [one.state(SPEC, 0) for one in (kafka_transport(config, tmp_path / f"worker-{n}") for n in range(2))]
    registries = [{row.site: row for row in StateSites(state).rows()} for state in states if state is not None]
    assert rows in registries, "the topic is the registry"


def _granted(transport: KafkaTransport) -> dict[str, list[int]]:
    """Site to the partitions in which its root page stands, behind a grant."""
    roots: dict[str, list[int]] = {}
    for partition in range(PARTITIONS):
        owned: set[str] = set()
        for record in transport.read("discovered", partition, 0):
            match decode_discovery(record.value):
                case SiteRows() as told:
                    owned |= {row.site for row in told.sites if row.slot == partition}
                case Discovered() as root:
                    assert root.server in owned, "a grant stands before the root page"
                    roots.setdefault(root.server, []).append(partition)
    return roots
