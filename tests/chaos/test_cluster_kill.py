"""kill -9 of `gregor cluster` itself: nothing outlives it, and the same command goes on where it was."""

import json
from pathlib import Path

import pytest

from gregor import cli
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from tests.chaos.processes import running, until
from tests.cli.test_cluster import processes_of
from tests.run.configured import write_config


@pytest.mark.timeout(600)
def test_nothing_outlives_a_cluster_that_is_killed_and_the_same_command_finishes_the_crawl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "cluster"
    with serve(DemoSite(hosts=3, pages_per_host=12), latency_s=0.1) as server:
        config = write_config(tmp_path / "gregor.toml", server, session_timeout_s=6.0)
        command = ("-m", "gregor", "--config", config, "cluster", "--no-views", "--output", output)
        with running(*command) as first:
            until(lambda: len(server.log) > 8, "the crawl is in its middle", workers=[first])
            assert processes_of(output), "workers and brokers run"
            first.kill()
            until(lambda: processes_of(output) == [], "nothing of it is left")
        assert set(server.requested()) < server.site.urls(), "it was killed in its middle"
        with running(*command, "--keep") as second:
            until(lambda: set(server.requested()) == server.site.urls(), "the crawl is whole", workers=[second])
            until(lambda: is_done(output, capsys), "the crawl is done", workers=[second])
            assert cli.run(["--config", str(output / "gregor.toml"), "audit"]) == 0, capsys.readouterr()
            code, printed = second.terminate()
        assert code == 0, printed
        assert processes_of(output) == [], "nothing is left running"


def is_done(output: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    capsys.readouterr()
    assert cli.run(["--config", str(output / "gregor.toml"), "status", "--json"]) == 0
    return bool(json.loads(capsys.readouterr().out)["phase"] == "done")
