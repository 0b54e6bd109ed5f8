"""The frontier through a real broker: links a second from ``discovered`` to committed state and orders, transactions on, one process.

Run: python bench/frontier_kafka.py [--quick] [--json]

Packed records of 60 links each, nine of ten links known already, most of them local to the record's server. The topic is filled before the
clock starts; the frontier is the real one, with its changelog, its checkpoints and its orders (one in flight a partition, so that the
figure is that of admission). Beside it, in the same minute: the same records read and decoded, and nothing else.
"""

import shutil
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

from bench.report import finish, machine, options
from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Batch, Commit, Event, Output
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.discovered import Discovered, decode_discovered
from streams.frontier.stage import SPEC, FrontierStage

LINKS: Final = 60
SERVERS: Final = 2_000
KNOWN_SHARE: Final = 0.9


class Timed:
    """A session whose commits are timed; everything else is the session's."""

    cheap_commit = False

    def __init__(self, session: KafkaSession) -> None:
        self._session = session
        self.commits: list[float] = []
        self.links = 0

    @property
    def member(self) -> str:
        return self._session.member

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        event = self._session.poll(max_records, max_bytes, wait)
        if isinstance(event, Batch):
            self.links += LINKS * len(event.records)
        return event

    def commit(self, commit: Commit) -> None:
        began = time.perf_counter()
        self._session.commit(commit)
        self.commits.append((time.perf_counter() - began) * 1000)

    def pause(self, partitions: object) -> None:
        raise NotImplementedError

    def resume(self, partitions: object) -> None:
        raise NotImplementedError

    def close(self, drain: bool = True) -> None:
        self._session.close(drain)


def records(links: int, random: Random) -> list[Discovered]:
    """Pages of Zipf-like servers; a new path now and then, otherwise one of those that the server has."""
    paths = [1] * SERVERS
    found = []
    for _ in range(links // LINKS):
        server = int(SERVERS * random.random() ** 3)
        chosen = []
        for _ in range(LINKS):
            if random.random() >= KNOWN_SHARE:
                paths[server] += 1
                chosen.append(f"/section/{paths[server] % 97}/page-{paths[server]}.html")
            else:
                number = random.randrange(paths[server]) + 1
                chosen.append(f"/section/{number % 97}/page-{number}.html")
        found.append(
            Discovered(server=f"server-{server}.example", paths=tuple(chosen), depth=3, referrer="https://a.example/")
        )
    return found


def fill(transport: KafkaTransport, config: Config, links: int) -> None:
    placement = placement_of(config)
    outputs = [
        Output("discovered", placement.partition(one.server), one.server.encode(), encode(one))
        for one in records(links, Random(1))
    ]
    for at in range(0, len(outputs), 5_000):
        transport.append(outputs[at : at + 5_000])


def admit(transport: KafkaTransport, config: Config, links: int) -> tuple[float, list[float]]:
    """Links a second, from the first batch to the last commit, and the time of each commit."""
    session = Timed(transport.open(SPEC))
    loop = StageLoop(FrontierStage(config, placement_of(config)), session, config.checkpoint)
    while not session.links:
        loop.step(0.1)
    began, already = time.perf_counter(), session.links
    session.commits.clear()
    while session.links < links:
        loop.step(0.1)
    loop.checkpoint()
    took = time.perf_counter() - began
    session.close()
    return (links - already) / took, session.commits


def read_only(transport: KafkaTransport, partitions: int) -> float:
    """Links a second when records are read and decoded and nothing else."""
    links = 0
    began = time.perf_counter()
    for partition in range(partitions):
        for record in transport.read("discovered", partition, 0):
            links += len(decode_discovered(record.value).paths)
    return links / (time.perf_counter() - began)


def main() -> None:
    chosen = options(__doc__)
    links = LINKS * (40_000 if chosen.quick else 400_000)
    folder = Path(tempfile.mkdtemp(prefix="gregor-bench-"))
    print(machine("confluent-kafka", "rocksdict", "numpy"))
    try:
        with KafkaCluster() as cluster:
            flags = {"kafka.bootstrap": cluster.bootstrap, "fetch.orders_in_flight": 1, "crawl.scope": "any"}
            config = load(None, {}, flags).config
            clients = Clients(config.names, config.kafka)
            create(clients, clients.wait_for_broker(), config.layout)
            transport = KafkaTransport(config.names, config.kafka, folder, SharedMemory(StoreOptions.of(config.state)))
            fill(transport, config, links)
            alone = read_only(transport, config.partitions.partitions)
            rate, commits = admit(transport, config, links)
    finally:
        shutil.rmtree(folder)
    figures = {
        "links_per_s": round(rate),
        "read_and_decode_links_per_s": round(alone),
        "ratio_read_and_decode": round(rate / alone, 2),
        "links": links,
        "commits": len(commits),
        "commit_ms_p50": round(float(np.percentile(commits, 50)), 2),
        "commit_ms_p99": round(float(np.percentile(commits, 99)), 2),
    }
    finish(figures, chosen.json)


if __name__ == "__main__":
    main()
