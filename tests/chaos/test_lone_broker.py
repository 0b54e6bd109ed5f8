"""The only broker is killed and comes back: librdkafka keeps asking the dead one whether it takes the positions, and a member does not wait
for that answer. Nothing is lost, nothing is twice."""

import time
from collections import Counter
from functools import partial
from pathlib import Path

from gregor.errors import Aborted, CommitFailed
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import seeded, until
from tests.chaos.storm import kafka_of, storming
from tests.chaos.test_transport_storm import CopierStorm
from tests.runtime.transport.member import FRONTIER, Member, fill, settle, values
from tests.runtime.transport.member import until as polled
from tests.runtime.transport.test_kafka import KafkaHarness


def test_a_checkpoint_that_nobody_will_answer_is_given_up_and_done_again_with_the_partitions_kept(
    tmp_path: Path,
) -> None:
    with KafkaCluster() as cluster:
        harness = KafkaHarness(tmp_path, cluster)
        member = Member(harness, FRONTIER)
        settle(member)
        expected: list[bytes] = []
        failed: list[CommitFailed] = []

        def attempt(one: Member) -> None:
            try:
                if one.owned:
                    one.commit(one.copy())
            except CommitFailed as error:
                failed.append(error)

        for number in range(2):
            expected += fill(harness.transport, FRONTIER.inputs, harness.partitions, range(number, number + 1))
            polled(lambda: len(member.gathered) >= 2 * harness.partitions, [member])
            if number:
                # With the input of a transaction gathered, and the coordinators known from the one before.
                cluster.kill(0)
                cluster.restart(0)
            began = time.monotonic()
            attempt(member)
            while values(harness.transport, "verdicts").total() < len(expected):
                member.step()
                attempt(member)
            print(f"commit {number}: {time.monotonic() - began:.1f} s, {len(failed)} given up so far")
        assert values(harness.transport, "verdicts") == Counter(expected)
        assert {type(error) for error in failed} <= {Aborted}
        assert len(failed) <= 2
        harness.close()


def test_the_only_broker_killed_in_mid_transaction_loses_and_doubles_nothing(tmp_path: Path) -> None:
    random = seeded("lone broker")
    with KafkaCluster() as cluster:
        crawl = CopierStorm(tmp_path, kafka_of(cluster))
        with storming(crawl, workers=1):
            for number in range(2):
                with crawl.writing(random, 4_000):
                    until(
                        partial(crawl.more_than, 4_000 * number + 300),
                        "transactions are under way",
                        0.05,
                        crawl.workers,
                    )
                    cluster.kill(0)
                    cluster.restart(0)
                    back, before = time.monotonic(), crawl.passed()
                    until(partial(crawl.more_than, before), "it goes on", 0.05, crawl.workers)
                    print(f"it went on {time.monotonic() - back:.1f} s after the broker's return")
            crawl.wait_until_done()
            crawl.check()
            given_up = crawl.workers[0].printed.count("whether it takes the positions")
            print(f"{given_up} checkpoints were given up")
            crawl.check_states()
