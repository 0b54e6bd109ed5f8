"""`gregor cluster`, `seed` and `stop` as their users run them: brokers and workers of their own."""

import json
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from gregor import cli
from gregor.cli.cluster import DEMO_OUTPUT, remove_last_demo
from gregor.cli.crawl_options import DEMO_NAME
from gregor.demo.museum import HOUSES, Museum
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_INTERRUPTED, EXIT_USAGE, EXIT_WAITING, FolderInUse
from gregor.run.local.folder_lock import folder_lock
from gregor.runtime.metrics.probe import answer
from infra.kafka.cluster import KafkaCluster
from tests.chaos.processes import running, until
from tests.run.configured import write_config
from tests.run.test_kafka_crawl import crawl

FEW = ("--archivers", "0", "--no-views")
"""Where neither is the point; the museum is crawled with both."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("placement", ["hash", "sites"])
def test_one_command_crawls_the_museum_on_a_cluster_to_its_end(tmp_path: Path, placement: str) -> None:
    output = tmp_path / "museum"
    wanted = ("--demo", "--json", "--output", output, "--placement", placement)
    with running("-m", "gregor", "cluster", *wanted) as command:
        until(lambda: pages(output) > 0, "the archiver writes", workers=[command])
        targets = json.loads((output / "metrics.json").read_text())
        workers = {one["labels"]["worker"] for one in targets}
        assert workers >= {"frontier-1", "fetcher-1", "extractor-1", "archiver-1"}
        assert ("coordinator-1" in workers) == (placement == "sites")
        ports = [int(one["targets"][0].rpartition(":")[2]) for one in targets]
        until(lambda: all(answer(port)[0] for port in ports), "each of them is healthy", workers=[command])
        with running("-m", "gregor", "cluster", "--demo", "--output", output) as second:
            code, printed = second.wait()
        assert (code, printed.count("\n")) == (4, 1), printed
        assert "found one that runs in" in printed
        os.kill(child_pid(command.pid, "workers/extractor-1"), signal.SIGKILL)
        code, printed = command.wait()
    assert code == 0, printed
    judgement = json.loads([line for line in printed.splitlines() if line.startswith("{")][-1])
    assert judgement["clean"], judgement
    summary = json.loads((output / "summary.json").read_text())
    assert summary["state"] == "done"
    assert summary["urls"]["fetched"] >= judgement["urls"]
    assert (output / "report.html").is_file()
    assert (output / "archive" / "index" / "pages.cdxj").is_file()
    assert processes_of(output) == [], "nothing is left running"


HOLD = """
import sys, time
from pathlib import Path
from gregor.run.local.folder_lock import folder_lock

with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_demo_never_removes_the_one_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    last = tmp_path / DEMO_OUTPUT
    (last / "kafka" / "broker-0").mkdir(parents=True)
    (last / "gregor.toml").write_text(f"crawl.name = '{DEMO_NAME}'")
    before = sorted(last.rglob("*"))
    monkeypatch.chdir(tmp_path)
    with folder_lock(last):
        assert cli.run(["cluster", "--demo"]) == 4
    said = capsys.readouterr().err
    assert said.startswith(f"gregor: expected a folder that no cluster runs in, found one that runs in {DEMO_OUTPUT}; ")
    assert said.count("\n") == 1
    assert sorted(last.rglob("*")) == sorted([*before, last / "lock"])


def test_a_folder_is_free_when_the_process_that_held_it_was_killed(tmp_path: Path) -> None:
    with running("-c", HOLD, tmp_path) as holder:
        until(lambda: "held" in holder.printed, "it is held", workers=[holder])
        with pytest.raises(FolderInUse), folder_lock(tmp_path):
            pass
        holder.kill()
        with folder_lock(tmp_path):
            pass


def test_what_the_last_demo_left_is_removed_and_nobody_elses(tmp_path: Path) -> None:
    for name in (DEMO_NAME, "mine"):
        output = tmp_path / name
        (output / "kafka" / "broker-0").mkdir(parents=True)
        (output / "summary.json").touch()
        (output / "gregor.toml").write_text(f"crawl.name = '{name}'")
        remove_last_demo(output)
    assert os.listdir(tmp_path / DEMO_NAME) == ["lock"]
    assert len(os.listdir(tmp_path / "mine")) == 3


