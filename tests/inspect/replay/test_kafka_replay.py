"""`gregor replay` of crawls on a real broker: step by step with what checkpoints and orders say, and without them."""

from pathlib import Path

import pytest

from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.config_history import remember
from gregor.runtime.transport.port import TopicPartition
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import until
from tests.inspect.replay.replays import Replays, urls
from tests.run.test_kafka_crawl import crawl


def test_a_crawl_whose_sites_were_placed_by_a_coordinator_is_replayed_and_is_the_same(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    replays = Replays(tmp_path, capsys, before=("--config", str(tmp_path / "gregor.toml")))
    with (
        serve(DemoSite(hosts=3, pages_per_host=12), latency_s=0.03) as server,
        crawl(tmp_path, kafka, server, placement="sites") as job,
    ):
        remember(job.transport, job.config, 1)
        until(lambda: len(server.log) >= 5, "it has begun")
        job.workers["frontier"].restart()
        until(job.done, "the crawl is done")
        found = replays()
        assert (found["verdict"], found["notes"], found["absent"]) == ("same", [], 0)
        assert found["checkpoints"] > 0, "checkpoints that the changelog still has were compared"
        assert found["now"]["confirmed"] == found["then"]["confirmed"] == len(server.site.urls())


def test_a_crawl_with_kills_in_its_history_is_replayed_and_is_the_same_until_something_is_changed_or_trimmed(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    replays = Replays(tmp_path, capsys, before=("--config", str(tmp_path / "gregor.toml")))
    with serve(DemoSite(hosts=3, pages_per_host=12), latency_s=0.03) as server, crawl(tmp_path, kafka, server) as job:
        remember(job.transport, job.config, 1)
        until(lambda: len(server.log) >= 5, "it has begun")
        job.workers["frontier"].restart()
        until(lambda: len(server.log) >= 15, "it goes on")
        running = replays()
        assert running["verdict"] == "same", "in the middle of a crawl"
        job.workers["fetcher"].restart()
        until(job.done, "the crawl is done")
        known = server.site.urls()
        found = replays()
        assert (found["verdict"], found["notes"]) == ("same", [])
        assert found["checkpoints"] > 0, "checkpoints that the changelog still has were compared"
        assert found["now"]["confirmed"] == found["then"]["confirmed"] == len(known)

        beetles = {url for url in known if "/beetles/" in url}
        strict = replays("--set", 'scope.exclude=["/beetles/"]', "--show", "1000")
        assert urls(strict, "fetched", "unknown") == beetles
        assert [(one["then"], one["now"]) for one in strict["differences"]] == [("fetched", "unknown")]
        assert strict["now"]["refused_scope-exclude"] == len(beetles)
        assert not strict["same_config"]

        end = max(range(4), key=lambda one: job.transport.ends("fetched")[one][1])
        restored = replays("--partition", str(end), "--since", "2100-01-01")
        assert (restored["verdict"], restored["exact"]) == ("same", 1), "it goes on from the crawl's last checkpoint"
        early = replays("--partition", str(end), "--to", f"discovered:{end}:1")
        assert early["verdict"] == "nothing to compare with"
        assert early["now"]["admitted"] < found["now"]["admitted"]

        job.transport.trim({TopicPartition("discovered", end): 3})
        whole = replays("--partition", str(end))
        assert whole["verdict"] == "same"
        assert whole["exact"] == 1, "the changelog has a checkpoint from which on the topics are whole"
