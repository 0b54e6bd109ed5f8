"""Stateful workers on real brokers, killed, frozen and cut off at random moments: nothing is lost, nothing is twice.

Each storm writes numbered values into ``discovered``, some of them several times, lets copiers pass each on once, and reads everything
back committed: the set must be whole, each value once, the checkpoints' counters must add up, and a state restored from the changelog
alone must equal the one that lived through it, byte for byte.
"""

import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from gregor.config import Names
from gregor.config.sections import Kafka
from gregor.pipeline.progress import is_done, look
from gregor.state.options import SharedMemory
from gregor.state.store import META, Store
from gregor.transport.kafka.clients import Clients
from gregor.transport.kafka.topics import create
from gregor.transport.kafka.transport import KafkaTransport
from gregor.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from schemas.control import Layout
from tests.chaos.copier import FAMILIES, SMALL, SPEC
from tests.chaos.processes import Running, running, seeded, until
from tests.chaos.proxy import proxy

PARTITIONS = 4
REPEATS = 3
"""Every value is written up to this often."""


class Storm:
    """A crawl of copiers and what must be true of it afterwards."""

    def __init__(self, bootstrap: str, folder: Path, workers: list[Running], crawl: str, replication: int) -> None:
        self.folder = folder
        self.workers = workers
        self.names = Names(crawl)
        self.kafka = Kafka(bootstrap=bootstrap, session_timeout_s=6.0, replication=replication)
        self.transport = KafkaTransport(self.names, self.kafka, folder / "look", SharedMemory(SMALL))
        self.expected: set[bytes] = set()
        self.letters: set[bytes] = set()
        self.written = 0

    def write(self, random: Random, count: int) -> None:
        """Values of both inputs, in an order of their own in each."""
        first = len(self.expected)
        values = [b"%08d" % number for number in range(first, first + count)]
        letters = [b"!%d" % number for number in range(first, first + 3)]
        for topic in SPEC.inputs:
            chosen = [value for value in values for _ in range(random.randint(1, REPEATS))]
            random.shuffle(chosen)
            outputs = [Output(topic, int(value) % PARTITIONS, b"k", value) for value in chosen]
            if topic == "fetched":
                outputs += [Output(topic, number % PARTITIONS, b"k", letter) for number, letter in enumerate(letters)]
            for at in range(0, len(outputs), 1000):
                self.transport.append(outputs[at : at + 1000])
            self.written += len(chosen)
        self.expected |= set(values)
        self.letters |= set(letters)

    @contextmanager
    def writing(self, random: Random, count: int) -> Iterator[None]:
        """The same beside what the block does."""
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(self.write, random, count)
            yield
            written.result()

    def passed(self) -> int:
        """How much of the output is there, markers included: a rough measure of the way to go."""
        return sum(end for _, end in self.transport.ends("schedule").values())

    def wait_until_done(self) -> None:
        before = look(self.transport, [SPEC], PARTITIONS)

        def done() -> bool:
            nonlocal before
            now = look(self.transport, [SPEC], PARTITIONS)
            same, before = is_done(before, now), now
            return same

        until(done, "every value has been passed on", 0.5, self.workers)

    def check(self) -> None:
        """Lost 0, twice 0, counters add up, dead letters whole."""
        assert self._values("schedule") == Counter(dict.fromkeys(self.expected, 1))
        assert self._values("dead-letters") == Counter(dict.fromkeys(self.letters, 1))
        counters = look(self.transport, [SPEC], PARTITIONS).counters
        assert counters["admitted"] == len(self.expected)
        assert counters["admitted"] + counters["duplicates"] == self.written

    def check_states(self) -> None:
        """What the members hold equals what the changelog alone gives."""
        for worker in self.workers:
            code, printed = worker.terminate()
            assert code == 0, printed
        lived = {
            partition: dumped
            for number in range(len(self.workers))
            for partition, dumped in _dump(self.folder / str(number) / "frontier").items()
            if dumped[0] == self._last_sequence(partition)
        }
        assert lived.keys() == set(range(PARTITIONS))
        shutil.rmtree(self.folder / "0" / "frontier", ignore_errors=True)
        with running("-m", "tests.chaos.copier", self.kafka.bootstrap, self.names.crawl, self.folder / "0"):
            until(self._restored, "all partitions are restored")
        restored = _dump(self.folder / "0" / "frontier")
        for partition in range(PARTITIONS):
            assert restored[partition][1] == lived[partition][1], f"partition {partition}"

    def _restored(self) -> bool:
        folder = self.folder / "0" / "frontier"
        return sum(1 for _ in folder.glob("partition-*")) == PARTITIONS and self._fresh_commit()

    def _fresh_commit(self) -> bool:
        members = {
            checkpoint.member
            for partition in range(PARTITIONS)
            if (checkpoint := self.transport.last_checkpoint("frontier", partition)) is not None
        }
        return members == {(self.folder / "0" / "frontier" / "member").read_text()}

    def _last_sequence(self, partition: int) -> int:
        checkpoint = self.transport.last_checkpoint("frontier", partition)
        assert checkpoint is not None
        return checkpoint.sequence

    def _values(self, topic: str) -> Counter[bytes]:
        return Counter(
            record.value or b""
            for partition in self.transport.ends(topic)
            for record in self.transport.read(topic, partition, 0)
        )


