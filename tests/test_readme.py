"""Every command of README.md, run as it stands there, one after the other in one folder; the example's host is a site on loopback."""

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import PATIENCE_S, until
from tests.cli.test_crawl import LOOPBACK
from tests.readme import README, ROOT, blocks, on_loopback

CLUSTER = "On a cluster"
NOT_RUN_HERE = {
    "make crawl": "test_newcomer.py runs it in a new clone",
    'make crawl SEEDS="https://docs.example.com/" CONTACT=mailto:you@example.com': "so does it run this one",
    "make test": "it is what runs this",
    "make storm": "it takes an hour",
    "make kafka": "the tests' own broker stands in its place",
    "gregor cluster --demo": "tests/cli/test_cluster.py runs it, and kills its workers",
}
SITE = DemoSite(hosts=1, pages_per_host=8)
HERE = {**LOOPBACK, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_is_not_run_here_stands_in_the_readme() -> None:
    shell = {command for block in blocks() if block.language == "sh" for command in block.commands()}
    assert shell >= NOT_RUN_HERE.keys()
    assert {block.language for block in blocks()} == {"sh", "python", "toml"}, "each kind is run by a test"


def test_every_link_to_a_file_leads_to_one() -> None:
    text = README.read_text(encoding="utf-8")
    linked = [part.split(")")[0] for part in text.split("](")[1:]]
    files = [one for one in linked if "://" not in one]
    assert files
    assert [one for one in files if not (ROOT / one).is_file()] == []


def test_the_commands_for_one_machine_do_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").touch()
    with serve(SITE) as server:
        said = {}
        for block in blocks():
            if block.heading == CLUSTER:
                continue
            code = on_loopback(block.code, server)
            if block.language == "toml":
                (tmp_path / "gregor.toml").write_text(code)
            elif block.language == "python":
                (tmp_path / "example.py").write_text(code)
                said["python"] = run("python example.py", tmp_path, HERE)
            else:
                for command in block.commands():
                    if command not in NOT_RUN_HERE:
                        said[command] = run(on_loopback(command, server), tmp_path, HERE)
        first = said["gregor crawl -o docs --contact mailto:you@example.com https://docs.example.com/"]
        assert f"{len(server.site.urls()):,} URLs of 1 servers fetched" in first
        assert server.site.url(0, "/") in said["python"]
        assert "fetched" in said["gregor explain https://docs.example.com/ docs"]
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == len(SITE.at(1).pages())
    assert (tmp_path / "gregor-crawl" / "items.jsonl").read_text(), "the file's rule takes headings out"
    assert any((tmp_path / "bodies").iterdir())


@pytest.mark.timeout(600)
def test_the_commands_for_a_cluster_do_what_they_say(tmp_path: Path, kafka: KafkaCluster) -> None:
    toml = next(block.code for block in blocks() if block.language == "toml")
    commands = [command for block in blocks() if block.heading == CLUSTER for command in block.commands()]
    environment = {
        **HERE,
        "GREGOR_CRAWL__NAME": f"readme-{secrets.token_hex(4)}",
        "GREGOR_KAFKA__BOOTSTRAP": kafka.bootstrap,
        "GREGOR_KAFKA__SESSION_TIMEOUT_S": "6",
    }
    said: dict[str, str] = {}
    with serve(SITE) as server, ExitStack() as stack:
        (tmp_path / "gregor.toml").write_text(on_loopback(toml, server))
        workers: list[subprocess.Popen[bytes]] = []
        for command in commands:
            if command.startswith("gregor worker"):
                workers.append(started(command, tmp_path, environment, stack))
            elif command not in NOT_RUN_HERE:
                if workers:
                    until(lambda: server.requested().keys() == server.site.urls(), "the workers have crawled the site")
                said[command] = run(on_loopback(command, server), tmp_path, environment)
        assert [worker.wait(PATIENCE_S) for worker in workers] == [0] * 4, "all of them were told to stop"
        assert_asked_once(server)
    assert "frontier" in said["gregor status"]


def started(command: str, folder: Path, environment: Mapping[str, str], stack: ExitStack) -> subprocess.Popen[bytes]:
    """A worker in a terminal of its own."""
    with (folder / f"{command.split()[2]}.log").open("wb") as log:
        process = subprocess.Popen(
            command.split(), cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT
        )
    stack.callback(process.kill)
    return process


def assert_asked_once(server: DemoServer) -> None:
    assert set(server.requested().values()) == {1}
