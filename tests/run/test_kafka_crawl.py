"""The same crawl as separate processes on a real broker; the site's own log and the topics are the judges."""

import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gregor.config import Config, load
from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from gregor.rules.canonical import rules_of
from gregor.run.placement import placement_of
from gregor.run.progress import Progress, is_done, look
from gregor.run.seeds import parse_seeds, seed_outputs
from gregor.run.topology import enabled_roles
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.transport.kafka.transport import KafkaTransport
from infra.kafka.cluster import KafkaCluster
from schemas.schedule import decode_order
from tests.chaos.processes import Running, gregor, seeded, until
from tests.run.configured import write_config

ROLES = enabled_roles(Config())
SPECS = [role.spec for role in ROLES.values()]


class Crawl:
    """A crawl whose roles run as processes."""

    def __init__(self, config: Config, transport: KafkaTransport, workers: dict[str, Running]) -> None:
        self.config = config
        self.transport = transport
        self.workers = workers
        self._before: Progress | None = None

    def done(self) -> bool:
        specs = [role.spec for role in enabled_roles(self.config).values()]
        now = look(self.transport, specs, self.config.partitions.partitions)
        before, self._before = self._before, now
        for role, worker in self.workers.items():
            assert worker.ended is None, f"{role} ended: {worker.wait()}"
        return before is not None and now.counters.get("confirmed", 0) > 0 and is_done(before, now)

    def ordered(self) -> Counter[str]:
        """How often each URL was ordered, read committed."""
        orders = (
            decode_order(record.value)
            for partition in range(self.config.partitions.partitions)
            for record in self.transport.read("schedule", partition, 0)
        )
        return Counter(f"{url.scheme}://{order.server}{url.path}" for order in orders for url in order.urls)


@contextmanager
def crawl(
    folder: Path,
    kafka: KafkaCluster | str,
    server: DemoServer,
    placement: str = "hash",
    sites: str = "",
    scope: str = "hosts",
) -> Iterator[Crawl]:
    """``kafka``: the brokers, or the way to them. ``sites``: lines of the section of that name."""
    name = f"skeleton-{secrets.token_hex(4)}"
    bootstrap = kafka if isinstance(kafka, str) else kafka.bootstrap
    path = write_config(
        folder / "gregor.toml", server, name, placement, sites, scope, bootstrap=bootstrap, session_timeout_s=6.0
    )
    config = load(path, {}).config
    with gregor(path, "topics", "--create") as topics:
        code, printed = topics.wait()
        assert code == 0, printed
    transport = kafka_transport(config, folder / "look")
    seeds = parse_seeds(config.crawl.seeds, rules_of(config.url))
    transport.append(seed_outputs(seeds, placement_of(config), now_ms()))
    with ExitStack() as stack:
        workers = {
            role: stack.enter_context(gregor(path, "worker", role, "--folder", folder / role))
            for role in enabled_roles(config)
        }
        yield Crawl(config, transport, workers)


def test_three_processes_fetch_every_url_of_the_site_exactly_once(tmp_path: Path, kafka: KafkaCluster) -> None:
    with serve(DemoSite()) as server, crawl(tmp_path, kafka, server) as running:
        until(running.done, "the crawl is done")
        assert set(server.requested()) == server.site.urls()
        assert set(server.requested().values()) == {1}
        for role, worker in running.workers.items():
            code, printed = worker.terminate()
            assert code == 0, f"{role}: {printed}"


@pytest.mark.timeout(600)
def test_with_each_process_killed_in_the_middle_nothing_is_lost_and_no_url_admitted_twice(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    order = seeded("kafka crawl").sample(sorted(ROLES), len(ROLES))
    with serve(DemoSite(), latency_s=0.05) as server, crawl(tmp_path, kafka, server) as running:
        for number, role in enumerate(order, 1):
            until(lambda least=number * 10: len(server.log) >= least, "the crawl is in its middle")  # type: ignore[misc]
            running.workers[role].restart()
        until(running.done, "the crawl is done")
        assert set(server.requested()) == server.site.urls(), "every URL was asked for"
        assert running.ordered() == Counter(dict.fromkeys(server.site.urls(), 1)), "each was ordered once"
        totals = look(running.transport, SPECS, 4).counters
        assert totals["admitted"] == totals["confirmed"] == len(server.site.urls())