def _more_than(crawl: Storm, least: int) -> bool:
    return crawl.passed() > least


def _dump(folder: Path) -> dict[int, tuple[int, dict[str, list[tuple[bytes, bytes]]]]]:
    """Partition to its last checkpoint's number and everything that its families hold."""
    dumped = {}
    for path in sorted(folder.glob("partition-*")):
        store = Store(path, FAMILIES, SharedMemory(SMALL))
        view = store.view()
        meta = view.get(META, b"replica") or b""
        sequence = int(meta.split(b'"sequence":')[1].split(b",")[0].rstrip(b"}")) if b'"sequence":' in meta else 0
        dumped[int(path.name[-4:])] = sequence, {family: list(view.scan(family)) for family in FAMILIES}
        store.close()
    return dumped


@contextmanager
def storm(
    folder: Path, cluster: KafkaCluster, workers: int, *, bootstrap: str = "", replication: int = 1
) -> Iterator[Storm]:
    crawl = f"storm-{secrets.token_hex(4)}"
    direct = Kafka(bootstrap=cluster.bootstrap, replication=replication)
    clients = Clients(Names(crawl), direct)
    create(clients, clients.wait_for_broker(), Layout(repositories=4096, partitions=PARTITIONS))
    with ExitStack() as stack:
        started: list[Running] = []
        made = Storm(cluster.bootstrap, folder, started, crawl, replication)
        for number in range(workers):
            address = bootstrap or cluster.bootstrap
            started.append(
                stack.enter_context(running("-m", "tests.chaos.copier", address, crawl, folder / str(number)))
            )
        yield made


def test_workers_killed_and_frozen_at_random_lose_and_double_nothing(tmp_path: Path, kafka: KafkaCluster) -> None:
    random = seeded("worker storm")
    with storm(tmp_path, kafka, workers=2) as crawl:
        until(lambda: look(crawl.transport, [SPEC], PARTITIONS).lag is not None, "the workers are there")
        for number in range(6):
            crawl.write(random, 3_000)
            time.sleep(random.uniform(0.2, 2.0))
            crawl.workers[number % 2].restart()
        zombie = crawl.workers[0]
        zombie.stop()
        crawl.write(random, 3_000)
        time.sleep(9.0)
        zombie.go_on()
        crawl.wait_until_done()
        crawl.check()
        crawl.check_states()


@pytest.mark.timeout(600)
def test_killing_the_transaction_coordinator_in_mid_transaction_loses_and_doubles_nothing(
    tmp_path: Path, kafka3: KafkaCluster
) -> None:
    random = seeded("coordinator storm")
    with storm(tmp_path, kafka3, workers=1, replication=3) as crawl:
        for number in range(2):
            with crawl.writing(random, 6_000):
                until(partial(_more_than, crawl, 6_000 * number + 500), "transactions are under way", 0.1, crawl.workers)
                member = (tmp_path / "0" / "frontier" / "member").read_text()
                broker = kafka3.transaction_coordinator(crawl.names.transactional_id("frontier", member))
                kafka3.kill(broker)
            kafka3.restart(broker)
        crawl.wait_until_done()
        crawl.check()
        crawl.check_states()


def test_slow_and_cut_connections_to_the_broker_lose_and_double_nothing(tmp_path: Path) -> None:
    random = seeded("connection storm")
    with proxy() as way, KafkaCluster(proxies=(way.port,)) as cluster:
        way.target = cluster.behind_proxies[0]
        with storm(tmp_path, cluster, workers=2, bootstrap=f"127.0.0.1:{way.port}") as crawl:
            for _ in range(4):
                crawl.write(random, 1_500)
                way.delay_s = random.uniform(0.0, 0.05)
                time.sleep(random.uniform(0.5, 2.0))
                way.cut()
                time.sleep(random.uniform(0.1, 3.0))
                way.heal()
            way.delay_s = 0.0
            crawl.wait_until_done()
            crawl.check()
