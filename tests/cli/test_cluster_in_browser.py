"""What `gregor cluster` shows in the browser: the crawl's own page, and with --ui Kafka's topics."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gregor.config.text import from_toml
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import ConfigError
from tests.chaos.processes import Running, running, until
from tests.cli.test_cluster import command_lines, processes_of
from tests.run.configured import write_config


@pytest.mark.timeout(900)
def test_the_crawl_and_its_topics_are_shown_while_it_runs_and_both_end_with_it(tmp_path: Path) -> None:
    output = tmp_path / "cluster"
    with serve(DemoSite(hosts=2, pages_per_host=5)) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        config.write_text(config.read_text() + "[views]\nport = 0\n")
        command = ("-m", "gregor", "--config", config, "cluster", "--output", output, "--keep", "--ui")
        with running(*command) as cluster:
            until(lambda: len(addresses(output)) == 2, "the Kafka UI is started", every=0.5, workers=[cluster])
            views, ui = addresses(output)
            wait_for(f"{views}healthz", cluster)
            wait_for(ui, cluster)
            until(lambda: asked(f"{views}api/status")["phase"] == "done", "the page says done", workers=[cluster])
            assert asked(f"{views}api/summary")["urls"]["fetched"] == len(server.site.urls())
            story = asked(f"{views}api/explain?url={server.site.seeds[0]}")
            assert story["state"]["life"] == "fetched", "it reads a frontier's state beside its worker"
            page = text_at(ui)
            assert "textual.js" in page
            assert re.findall(r"https?://(?!127\.0\.0\.1|www\.w3\.org)[\w.]+", page) == [], (
                "nothing comes from elsewhere"
            )
            assert asyncio.run(session(ui, ui.rstrip("/"))), "kaskade draws"
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                asyncio.run(session(ui, "http://stranger.example"))
            code, printed = cluster.terminate()
        assert code == 0, printed
        assert views in printed
        assert ui in printed
        bootstrap = from_toml((output / "gregor.toml").read_text()).kafka.bootstrap
        assert processes_of(output) == [], "nothing is left running"
        assert [line for _, line in command_lines() if bootstrap in line] == [], "nor is any kaskade"
        for address in (views, ui):
            with pytest.raises(urllib.error.URLError):
                text_at(address)


def addresses(output: Path) -> list[str]:
    """Of the page, by the configuration that was written; of the Kafka UI, by its process; none before they are known."""
    try:
        config = from_toml((output / "gregor.toml").read_text())
    except (OSError, ConfigError):
        return []
    serving = [line.split() for _, line in command_lines() if "serve.py" in line and config.kafka.bootstrap in line]
    return [f"http://127.0.0.1:{config.views.port}/", *(f"http://{words[-2]}:{words[-1]}/" for words in serving[:1])]


def wait_for(address: str, cluster: Running) -> None:
    def answers() -> bool:
        try:
            return bool(text_at(address))
        except OSError:
            return False

    until(answers, f"{address} answers", workers=[cluster])


def text_at(address: str) -> str:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


def asked(address: str) -> dict[str, Any]:
    return dict(json.loads(text_at(address)))


async def session(ui: str, origin: str) -> bool:
    """Whether a browser with a page of that origin gets a screen of kaskade."""
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{ui}ws?width=80&height=24", headers={"Origin": origin}) as socket,
    ):
        while (message := await socket.receive()).type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
            if message.type is aiohttp.WSMsgType.BINARY:
                return bool(message.data)
    return False
