"""`gregor topics` as its users run it, on a real broker and on none."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from infra.kafka.cluster import KafkaCluster
from schemas.topics import TOPICS

ROOT = Path(__file__).parents[2]


class Crawl:
    """One crawl's command line."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder = folder
        self.name = f"cli-{secrets.token_hex(4)}"
        self.settings = {
            "GREGOR_CRAWL__NAME": self.name,
            "GREGOR_KAFKA__BOOTSTRAP": bootstrap,
            "GREGOR_PARTITIONS__PARTITIONS": "2",
            "GREGOR_KAFKA__GIVE_UP_AFTER_S": "1",
        }

    def topics(self, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GREGOR_")}
        return subprocess.run(
            [sys.executable, "-m", "gregor", "topics", *args],
            cwd=self.folder,
            env={**plain, "PYTHONPATH": str(ROOT), **self.settings, **more},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def crawl(tmp_path: Path, kafka: KafkaCluster) -> Crawl:
    return Crawl(tmp_path, kafka.bootstrap)


def test_missing_topics_are_listed_then_created_then_fine(crawl: Crawl) -> None:
    before = crawl.topics()
    assert before.returncode == 1
    assert before.stdout.count("missing") == len(TOPICS)
    assert before.stderr == (
        f"gregor: the crawl's topics: {len(TOPICS)} missing; `gregor topics --create` makes what is missing\n"
    )
    made = crawl.topics("--create")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.count("created") == len(TOPICS)
    after = crawl.topics()
    assert (after.returncode, after.stderr) == (0, "")
    rows = [line.split() for line in after.stdout.splitlines()]
    assert [f"{crawl.name}.discovered", "2", "delete", "all", "6.06", "MiB", "ok"] in rows
    assert [f"{crawl.name}.control", "1", "compact", "all", "6.06", "MiB", "ok"] in rows


def test_other_partitions_are_told_even_with_create(crawl: Crawl) -> None:
    assert crawl.topics("--create").returncode == 0
    for args in ((), ("--create",)):
        done = crawl.topics(*args, GREGOR_PARTITIONS__PARTITIONS="4")
        assert done.returncode == 1
        assert done.stdout.count("partitions should be 4") == 7
        assert "expected layout N = 4096, P = 4 by server, found N = 4096, P = 2 by server" in done.stdout
        assert "the partitions of a crawl cannot be changed under it" in done.stderr
    assert crawl.topics().returncode == 0


def test_json_says_the_same_to_programs(crawl: Crawl) -> None:
    before = crawl.topics("--json")
    document = json.loads(before.stdout)
    assert before.returncode == 1
    assert not document["ok"]
    assert document["topics"][f"{crawl.name}.pages"] is None
    assert {one["aspect"] for one in document["differences"]} == {"topic"}
    made = json.loads(crawl.topics("--json", "--create").stdout)
    assert made["ok"]
    assert made["topics"][f"{crawl.name}.pages"]["partitions"] == 2
    assert f"{crawl.name}.pages" in made["created"]


def test_without_a_broker_two_lines_name_the_address_and_nothing_else_is_said(tmp_path: Path) -> None:
    done = Crawl(tmp_path, "127.0.0.1:9").topics("--create")
    assert (done.returncode, done.stdout) == (2, "")
    first, last = done.stderr.splitlines()
    assert first.startswith("gregor: no broker answers at 127.0.0.1:9, trying again for ")
    assert last == ("gregor: no Kafka broker answered at 127.0.0.1:9 within 1 s; start it, or correct kafka.bootstrap")
