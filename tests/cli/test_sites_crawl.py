"""A crawl whose sites are approved one by one: what status, explain, audit and `gregor sites` say of it on the way."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gregor import cli
from gregor.config import Config, load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.operate.config_history import remember
from gregor.run.embedded import EmbeddedCrawl
from tests.run.configured import write_config


class Said:
    """What commands say."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *args: str | Path) -> str:
        self._capsys.readouterr()
        code = cli.run([str(arg) for arg in args])
        said = self._capsys.readouterr()
        assert code == 0, said
        return said.out

    def json(self, *args: str | Path) -> Any:
        return json.loads(self(*args, "--json"))


def run(config: Config, folder: Path) -> None:
    job = EmbeddedCrawl(config, folder)
    remember(job.transport, config, 1)
    job.run()
    job.close()


def test_sites_wait_until_somebody_approves_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "ada")
    gregor, folder = Said(capsys), tmp_path / "crawl"
    with serve(DemoSite(hosts=3, pages_per_host=4)) as server:
        config = load(write_config(tmp_path / "gregor.toml", server), {}).config
        config = replace(
            config,
            partitions=replace(config.partitions, placement="sites"),
            sites=replace(config.sites, admit="approved"),
        )
        (tmp_path / "gregor.toml").unlink()
        run(config, folder)
        names = [one["site"] for one in gregor.json("sites", "--folder", folder)["sites"]]
        assert len(names) == 3

        status = gregor.json("status", folder)
        assert status["fetched"] == 0
        assert {name: status["sites"][name] for name in ("known", "waiting", "links_waiting", "links_held")} == {
            "known": 3,
            "waiting": 3,
            "links_waiting": 3,
            "links_held": 3,
        }
        assert "3 sites to be approved (`gregor sites --state waiting`)" in status["waits_for"]
        words = gregor("status", folder)
        assert "sites 3: placed 0   waiting 3" in words
        assert "links waiting for their sites 3" in words

        first, second, third = names
        story = gregor.json("explain", f"http://{first}/", folder)
        assert (story["site"]["state"], story["site"]["links_waiting"]) == ("waiting", 1)
        assert story["next"]["what"].startswith("it waits for somebody to approve its site: `gregor sites approve")
        assert f"site {first}: waiting, slot" in gregor("explain", f"http://{first}/", folder)

        gregor("sites", "approve", "--all", "--folder", folder)
        gregor("sites", "block", third, "--why", "not ours", "--folder", folder)
        gregor("sites", "budget", second, "2", "--folder", folder)
        run(config, folder)
        states = {one["site"]: one["state"] for one in gregor.json("sites", "--folder", folder)["sites"]}
        assert states == {first: "placed", second: "placed", third: "blocked"}

        status = gregor.json("status", folder)
        assert status["phase"] == "done"
        assert status["sites"]["placed"] == 2
        assert sum(status["sites"]["by_slot"]) == 3, "a site that was placed before it was blocked keeps its slot"
        assert status["sites"]["links_waiting"] == 0
        assert status["counters"]["refused_blocked"] >= 1

        blocked = gregor("explain", f"http://{third}/", folder)
        assert f"{third} is blocked by ada (not ours)" in blocked
        assert "site                 REFUSED" in blocked
        fetched = gregor.json("explain", f"http://{first}/", folder)
        assert fetched["partition"] == fetched["site"]["slot"]
        assert fetched["state"]["life"] == "fetched"
        assert fetched["logged"]["discoveries"]["kinds"].get("seed") == 2, "one in each run, wherever it went"
        assert fetched["logged"]["results"], "results stand in its slot"
        beyond = gregor.json("explain", f"http://{second}/", folder)
        assert any(
            check["about"] == "budget" and "of 2 URLs" in check["answer"] for check in beyond["recomputed"]["checks"]
        )
        assert "broken" in gregor("audit", folder)
