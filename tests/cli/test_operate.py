"""status, explain, pause, resume, dead-letters and trim as their users run them: beside a crawl that runs, and on one that does not."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.demo.server import serve
from gregor.operate import mailbox
from gregor.operate.config_history import remember
from gregor.operate.crawl_handle import log_folder
from gregor.run.embedded import EmbeddedCrawl
from gregor.runtime.loops.decode import dead_letter
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.control import Pause
from schemas.discovered import Discovered, LinkKind
from tests.chaos.processes import until
from tests.inspect.explain.site import EventfulSite, config_of
from tests.operate.contract import broken
from tests.operate.desk import embedded, pass_all

ROOT = Path(__file__).parents[2]


class Commands:
    """Runs commands in a folder of their own and keeps what they said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *args: str | Path, code: int = 0) -> str:
        self._capsys.readouterr()
        ended = cli.run([str(arg) for arg in args])
        said, self.err = self._capsys.readouterr()
        assert ended == code, said + self.err
        return said

    def json(self, *args: str | Path) -> Any:
        return json.loads(self(*args, "--json"))


@pytest.fixture
def gregor(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(capsys)


@pytest.fixture
def paused(tmp_path: Path) -> Iterator[tuple[EventfulSite, Path]]:
    """A crawl that runs and was paused before its first order."""
    folder, stop = tmp_path / "crawl", threading.Event()
    with serve(EventfulSite()) as server:
        assert isinstance(server.site, EventfulSite)
        config = config_of(server.site)
        job = EmbeddedCrawl(config, folder)
        remember(job.transport, config, 1)
        mailbox.post(log_folder(folder), Pause(paused=True, by="me"))
        mailbox.deliver(log_folder(folder), job.transport)
        running = threading.Thread(target=lambda: job.run(stop=stop))
        running.start()
        try:
            yield server.site, folder
        finally:
            stop.set()
            running.join()
            job.close()


def test_a_crawl_that_runs_is_looked_at_paused_and_resumed(gregor: Commands, paused: tuple[EventfulSite, Path]) -> None:
    site, folder = paused
    until(lambda: gregor.json("status", folder)["queued"] == 2, "both seeds are queued")
    now = gregor.json("status", folder)
    assert (now["phase"], now["crawl_paused"], now["running"]) == ("paused", True, True)
    assert "2 URLs for the crawl to be resumed" in now["waits_for"]
    until(lambda: gregor.json("status", folder)["counters"]["paused"] > 0, "the frontier says so, too")
    story = gregor.json("explain", site.url(0, "/"), folder)
    assert story["paused"] == ["crawl"]
    assert story["state"]["ahead"] == 0
    assert story["next"]["what"].startswith("it is ordered; it is the next of its server")
    second = site.url(1, "/").removeprefix("http://").removesuffix("/")
    assert "the running crawl was told" in gregor("pause", second, "--folder", folder)
    assert "the running crawl was told" in gregor("resume", "--folder", folder)
    until(lambda: gregor.json("status", folder)["retrying"] == 1, "the first server is fetched")
    now = gregor.json("status", folder)
    assert (now["queued"], now["paused_servers"]) == (1, [second])
    assert [row["server"] for row in now["servers"]] == [site.url(0, "").removeprefix("http://")]
    assert gregor.json("explain", site.url(1, "/"), folder)["paused"] == ["server"]
    gregor("resume", second, "--folder", folder)
    until(
        lambda: gregor.json("explain", site.url(1, "/"), folder)["logged"]["result_count"] == 1,
        "the second server is fetched",
    )


def test_the_same_in_words(gregor: Commands, paused: tuple[EventfulSite, Path]) -> None:
    site, folder = paused
    until(lambda: gregor.json("status", folder)["queued"] == 2, "both seeds are queued")
    said = gregor("status", folder)
    assert "crawl eventful in" in said.splitlines()[0]
    assert ": paused (a process works on it)" in said.splitlines()[0]
    assert "  the whole crawl is paused; `gregor resume` lets it go on" in said
    assert [line.split()[0] for line in said.splitlines() if line.startswith("  f")] == [
        "fetched",
        "failed",
        "frontier",
        "fetcher",
    ]
    said = gregor("explain", site.url(0, "/"), folder)
    headings = [line.split()[0] for line in said.splitlines()[1:] if line and not line.startswith(" ")]
    assert headings == ["logged", "recomputed", "next"]
    assert "as seed given by the user" in said
    assert "the one that the crawl ran under" in said
    assert gregor("pause", "--folder", folder) == "the whole crawl is paused already\n"
    assert gregor("resume", "b.example", "--folder", folder) == "b.example is not paused already\n"
    said = gregor("pause", "b.example", "--folder", folder)
    assert "nothing is known of b.example here yet" in said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl that nobody runs, with two letters and records that were passed."""
    place = tmp_path / "crawl"
    with embedded(place) as transport:
        transport.append(
            [dead_letter(broken(5), "why not", "frontier", 3), dead_letter(broken(6, value=None), "b", "x", 3)]
        )
        transport.append([Output("discovered", 0, b"", bytes(1000)) for _ in range(10)])
        pass_all(transport, "frontier")
    return place


def test_dead_letters_are_listed_shown_and_put_back_once(gregor: Commands, folder: Path) -> None:
    listed = gregor("dead-letters", "--folder", folder)
    assert ", no value, by x: b" in listed
    assert [line.split()[0] for line in listed.splitlines()] == ["0", "1"]
    assert "discovered[1] offset 5, 1 bytes, by frontier: why not" in listed
    shown = gregor("dead-letters", "show", "0", "--folder", folder)
    assert shown.splitlines()[1:] == ["key: a.example", "{"]
    assert "it cannot be put back" in gregor("dead-letters", "show", "1", "--folder", folder)
    assert gregor("dead-letters", "put-back", "all", "--folder", folder) == "1 of 1 letters were put back\n"
    assert gregor("dead-letters", "put-back", "0", "--folder", folder) == (
        "0 of 1 letters were put back, 1 had been before\n"
    )
    assert gregor("dead-letters", "put-back", "all", "--folder", folder) == "nothing to put back\n"
    assert [one["number"] for one in gregor.json("dead-letters", "--folder", folder)["letters"]] == [1]
    assert "(put back)" in gregor("dead-letters", "--all", "--folder", folder)
    assert gregor.json("status", folder)["dead_letters"] == 1
    with embedded(folder) as transport:
        assert [record.value for record in transport.read("discovered", 1, 0)] == [b"{"]


def test_trim_says_what_would_go_and_then_lets_it_go(gregor: Commands, folder: Path) -> None:
    assert {one["topic"]: one["records"] for one in gregor.json("trim", "--folder", folder, "--dry-run")["topics"]} == {
        "discovered": 0,
        "schedule": 0,
        "fetched": 0,
        "pages": 0,
        "verdicts": 0,
        "sites-found": 0,
    }, "a week is kept"
    dry = gregor("trim", "--folder", folder, "--keep-hours", "0", "--dry-run")
    assert "nothing was deleted" in dry
    assert "discovered      10       0.01" in dry
    assert "5 topics" not in dry
    assert "1 topics were trimmed" in gregor("trim", "--folder", folder, "--keep-hours", "0", "--topic", "discovered")
    with embedded(folder) as transport:
        assert transport.ends("discovered")[0] == (10, 10)


def test_trim_says_when_it_takes_something_from_the_report(gregor: Commands, folder: Path) -> None:
    arguments = ("trim", "--folder", folder, "--keep-hours", "0")
    assert "The report is folded" not in gregor(*arguments)
    with embedded(folder) as transport:
        transport.append([Output("fetched", 0, b"", b"{}")])
        pass_all(transport, "frontier")
    told = "The report is folded from fetched and verdicts: one that is made afterwards tells of the rest alone.\n"
    assert gregor(*arguments, "--dry-run").endswith(told)
    assert gregor(*arguments).endswith(told)


def test_pages_wait_for_the_archiver_unless_there_is_none(gregor: Commands, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    with embedded(folder) as transport:
        transport.append([Output("pages", 0, b"", b"body", b"{}")])
        pass_all(transport, "extractor")
    arguments = ("trim", "--folder", folder, "--keep-hours", "0", "--topic", "pages")
    (plan,) = gregor.json(*arguments, "--dry-run")["topics"]
    assert (plan["records"], plan["held_by"]) == (0, ["archiver"]), "it may only not have come to it yet"
    assert gregor.json(*arguments, "--without", "archiver")["topics"][0]["records"] == 1
    with embedded(folder) as transport:
        assert transport.ends("pages")[0] == (1, 1)


def test_counts_of_known_links_that_nobody_read_leave_a_crawl_done(gregor: Commands, tmp_path: Path) -> None:
    def left(kind: LinkKind) -> str:
        folder = tmp_path / kind
        with embedded(folder) as transport:
            transport.append([Output("discovered", 0, b"a", encode(Discovered(server="a", paths=("/",), kind=kind)))])
        return str(gregor.json("status", folder)["phase"])

    assert left("repetition") == "done"
    assert left("link") == "interrupted"


def test_a_crawl_that_nobody_runs_is_told_at_once(gregor: Commands, folder: Path) -> None:
    assert gregor("pause", "--folder", folder) == "pause the whole crawl: the whole crawl is paused\n"
    now = gregor.json("status", folder)
    assert (now["crawl_paused"], now["running"]) == (True, False)
    gregor("resume", "--folder", folder)
    assert not gregor.json("status", folder)["crawl_paused"]


def test_a_resume_is_not_thrown_away_while_a_pause_waits_in_the_mailbox(gregor: Commands, folder: Path) -> None:
    for command, opposite in (("resume", True), ("pause", False)):
        mailbox.post(folder, Pause(paused=opposite, by="me"))
        assert gregor(command, "--folder", folder).startswith(f"{command} the whole crawl: ")
        assert mailbox.waiting(folder) == []
        assert gregor.json("status", folder)["crawl_paused"] is not opposite


def test_watching_tells_one_look_after_the_other_until_it_is_interrupted(folder: Path) -> None:
    command = [sys.executable, "-m", "gregor", "status", str(folder), "--watch", "--every", "0.2", "--json"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        looks = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate()
    assert looks[0]["now_ms"] < looks[1]["now_ms"]
    assert (watching.returncode, said) == (130, b"gregor: interrupted\n")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (
            ["status", "nowhere"],
            3,
            "gregor: expected the folder of a crawl, found no such folder: nowhere; name the folder",
        ),
        (["status"], 3, "gregor: expected the folder of a crawl, found no such folder: gregor-crawl; name the folder"),
        (["status", "crawl", "--folder", "other"], 3, "gregor: expected one folder, found crawl and other"),
        (["explain"], 3, "gregor: Missing argument 'URL'"),
        (["explain", "http://a/", "crawl", "--state", "nowhere"], 3, "gregor: Invalid value for '--state'"),
        (["pause", "a b", "--folder", "crawl"], 3, "gregor: expected a server such as example.com"),
        (
            ["dead-letters", "show", "9", "--folder", "crawl"],
            3,
            "gregor: expected the number of a dead letter, found 9",
        ),
        (
            ["dead-letters", "put-back", "x", "--folder", "crawl"],
            3,
            "gregor: expected numbers of dead letters or `all`, found 'x'",
        ),
        (
            ["dead-letters", "put-back", "1", "--folder", "crawl"],
            3,
            "gregor: letter 1 cannot be put back: the record had no value",
        ),
        (["trim", "--topic", "control", "--folder", "crawl"], 3, "gregor: expected topics among discovered, "),
        (
            ["trim", "--keep-hours", "nan", "--folder", "crawl"],
            3,
            "gregor: Invalid value for '--keep-hours': nan is not",
        ),
        (
            ["trim", "--keep-hours", "inf", "--folder", "crawl"],
            3,
            "gregor: Invalid value for '--keep-hours': inf is not",
        ),
        (["status", "crawl", "--watch", "--every", "nan"], 3, "gregor: Invalid value for '--every': nan is not"),
        (["status", "crawl", "--watch", "--every", "1e300"], 3, "gregor: Invalid value for '--every': 1e+300 is not"),
        (["stop", "--wait", "inf"], 3, "gregor: Invalid value for '--wait': inf is not a finite number"),
        (
            ["audit", "crawl", "--temporary", "nowhere"],
            3,
            "gregor: Invalid value for '--temporary': Directory 'nowhere'",
        ),
        (
            ["audit", "crawl", "--archive", "nowhere"],
            3,
            "gregor: Invalid value for '--archive': Directory 'nowhere' does",
        ),
        (["audit", "crawl", "--state", "nowhere"], 3, "gregor: Invalid value for '--state': Directory 'nowhere' does"),
        (
            ["audit", "--state", ".", "--state", ".."],
            3,
            "gregor: expected --state once, found it 2 times; run the command for each",
        ),
        (
            ["explain", "http://a.example/", "--state", ".", "--state", ".."],
            3,
            "gregor: expected --state once, found it 2",
        ),
        (["status", "--bootstrap", "nonsense"], 3, "gregor: flag --bootstrap: kafka.bootstrap"),
    ],
)
def test_a_mistake_is_one_line_with_what_to_do(
    gregor: Commands, folder: Path, args: list[str], code: int, said: str
) -> None:
    assert gregor(*args, code=code) == ""
    assert gregor.err.startswith(said)
    assert gregor.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["explain"],
        ["pause"],
        ["resume"],
        ["dead-letters"],
        ["dead-letters", "show"],
        ["dead-letters", "put-back"],
        ["trim"],
    ],
)
def test_help_teaches_with_an_example(gregor: Commands, command: list[str]) -> None:
    said = gregor(*command, "--help")
    assert "Example" in said
    assert f"gregor {' '.join(command)}" in said or "gregor --config" in said
    assert max(map(len, said.splitlines())) <= 80