def test_a_cluster_that_was_interrupted_ends_in_order_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    output = tmp_path / "cluster"
    with serve(DemoSite(hosts=2, pages_per_host=12), latency_s=0.1) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        command = ("-m", "gregor", "--config", config, "cluster", "--output", output, *FEW)
        with running(*command) as first:
            until(lambda: len(server.log) > 5, "the crawl is in its middle", workers=[first])
            code, printed = first.terminate()
        assert code == EXIT_INTERRUPTED, printed
        assert "The same command goes on where it stopped" in printed
        assert processes_of(output) == [], "nothing is left running"
        assert set(server.requested()) < server.site.urls(), "it was interrupted in its middle"
        with running(*command) as second:
            code, printed = second.wait()
        assert code == 0, printed
        assert set(server.requested()) == server.site.urls()
        assert not (output / "archive").exists()
        assert json.loads((output / "summary.json").read_text())["state"] == "done"


def test_a_cluster_that_would_wait_for_years_ends_and_says_until_when(tmp_path: Path) -> None:
    output = tmp_path / "cluster"
    house = replace(HOUSES[1], pages=8, rules="Crawl-delay: 1000000000\n")
    with serve(Museum(houses=(house,))) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        config.write_text(config.read_text().replace("obey = false", "obey = true"))
        with running("-m", "gregor", "--config", config, "cluster", "--output", output, *FEW) as job:
            code, printed = job.wait()
        assert len(server.log) == 1, "robots.txt, and nothing more"
    assert code == EXIT_WAITING, printed
    assert "1 URL waits until 20" in printed.splitlines()[-1]
    assert processes_of(output) == [], "nothing is left running"


def test_a_cluster_that_is_told_to_stop_from_elsewhere_shows_that_all_left_and_is_not_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "cluster"
    with serve(DemoSite(hosts=2, pages_per_host=40), latency_s=0.2) as server:
        config = write_config(tmp_path / "gregor.toml", server, session_timeout_s=6.0)
        with running("-m", "gregor", "--config", config, "cluster", "--output", output, *FEW) as job:
            until(lambda: len(server.log) > 5, "the crawl is in its middle", workers=[job])
            assert cli.run(["--config", str(output / "gregor.toml"), "stop"]) == 0
            assert "all of them have left" in capsys.readouterr().out
            code, printed = job.wait()
        assert set(server.requested()) < server.site.urls(), "it was stopped in its middle"
    assert code == EXIT_INTERRUPTED, printed
    assert "The same command goes on where it stopped" in printed
    assert cli.run(["status", str(output)]) == EXIT_USAGE
    assert f"gregor --config {output / 'gregor.toml'}" in capsys.readouterr().err


def test_seeds_are_taken_up_once_and_stop_lets_every_worker_leave(
    tmp_path: Path, kafka: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site = DemoSite(hosts=2, pages_per_host=5)
    with serve(site) as server, crawl(tmp_path, kafka, server) as job:
        until(job.done, "the crawl is done")
        # A stop from before they started would have been meant for others.
        assert all(worker.ended is None for worker in job.workers.values())
        new = server.site.url(0, "/unheard-of")
        for _ in range(2):
            assert cli.run(["--config", str(tmp_path / "gregor.toml"), "seed", new, server.site.url(1, "/")]) == 0
        assert "2 seeds on 2 servers" in capsys.readouterr().out
        until(lambda: job.done() and new in server.requested(), "the new seed is fetched")
        assert cli.run(["--config", str(tmp_path / "gregor.toml"), "seed", "https://www.example.com/"]) == EXIT_USAGE
        assert "crawl.contact: found none" in capsys.readouterr().err, "its owner could not learn who is crawling"
        assert set(server.requested().values()) == {1}, "none of them twice"
        assert cli.run(["--config", str(tmp_path / "gregor.toml"), "stop", "--wait", "0"]) == 0
        for role, worker in job.workers.items():
            code, printed = worker.wait()
            assert code == 0, f"{role}: {printed}"
            assert "is to stop" in printed


def pages(output: Path) -> int:
    return sum(path.stat().st_size for path in (output / "archive").glob("*.warc.gz"))


def child_pid(parent: int, name: str) -> int:
    return next(pid for pid, line in children(parent) if name in line)


def children(parent: int) -> list[tuple[int, str]]:
    found = []
    for pid, line in command_lines():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            # Over since it was listed.
            continue
        if int(stat[1]) == parent:
            found.append((pid, line))
    return found


def processes_of(output: Path) -> list[str]:
    return [line for _, line in command_lines() if str(output) in line]


def command_lines() -> list[tuple[int, str]]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                continue
    return found
