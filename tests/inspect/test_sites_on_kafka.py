"""A crawl with sites on a real broker, with kills in its history: status, explain, audit and replay while it runs and after."""

import json
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.config_history import remember
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import until
from tests.inspect.replay.replays import Replays
from tests.run.test_kafka_crawl import crawl


class Said:
    """What commands say of the crawl."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._config = str(folder / "gregor.toml")
        self._capsys = capsys

    def __call__(self, *args: str) -> Any:
        self._capsys.readouterr()
        code = cli.run(["--config", self._config, *args, "--json"])
        out, err = self._capsys.readouterr()
        assert code in (0, 1), err
        return json.loads(out)


def broken(said: Any) -> dict[str, list[str]]:
    return {one["name"]: one["offenders"] for one in said["invariants"] if one["failed"]}


def test_a_crawl_with_sites_is_told_proved_and_replayed(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    gregor = Said(tmp_path, capsys)
    replays = Replays(tmp_path, capsys, before=("--config", str(tmp_path / "gregor.toml")))
    audit = ("audit", "--state", str(tmp_path / "frontier"), "--archive", str(tmp_path / "archiver" / "archive"))
    with (
        serve(DemoSite(hosts=6, pages_per_host=8), latency_s=0.05) as server,
        crawl(tmp_path, kafka, server, placement="sites") as job,
    ):
        remember(job.transport, job.config, 1)
        until(lambda: len(server.log) >= 5, "it has begun")
        job.workers["coordinator"].restart()
        job.workers["frontier"].restart()
        until(lambda: len(server.log) >= 15, "it goes on")
        assert broken(gregor(*audit)) == {}, "in the middle of a crawl"
        assert replays()["verdict"] == "same", "in the middle of a crawl"
        until(job.done, "the crawl is done")
        assert set(server.requested()) == server.site.urls()

        found = {one["name"]: one for one in gregor(*audit)["invariants"]}
        assert {name: one["offenders"] for name, one in found.items() if one["failed"]} == {}
        assert all(found[name]["checked"] for name in ("sites-once", "sites-in-slot", "links-waiting"))
        assert found["state-changelog"]["checked"] > 0

        again = replays()
        assert (again["verdict"], again["notes"]) == ("same", [])
        assert again["checkpoints"] > 0, "every order was found, wherever in schedule it stands"
        assert again["now"]["sites_owned"] == 6

        status = gregor("status")
        assert status["phase"] == "done"
        assert (status["sites"]["placed"], sum(status["sites"]["by_slot"])) == (6, 6)
        assert status["sites"]["coordinators"] == 1

        for row in gregor("sites")["sites"]:
            story = gregor("explain", f"http://{row['site']}/", "--state", str(tmp_path / "frontier"))
            assert story["state"]["life"] == "fetched"
            assert (story["partition"], story["site"]["slot"]) == (row["slot"], row["slot"])
            assert story["logged"]["order_count"] == story["logged"]["result_count"] == 1
            assert story["logged"]["responses"][0]["file"], "its page is found at its home"
