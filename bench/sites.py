"""Sites and their slots: how many new ones a coordinator places in a second, with real commits on both engines; what a table of a million
sites costs an extractor; how long a new site waits for its first order; what each coverage finds and what the coordinator is told for it.

    python -m bench.sites [--quick] [--json]

The coordinator is the product's own, in its own loop, without name resolution. It is told sites as homes tell them, many a record, until
it knows as many as asked for; then the clock starts. Beside it, in the same minute, the same records are read and decoded and nothing
else: `ratio_read_and_decode` holds on any machine.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.report import finish, machine, options
from bench.siting.coverage import coverage_figures
from bench.siting.extractor_table import extractor_figures
from bench.siting.first_order import first_order_figures
from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.runtime.role import Scratch
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output, Transport
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.sites_found import FoundSite, SitesFound, decode_site_note
from streams.coordinator.role import make
from streams.coordinator.stage import SPEC

TOLD: Final = 500
"""Sites of one record: a busy home's checkpoint."""
KNOWN: Final = 1_000_000
NEW: Final = 300_000


def config_for(**settings: Any) -> Config:
    flags = {"partitions.placement": "sites", "sites.resolve": False, **settings}
    return load(None, {}, flags).config


def notes(first: int, count: int, partitions: int) -> Iterator[Output]:
    """Sites that nobody has met, as homes tell them."""
    for at in range(first, first + count, TOLD):
        found = tuple(
            FoundSite(
                site=f"www.host-{number * 2654435761 % 2**32:x}.example.org",
                hops=3,
                found_on=f"https://www.host-{number // 7:x}.example.org/section/page-{number}.html",
                found_ms=1_700_000_000_000,
            )
            for number in range(at, min(at + TOLD, first + count))
        )
        yield Output("sites-found", 0, b"home", encode(SitesFound(home=at // TOLD % partitions, load=at, sites=found)))


def tell(transport: Transport, first: int, count: int, partitions: int) -> None:
    told = list(notes(first, count, partitions))
    for at in range(0, len(told), 200):
        transport.append(told[at : at + 200])


def placed(transport: Transport) -> int:
    checkpoint = transport.last_checkpoint(SPEC.name, 0)
    return checkpoint.counters.get("sites_placed", 0) if checkpoint else 0


def place(transport: Transport, config: Config, folder: Path, known: int, new: int) -> tuple[float, float]:
    """New sites a second, with so many known, and microseconds of this process's processor time for each."""
    partitions = config.partitions.partitions
    loop = make(config, placement_of(config), transport.open(SPEC), Scratch(folder, home=folder, lasting=False))
    tell(transport, 0, known, partitions)
    while placed(transport) < known:
        for _ in range(5):
            loop.step(0.1)
    tell(transport, known, new, partitions)
    began, used = time.perf_counter(), time.process_time()
    while placed(transport) < known + new:
        loop.step(0.1)
    took, used = time.perf_counter() - began, time.process_time() - used
    loop.stop()
    loop.run()
    return new / took, used / new * 1e6


def read_only(transport: Transport) -> float:
    """Sites a second when the records are read and decoded and nothing else."""
    sites = 0
    began = time.perf_counter()
    for record in transport.read("sites-found", 0, 0):
        found = decode_site_note(record.value)
        sites += len(found.sites)
    return sites / (time.perf_counter() - began)


@contextmanager
def embedded(folder: Path, config: Config) -> Iterator[Transport]:
    settings = EmbeddedSettings(crawl=config.crawl.name, partitions=config.partitions.partitions)
    memory = SharedMemory(StoreOptions.of(config.state))
    transport = EmbeddedTransport.at(folder / "log", settings, memory, (SPEC,))
    try:
        yield transport
    finally:
        transport.close()


@contextmanager
def kafka(folder: Path) -> Iterator[tuple[Transport, Config]]:
    with KafkaCluster() as cluster:
        config = config_for(**{"kafka.bootstrap": cluster.bootstrap})
        clients = Clients(config.names, config.kafka)
        create(clients, clients.wait_for_broker(), config.layout)
        memory = SharedMemory(StoreOptions.of(config.state))
        transport = KafkaTransport(config.names, config.kafka, folder / "member", memory)
        try:
            yield transport, config
        finally:
            transport.close()


def coordinator_rates(folder: Path, quick: bool) -> dict[str, float]:
    """`sites_per_s` is that of Kafka, whose commits are real transactions on a broker of this machine."""
    known, new = (KNOWN // 5, NEW // 3) if quick else (KNOWN, NEW)
    with embedded(folder, config := config_for()) as transport:
        on_one_machine, embedded_us = place(transport, config, folder, known, new)
        alone = read_only(transport)
    with kafka(folder) as (cluster, settings):
        on_kafka, kafka_us = place(cluster, settings, folder, known, new)
    return {
        "sites_per_s": round(on_kafka),
        "sites_per_s_embedded": round(on_one_machine),
        "read_and_decode_sites_per_s": round(alone),
        "ratio_read_and_decode": round(on_one_machine / alone, 3),
        "cpu_us_per_site": round(kafka_us, 1),
        "cpu_us_per_site_embedded": round(embedded_us, 1),
        "known": known,
        "new": new,
    }


def main() -> None:
    chosen = options(__doc__)
    print(machine("confluent-kafka", "rocksdict", "numpy"))
    folder = Path(tempfile.mkdtemp(prefix="gregor-bench-"))
    try:
        figures = {
            **coordinator_rates(folder, chosen.quick),
            **extractor_figures(chosen.quick),
            **first_order_figures(folder, chosen.quick),
            **coverage_figures(folder, chosen.quick),
        }
    finally:
        shutil.rmtree(folder)
    finish(figures, chosen.json)


if __name__ == "__main__":
    main()
