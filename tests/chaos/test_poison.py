"""Poisoned topics: what nobody can read becomes dead letters, whole, once for each stage that met it, and the crawl goes on."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.dead_letters import chosen, refusal
from infra.kafka.cluster import KafkaCluster
from schemas.dead_letters import LARGEST_LETTER
from schemas.topics import BY_NAME
from tests.chaos.poison import TOPICS, Poisoner, unreadable
from tests.chaos.processes import seeded, until
from tests.run.test_kafka_crawl import Crawl, crawl

COUNT = 500
READERS = {
    "discovered": ("frontier",),
    "fetched": ("frontier",),
    "schedule": ("fetcher",),
    "pages": ("archiver", "extractor"),
}
"""Everybody reads control: were its unreadable records letters, each member would write them anew at each of its starts."""


@pytest.mark.timeout(600)
def test_500_unreadable_records_in_every_topic_become_letters_and_the_crawl_goes_on(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    random = seeded("poison")
    command = ["--config", str(tmp_path / "gregor.toml")]
    site = DemoSite(hosts=3, pages_per_host=10)
    with serve(site, latency_s=0.05) as server, crawl(tmp_path, kafka, server) as job:
        until(lambda: len(server.log) > 5, "the crawl is in its middle", workers=list(job.workers.values()))
        poisoner = Poisoner(job.config)
        places = {
            topic: poisoner.write(topic, BY_NAME[topic].partition_count(4), list(unreadable(random, COUNT)))
            for topic in TOPICS
        }
        until(job.done, "the crawl is done", workers=list(job.workers.values()))
        assert set(server.requested()) == server.site.urls(), "the crawl went on"
        for worker in job.workers.values():
            # Whoever starts reads all of control before anything else.
            worker.restart()
        new = server.site.url(0, "/unheard-of")
        assert cli.run([*command, "seed", new]) == 0
        until(
            lambda: new in server.requested() and job.done(),
            "whoever starts among the poison works",
            workers=list(job.workers.values()),
        )

        capsys.readouterr()
        assert cli.run([*command, "dead-letters", "--json", "--limit", "100000"]) == 0
        listed = json.loads(capsys.readouterr().out)["letters"]
        found = Counter((one["facts"]["stage"], place_of(one["facts"])) for one in listed)
        assert found == Counter(
            (stage, (at.topic, at.partition, offset))
            for topic, stages in READERS.items()
            for at, offset in places[topic]
            for stage in stages
        ), "one letter of each record from each stage that reads it"
        check_values(job, places, [one["number"] for one in listed])
        archive, state = tmp_path / "archiver" / "archive", tmp_path / "frontier"
        assert cli.run([*command, "audit", "--archive", str(archive), "--state", str(state)]) == 0


def place_of(facts: dict[str, Any]) -> tuple[str, int, int]:
    return facts["topic"], facts["partition"], facts["offset"]


def check_values(job: Crawl, places: dict[str, Any], numbers: list[int]) -> None:
    """Byte for byte, but for those that are too long for a letter."""
    for letter, value in chosen(job.transport, numbers):
        facts = letter.facts
        poison = places[facts.topic][(facts.topic, facts.partition), facts.offset]
        whole = poison.value or b""
        assert value == whole[:LARGEST_LETTER], facts.reason
        assert facts.size == (-1 if poison.value is None else len(whole))
        assert (facts.size > LARGEST_LETTER) == ("keeps" in refusal(facts)), "what is not whole is not put back"
