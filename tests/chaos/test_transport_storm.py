"""Stateful workers on real brokers, killed, frozen and cut off at random moments: nothing is lost, nothing is twice.

Each storm writes numbered values into both inputs, some of them several times, lets copiers pass each on once, and reads everything back
committed: the set must be whole, each value once, the checkpoints' counters must add up, and a state restored from the changelog alone
must equal the one that lived through it, byte for byte.
"""

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from gregor.config.sections import KafkaSection
from gregor.run.progress import look
from gregor.runtime.transport.port import Output
from infra.kafka.cluster import KafkaCluster
from tests.chaos.copier import SPEC
from tests.chaos.processes import seeded, until
from tests.chaos.proxy import proxy
from tests.chaos.storm import PARTITIONS, Storm, kafka_of, storming

REPEATS = 3
"""Every value is written up to this often."""


class CopierStorm(Storm):
    """Values that the copiers must pass on once each."""

    def __init__(self, folder: Path, kafka: KafkaSection, workers_kafka: str = "") -> None:
        super().__init__("tests.chaos.copier", SPEC, folder, kafka, workers_kafka or kafka.bootstrap)
        self.expected: set[bytes] = set()
        self.letters: set[bytes] = set()
        self.written = 0

    def write(self, random: Random, count: int) -> None:
        """Values of both inputs, in an order of their own in each, and some that nobody can read."""
        first = len(self.expected)
        values = [b"%08d" % number for number in range(first, first + count)]
        letters = [b"!%d" % number for number in range(first, first + 3)]
        for topic in SPEC.inputs:
            chosen = [value for value in values for _ in range(random.randint(1, REPEATS))]
            random.shuffle(chosen)
            outputs = [Output(topic, int(value) % PARTITIONS, b"k", value) for value in chosen]
            if topic == "fetched":
                outputs += [Output(topic, number % PARTITIONS, b"k", letter) for number, letter in enumerate(letters)]
            self.append(outputs)
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

    def more_than(self, least: int) -> bool:
        return self.passed() > least

    def check(self) -> None:
        """Lost 0, twice 0, counters add up, dead letters whole."""
        assert self.values("schedule") == Counter(dict.fromkeys(self.expected, 1))
        assert self.values("dead-letters") == Counter(dict.fromkeys(self.letters, 1))
        counters = look(self.transport, [SPEC], PARTITIONS).counters
        assert counters["admitted"] == len(self.expected)
        assert counters["admitted"] + counters["duplicates"] == self.written


def test_workers_killed_and_frozen_at_random_lose_and_double_nothing(tmp_path: Path, kafka: KafkaCluster) -> None:
    random = seeded("worker storm")
    crawl = CopierStorm(tmp_path, kafka_of(kafka))
    with storming(crawl, workers=2):
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


def test_what_others_write_into_a_changelog_becomes_dead_letters_and_the_state_is_restored(
    tmp_path: Path, kafka: KafkaCluster
) -> None:
    random = seeded("foreign changelog")
    crawl = CopierStorm(tmp_path, kafka_of(kafka))
    with storming(crawl, workers=1):
        crawl.write(random, 2_000)
        crawl.wait_until_done()
        crawl.workers[0].kill()
        foreign = [b"hello %d", b"Dear Sir %d", b'{"sincerely": %d}']
        written = [(one, text % one) for one in range(PARTITIONS) for text in foreign]
        crawl.append([Output(SPEC.changelog, partition, b"checkpoint", value) for partition, value in written])
        crawl.letters |= {value for _, value in written}
        shutil.rmtree(tmp_path / "0" / SPEC.name)
        crawl.workers[0].restart()
        crawl.write(random, 2_000)
        crawl.wait_until_done()
        crawl.check()
        crawl.check_states()


@pytest.mark.timeout(600)
def test_killing_the_transaction_coordinator_in_mid_transaction_loses_and_doubles_nothing(
    tmp_path: Path, kafka3: KafkaCluster
) -> None:
    random = seeded("coordinator storm")
    crawl = CopierStorm(tmp_path, kafka_of(kafka3, replication=3))
    with storming(crawl, workers=1):
        for number in range(2):
            with crawl.writing(random, 4_000):
                until(partial(crawl.more_than, 4_000 * number + 300), "transactions are under way", 0.1, crawl.workers)
                member = (tmp_path / "0" / "frontier" / "member").read_text()
                broker = kafka3.transaction_coordinator(crawl.names.transactional_id("frontier", member))
                kafka3.kill(broker)
            kafka3.restart(broker)
        crawl.wait_until_done()
        crawl.check()
        crawl.check_states()


@pytest.mark.timeout(600)
def test_a_broker_of_three_that_nobody_hears_for_a_while_loses_and_doubles_nothing(
    tmp_path: Path, kafka3: KafkaCluster
) -> None:
    """As behind a cut network: its connections stay open, others take over what it led, and then it is back with what it believed."""
    random = seeded("silent broker")
    crawl = CopierStorm(tmp_path, kafka_of(kafka3, replication=3))
    with storming(crawl, workers=2):
        with crawl.writing(random, 4_000):
            until(partial(crawl.more_than, 300), "transactions are under way", 0.1, crawl.workers)
            silent = kafka3.leader(crawl.names.topic("schedule"), 0)
            kafka3.stop_process(silent)
            # The others notice after six seconds.
            time.sleep(9.0)
            kafka3.continue_process(silent)
        crawl.wait_until_done()
        crawl.check()
        crawl.check_states()


@pytest.mark.timeout(600)
def test_slow_and_cut_connections_to_the_broker_lose_and_double_nothing(tmp_path: Path) -> None:
    random = seeded("connection storm")
    with proxy() as way, KafkaCluster(proxies=(way.port,)) as cluster:
        way.target = cluster.behind_proxies[0]
        crawl = CopierStorm(tmp_path, kafka_of(cluster), f"127.0.0.1:{way.port}")
        with storming(crawl, workers=2):
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
