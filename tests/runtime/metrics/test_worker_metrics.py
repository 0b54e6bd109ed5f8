"""Workers on a real broker show what the topics and the site's own log say; the survey sees what hangs."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka import Producer
from msgspec.structs import replace

from gregor.config import Config, load
from gregor.config.sections import MetricsSection
from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from gregor.rules.canonical import rules_of
from gregor.run.placement import placement_of
from gregor.run.seeds import parse_seeds, seed_outputs
from gregor.run.topology import enabled_roles
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.metrics.metric_defs import (
    COMMON,
    IGNORED,
    LAG,
    REFUSALS,
    RESTORE_DONE,
    RESTORE_TOTAL,
    STABLE_LAG,
    URLS,
    Metric,
)
from gregor.runtime.metrics.survey import Survey
from gregor.runtime.metrics.worker import WorkerMetrics
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Assigned, Output, Restoring, TopicPartition
from infra.kafka.cluster import KafkaCluster
from infra.kafka.ports import held_ports
from streams.frontier.metrics import FRONTIER_SITES
from tests.chaos.processes import Running, gregor, until
from tests.run.configured import write_config
from tests.runtime.metrics.test_server import get, healthy, samples

SITE = DemoSite(hosts=2, pages_per_host=6)
PARTITIONS = 4
ROLES = enabled_roles(Config())
NOT_ALWAYS = {RESTORE_DONE, RESTORE_TOTAL, REFUSALS, URLS, IGNORED, FRONTIER_SITES}
"""What is shown only once there is something to tell."""
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Watched:
    """A crawl whose roles run as processes, each with metrics."""

    def __init__(
        self, config: Config, transport: KafkaTransport, ports: dict[str, int], workers: dict[str, Running]
    ) -> None:
        self.config = config
        self.transport = transport
        self.ports = ports
        self.workers = workers

    def samples(self, role: str) -> Samples:
        assert self.workers[role].ended is None, f"{role} ended: {self.workers[role].wait()}"
        return samples(get(self.ports[role], "/metrics")[1]) if healthy(self.ports[role])[0] else {}

    def total(self, role: str, name: str, **labels: str) -> float:
        """Of all series that have these labels."""
        wanted = labels.items()
        return sum(
            value for (found, of), value in self.samples(role).items() if found == name and wanted <= dict(of).items()
        )

    def has_no_lag(self, role: str) -> bool:
        lag = [value for (name, _), value in self.samples(role).items() if name == LAG.name]
        return lag == [0] * PARTITIONS * len(ROLES[role].spec.inputs)

    def records(self, topic: str) -> int:
        return sum(1 for partition in self.transport.ends(topic) for _ in self.transport.read(topic, partition, 0))


def configured(folder: Path, kafka: KafkaCluster, server: DemoServer) -> tuple[Path, Config, KafkaTransport]:
    name = f"metrics-{secrets.token_hex(4)}"
    path = write_config(folder / "gregor.toml", server, crawl=name, bootstrap=kafka.bootstrap, session_timeout_s=6.0)
    config = load(path, {}).config
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    return path, config, kafka_transport(config, folder / "look")


@contextmanager
def watched(folder: Path, kafka: KafkaCluster, server: DemoServer) -> Iterator[Watched]:
    path, config, transport = configured(folder, kafka, server)
    transport.append(
        seed_outputs(parse_seeds(config.crawl.seeds, rules_of(config.url)), placement_of(config), now_ms())
    )
    with ExitStack() as stack:
        with held_ports(len(ROLES)) as chosen:
            ports = dict(zip(ROLES, chosen, strict=True))
        workers = {
            role: stack.enter_context(
                gregor(path, "worker", role, "--folder", folder / role, "--metrics-port", str(ports[role]))
            )
            for role in ROLES
        }
        yield Watched(config, transport, ports, workers)


def test_every_worker_shows_what_the_topics_and_the_site_say(tmp_path: Path, kafka: KafkaCluster) -> None:
    with serve(SITE) as server, watched(tmp_path, kafka, server) as crawl:
        wanted = len(server.site.urls())
        crawl.transport.append([Output("discovered", 0, b"k", b"no JSON at all")])
        until(lambda: crawl.total("fetcher", "gregor_fetch_results_total") == wanted, "everything is fetched")
        until(lambda: crawl.total("archiver", "gregor_archive_pages_total") == wanted, "everything is archived")
        until(lambda: crawl.total("frontier", "gregor_frontier_events_total", event="confirmed") == wanted, "confirmed")
        until(
            lambda: crawl.total("frontier", "gregor_dead_letters_total", topic="discovered") == 1, "one is unreadable"
        )
        for role in ROLES:
            until(partial(crawl.has_no_lag, role), f"{role} has no lag")
        written = crawl.records("pages")
        assert crawl.total("fetcher", "gregor_output_records_total", topic="pages") == written
        assert crawl.total("extractor", "gregor_records_total", topic="pages") == written
        assert crawl.total("frontier", "gregor_frontier_urls") == 0
        shown = {role: {name for name, _ in crawl.samples(role)} for role in ROLES}
        for name, described in ROLES.items():
            for metric in {*COMMON, *described.metrics} - NOT_ALWAYS:
                assert series_of(metric) in shown[name], f"{name} shows {metric.name}"
        for role, worker in crawl.workers.items():
            code, printed = worker.terminate()
            assert code == 0, f"{role}: {printed}"
    looks = restored(kafka_transport(crawl.config, tmp_path / "another").open(ROLES["frontier"].spec))
    replayed = [one for look in looks for one in look.values() if one.end]
    assert replayed, "the changelog had something to replay"
    assert all(one.first <= one.next for one in replayed)


def restored(session: KafkaSession) -> list[Mapping[int, Restoring]]:
    """A member without any state, until all of its partitions are ready: what it told of them on the way."""
    looks: list[Mapping[int, Restoring]] = []
    ready: set[int] = set()

    def go_on() -> bool:
        event = session.poll(100, 1 << 20, 0.01)
        if isinstance(event, Assigned):
            ready.update(event.partitions)
        looks.append(session.restoring())
        return len(ready) == PARTITIONS

    try:
        until(go_on, "all partitions are ready", every=0)
    finally:
        session.close()
    assert looks[-1] == {}
    return looks


def series_of(metric: Metric) -> str:
    return f"{metric.name}_count" if metric.kind == "histogram" else metric.name


def test_a_transaction_that_hangs_shows_as_hidden_records_and_not_as_lag(tmp_path: Path, kafka: KafkaCluster) -> None:
    with serve(SITE) as server:
        _, config, transport = configured(tmp_path, kafka, server)
    transport.append([Output("pages", 1, b"k", b"v")])
    passed = {TopicPartition("pages", 1): transport.ends("pages")[1][1], TopicPartition("pages", 2): 0}
    survey = Survey(Clients(config.names, config.kafka), ROLES["extractor"].spec, lambda: passed, every_s=0.05)
    survey.start()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": secrets.token_hex(8)})
    producer.init_transactions(60)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce(config.names.topic("pages"), b"v", b"k", 1)
    producer.flush(60)
    try:
        until(lambda: survey.figures().get(STABLE_LAG, {}).get(("pages", "1")) == 3, "three records are hidden")
        assert survey.figures()[LAG] == {("pages", "1"): 0, ("pages", "2"): 0}
        producer.commit_transaction(60)
        until(lambda: survey.figures()[STABLE_LAG]["pages", "1"] == 0, "the transaction is over")
        lag = survey.figures()[LAG]["pages", "1"]
        assert isinstance(lag, float | int)
        assert lag >= 3, "they are to be read now, and so is the marker behind them"
    finally:
        survey.close()


def test_a_partition_that_is_being_restored_shows_what_hides_the_rest_of_its_changelog(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    with serve(SITE) as server:
        _, config, _ = configured(tmp_path, kafka, server)
    clients, frontier = Clients(config.names, config.kafka), ROLES["frontier"].spec
    survey = Survey(clients, frontier, dict, restoring=lambda: (1,), every_s=0.05)
    survey.start()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": secrets.token_hex(8)})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(config.names.topic("frontier-changelog"), b"v", b"k", 1)
    producer.flush(60)
    try:
        hidden = ("frontier-changelog", "1")
        until(lambda: survey.figures().get(STABLE_LAG, {}).get(hidden) == 1, "a record is hidden")
        assert survey.figures()[LAG] == {}
        producer.abort_transaction(60)
        until(lambda: survey.figures()[STABLE_LAG][hidden] == 0, "the transaction is over")
    finally:
        survey.close()


def test_a_loop_that_does_not_come_round_makes_the_worker_unhealthy(tmp_path: Path, kafka: KafkaCluster) -> None:
    with held_ports(1) as (port,):
        pass
    settings = MetricsSection(port=port, silent_after_s=3600.0)
    for silence, expected in ((3600.0, True), (1e-9, False)):
        config = load(None, {}, {"kafka.bootstrap": kafka.bootstrap}).config
        config = replace(config, metrics=replace(settings, silent_after_s=silence))
        metrics = WorkerMetrics(config, ROLES["fetcher"], tmp_path / "not made yet")
        try:
            assert healthy(port)[0] is expected
            assert get(port, "/metrics")[0] == 200
        finally:
            metrics.close()
