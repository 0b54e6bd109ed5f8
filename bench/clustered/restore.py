"""A whole frontier from its changelog into an empty folder: filled by the real stage, restored by a new session of it."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.config import Config, load
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.running import LONGEST_WAIT_S
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.session import KafkaSession
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.port import Commit, Event, Output, TopicPartition
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.discovered import Discovered
from streams.frontier.stage import SPEC, FrontierStage

URLS_PER_RECORD: Final = 100
URLS_PER_SERVER: Final = 1_000
AT_ONCE: Final = 200_000
"""URLs written to the topic before the frontier takes them in."""


class Restored(Struct, frozen=True, kw_only=True):
    """One restore."""

    urls: int
    """Known to the frontier; all but a handful wait in its queues, which is the most that a URL can take."""
    seconds: float
    """From the moment at which the group gave the partitions to the last one that is ready to decide."""
    cpu_s: float
    """Of the worker and of the processes that restore for it, in that time."""
    broker_cpu_s: float
    changelog_mb: float
    """Bytes of the records that were read."""

    @property
    def urls_per_s(self) -> int:
        return round(self.urls / self.seconds)


class Noted:
    """A session that remembers when its first event came: the group has given it its partitions."""

    cheap_commit = False

    def __init__(self, session: KafkaSession) -> None:
        self._session = session
        self.began: float | None = None

    @property
    def member(self) -> str:
        return self._session.member

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        event = self._session.poll(max_records, max_bytes, wait)
        if self.began is None and event.epoch:
            self.began = time.perf_counter()
        return event

    def commit(self, commit: Commit) -> None:
        self._session.commit(commit)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._session.pause(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._session.resume(partitions)

    def close(self, drain: bool = True) -> None:
        self._session.close(drain)


def measure(
    bootstrap: str, broker_cpu: Callable[[], float], folder: Path, urls: int, name: str = "restore"
) -> Restored:
    """Of a crawl of its own, under that name, on that cluster."""
    flags = {
        "kafka.bootstrap": bootstrap,
        "crawl.name": name,
        "crawl.scope": "any",
        "fetch.orders_in_flight": 1,
        "robots.obey": False,
    }
    config = load(None, {}, flags).config
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    _fill(config, folder, urls)
    for partition in (folder / SPEC.name).glob("partition-*"):
        shutil.rmtree(partition)
    return _restore(config, folder, urls, broker_cpu)


def _fill(config: Config, folder: Path, urls: int) -> None:
    transport = kafka_transport(config, folder)
    session = transport.open(SPEC)
    stage = FrontierStage(config, placement_of(config))
    loop = StageLoop(stage, session, config.checkpoint)
    for outputs in _records(urls, placement_of(config)):
        transport.append(outputs)
        loop.step(0.01)
    while _total(stage, "admitted") < urls:
        loop.step(0.1)
    loop.checkpoint()
    session.close()
    transport.close()


def _records(urls: int, placement: Placement) -> Iterator[list[Output]]:
    """Pages of one server after the other, as a crawl finds them that has just met it."""
    outputs = []
    for first in range(0, urls, URLS_PER_RECORD):
        server = f"www.server-{first // URLS_PER_SERVER}.example"
        numbers = range(first, min(urls, first + URLS_PER_RECORD))
        paths = tuple(f"/section-{number % 97}/page-{number}.html" for number in numbers)
        found = Discovered(server=server, paths=paths, depth=3, referrer=f"https://{server}/")
        outputs.append(Output("discovered", placement.partition(server), server.encode(), encode(found)))
        if len(outputs) * URLS_PER_RECORD >= AT_ONCE:
            yield outputs
            outputs = []
    yield outputs


def _restore(config: Config, folder: Path, urls: int, broker_cpu: Callable[[], float]) -> Restored:
    transport = kafka_transport(config, folder)
    session = Noted(transport.open(SPEC))
    stage = FrontierStage(config, placement_of(config))
    loop = StageLoop(stage, session, config.checkpoint)
    cpu, of_broker = _cpu_s(), broker_cpu()
    while len(loop.owned) < config.partitions.partitions:
        loop.step(LONGEST_WAIT_S)
    assert session.began is not None
    seconds = time.perf_counter() - session.began
    cpu, of_broker = _cpu_s() - cpu, broker_cpu() - of_broker
    found = _total(stage, "admitted")
    session.close()
    if found != urls:
        raise SystemExit(f"expected a frontier of {urls} URLs, found {found} after the restore")
    read = sum(
        len(record.key or b"") + len(record.value or b"")
        for partition in range(config.partitions.partitions)
        for record in transport.read(SPEC.changelog, partition, 0)
    )
    transport.close()
    return Restored(
        urls=urls,
        seconds=round(seconds, 2),
        cpu_s=round(cpu, 2),
        broker_cpu_s=round(of_broker, 2),
        changelog_mb=round(read / 2**20, 1),
    )


def _cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _total(stage: FrontierStage, name: str) -> int:
    return sum(counters.get(name, 0) for counters in stage.counters().values())
