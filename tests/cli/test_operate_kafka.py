"""The same verbs on a cluster: a real crawl by processes on a real broker, told from its topics and a worker's state."""

import json
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.config_history import remember
from gregor.runtime.loops.decode import dead_letter
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import until
from tests.operate.contract import broken
from tests.run.test_kafka_crawl import crawl


def test_a_crawl_on_a_cluster_is_looked_at_explained_paused_and_trimmed(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "gregor.toml"

    def gregor(*args: str, code: int = 0) -> str:
        capsys.readouterr()
        ended = cli.run(["--config", str(config), *args])
        said, err = capsys.readouterr()
        assert ended == code, said + err
        return said

    def asked(*args: str) -> Any:
        return json.loads(gregor(*args, "--json"))

    with serve(DemoSite(hosts=2, pages_per_host=5)) as server, crawl(tmp_path, kafka, server) as running:
        remember(running.transport, running.config, 1)
        url = server.site.url(0, "/")
        host = url.removeprefix("http://").removesuffix("/")
        until(running.done, "the crawl is done")
        until(lambda: asked("status", "--servers", "0")["phase"] == "done", "status says so too")
        now = asked("status")
        assert (now["running"], now["fetched"]) == (True, len(server.site.urls()))
        assert {name: stage["members"] for name, stage in now["stages"].items()} == dict.fromkeys(now["stages"], 1)
        assert {row["server"] for row in now["servers"]} >= {host}

        story = asked("explain", url)
        assert story["state"] is None, "no worker's state is in the configured folder"
        assert story["logged"]["discoveries"]["first"]["kind"] == "seed"
        assert [one["outcome"] for one in story["logged"]["results"]] == ["ok"]
        assert story["logged"]["order_count"] == 1
        assert story["logged"]["responses"][0]["offset"] >= 0
        story = asked("explain", url, "--state", str(tmp_path / "frontier"))
        assert story["state"]["life"] == "fetched", "read beside the worker that holds it"
        assert story["next"]["what"].startswith("nothing: it was fetched")

        assert "is paused" in gregor("pause", host)
        assert asked("status", "--servers", "0")["paused_servers"] == [host]
        assert "is resumed" in gregor("resume", host)
        running.transport.append([dead_letter(broken(5), "why", "frontier", 3)])
        assert len(asked("dead-letters")["letters"]) == 1
        assert "1 of 1 letters were put back" in gregor("dead-letters", "put-back", "all")
        until(
            lambda: len(asked("dead-letters")["letters"]) == 1, "the frontier has met it again, and it is still broken"
        )
        until(running.done, "everything is read")
        planned = asked("trim", "--keep-hours", "0", "--topic", "schedule", "--dry-run")["topics"]
        assert planned[0]["records"] > 0
        assert planned[0]["kept"] == 0
        assert "1 topics were trimmed" in gregor("trim", "--keep-hours", "0", "--topic", "schedule")
        assert all(first == end for first, end in running.transport.ends("schedule").values())

        running.workers["extractor"].terminate()
        gregor("seed", server.site.url(0, "/new"))
        wait = "records for the extractor, of which no worker runs"
        until(lambda: wait in gregor("status", "--servers", "0"), "status tells what nobody works on")
