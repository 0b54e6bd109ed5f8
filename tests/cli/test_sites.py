"""`gregor sites` as its users run it: on the topics of a crawl, in a folder that nobody holds, in one that is held, and on a cluster."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gregor import cli
from gregor.cli.sites import sites
from gregor.config import Config
from gregor.config.sections import CrawlSection, KafkaSection, PartitionsSection
from gregor.operate import mailbox
from gregor.operate.config_history import remember
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.topics import create
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Output, Transport
from infra.kafka.cluster import KafkaCluster
from schemas.codec import encode
from schemas.sites import Site
from schemas.sites_found import FoundSite, SiteCommand, SiteSetting, SitesFound, decode_site_note
from tests.operate.desk import PARTITIONS, embedded
from tests.runtime.transport.embedded_folder import SMALL

SITES = Config(crawl=CrawlSection(name="desk"), partitions=PartitionsSection(partitions=PARTITIONS, placement="sites"))
ROWS = (
    Site(
        site="b.example",
        slot=1,
        state="waiting",
        rank=1,
        found_ms=1_700_000_000_000,
        found_on="https://a.example/\x1b[2J",
    ),
    Site(site="a.example", slot=0, version=1),
    Site(site="a.example", slot=0, version=2, budget=7, tags=("news",), by="me", changed_ms=1_700_000_000_000),
    Site(site="c.example", slot=1, state="blocked", detail="spam", tags=("bad", "news"), version=3),
    Site(site="void.example", slot=1, version=9),
    Site(site="void.example", slot=-1),
)

Run = Callable[..., str]


def row_outputs(rows: Sequence[Site]) -> list[Output]:
    return [Output("sites", 0, row.site.encode(), encode(row)) for row in rows]


def commands_in(transport: Transport) -> list[SiteCommand]:
    notes = [decode_site_note(record.value) for record in transport.read("sites-found", 0, 0)]
    return [note for note in notes if isinstance(note, SiteCommand)]


def fill(transport: Transport, config: Config = SITES) -> None:
    remember(transport, config, 1)
    transport.append([*row_outputs(ROWS), Output("sites", 0, b"x", b"{"), Output("sites", 0, b"y", encode(ROWS[0]))])
    met = SitesFound(home=1, sites=(FoundSite(site="told.example"),))
    transport.append([Output("sites-found", 0, b"1", encode(met))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with embedded(tmp_path / "crawl", "sites") as transport:
        fill(transport)
    return tmp_path / "crawl"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*args: str | Path, code: int = 0) -> str:
        capsys.readouterr()
        ended = cli.run(["sites", *map(str, args)])
        said = capsys.readouterr()
        assert ended == code, said
        return said.err if code else said.out

    return run


def found_in(folder: Path) -> list[SiteCommand]:
    with embedded(folder, "sites") as transport:
        return commands_in(transport)


def test_sites_are_listed_by_name_and_the_last_row_of_each_counts(run: Run, folder: Path) -> None:
    listed = json.loads(run("--folder", folder, "--json"))
    assert [one["site"] for one in listed["sites"]] == ["a.example", "b.example", "c.example"]
    assert (listed["sites"][0]["budget"], listed["sites"][0]["state"]) == (7, "placed")
    assert (listed["more"], listed["unreadable"]) == (0, 2)
    assert listed["states"] == {"placed": 1, "waiting": 1, "blocked": 1}
    words = run("--folder", folder)
    assert words.splitlines()[1].split() == ["a.example", "placed", "0", "7", "-", "news"]
    assert "2 records of sites are none of ours" in words
    assert "3 sites: 1 waiting, 1 placed, 1 blocked" in words


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--state", "waiting"], ["b.example"]),
        (["--state", "waiting", "--state", "blocked"], ["b.example", "c.example"]),
        (["--tag", "news"], ["a.example", "c.example"]),
        (["--tag", "news", "--tag", "bad"], ["c.example"]),
        (["--slot", "1"], ["b.example", "c.example"]),
        (["--slot", "1", "--tag", "nothing"], []),
    ],
)
def test_sites_are_chosen_by_state_tag_and_slot(run: Run, folder: Path, options: list[str], names: list[str]) -> None:
    listed = json.loads(run("--folder", folder, "--json", *options))
    assert [one["site"] for one in listed["sites"]] == names
    assert sum(listed["states"].values()) == len(names)


def test_more_than_the_limit_are_counted(run: Run, folder: Path) -> None:
    assert "and 2 more; --limit shows them" in run("--folder", folder, "--limit", "1")
    assert json.loads(run("--folder", folder, "--json", "--limit", "0"))["more"] == 3


def test_one_site_is_told_whole(run: Run, folder: Path) -> None:
    said = run("show", "https://B.example/page", "--folder", folder)
    assert "waiting: for somebody to approve it" in said
    assert "partition 1 of the frontier; its home, by its hash, is partition" in said
    assert "2023-11-14 22:13:20 UTC on https://a.example/" in said
    assert "\x1b" not in said, "what a stranger wrote does not speak to the terminal"
    assert "why          spam" in run("show", "c.example", "--folder", folder)
    assert json.loads(run("show", "a.example", "--json", "--folder", folder))["by"] == "me"
    assert "told to the coordinator, which has not answered yet" in run("show", "told.example", "--folder", folder)


def test_decisions_are_records_with_who_and_when(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    assert "approve b.example: written for the coordinator" in run("approve", "b.example", "--folder", folder)
    assert "no coordinator runs now; it is obeyed once one does" in run(
        "block", "a.example", "told.example", "--why", "too many", "--folder", folder
    )
    run("budget", "a.example", "500", "--depth", "4", "--folder", folder)
    run("budget", "a.example", "0", "--folder", folder)
    run("tag", "a.example", "z", "b", "--folder", folder)
    run("tag", "a.example", "--folder", folder)
    run("slots", "1", "--folder", folder)
    run("add", "http://new.example/", "--folder", folder)
    run("approve", "new.example", "--folder", folder)
    run("approve", "--all", "--folder", folder)
    found = found_in(folder)
    assert [(one.action, one.sites) for one in found] == [
        ("approve", (SiteSetting(site="b.example"),)),
        ("block", (SiteSetting(site="a.example"), SiteSetting(site="told.example"))),
        ("set", (SiteSetting(site="a.example", budget=500, max_depth=4),)),
        ("set", (SiteSetting(site="a.example", budget=0),)),
        ("set", (SiteSetting(site="a.example", tags=("b", "z")),)),
        ("set", (SiteSetting(site="a.example", tags=()),)),
        ("slots", ()),
        ("add", (SiteSetting(site="new.example", scheme="http"),)),
        ("approve", (SiteSetting(site="new.example"),)),
        ("approve", (SiteSetting(site="b.example"),)),
    ]
    assert {one.by for one in found} == {"ada"}
    assert all(one.at_ms > 1_700_000_000_000 for one in found)
    assert found[1].detail == "too many"
    assert found[6].slots == 1


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (
            ["approve", "b.example", "unknown.example"],
            "expected a site of this crawl, found unknown.example, which nobody has met",
        ),
        (["block", "unknown.example"], "`gregor sites add` makes one known"),
        (["show", "unknown.example"], "found unknown.example"),
        (["budget", "unknown.example", "5"], "found unknown.example"),
        (["tag", "unknown.example", "x"], "found unknown.example"),
        (["tag", "a.example", "x;y"], "expected a tag of 1 to 100 characters"),
        (["budget", "a.example", "-5"], "-5"),
        (["budget", "a.example", "many"], "many"),
        (["approve", "b.example/page"], "expected a server such as example.com"),
        (["approve"], "expected sites, or --all"),
        (["approve", "--all", "b.example"], "expected sites, or --all"),
        (["slots", "3"], "expected at most 2 slots, as many as the crawl has partitions, found 3"),
        (["--slot", "2"], "expected a slot below 2, found 2"),
        (["import", "missing.csv"], "expected a CSV file of sites, found no such file or directory: missing.csv"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(run: Run, folder: Path, args: list[str], why: str) -> None:
    said = run(*args, "--folder", folder, code=3)
    assert why in said
    assert said.count("\n") == 1
    assert found_in(folder) == []


def test_a_file_is_taken_whole_or_not_at_all(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "sites.csv"
    path.write_text("site,state,budget\na.example,blocked,\nnew.example,approved,5\nspam.example,blocked,-1\n")
    assert "sites.csv, line 4: expected budget as a number" in run("import", path, "--folder", folder, code=3)
    path.write_bytes(b"site\na.example\n\xff.example\n")
    assert "expected UTF-8" in run("import", path, "--folder", folder, code=3)
    assert found_in(folder) == []
    path.write_text("site,state,budget\na.example,blocked,\nnew.example,approved,5\n")
    assert "import 2 sites: written for the coordinator" in run("import", path, "--folder", folder)
    assert [(one.action, [setting.site for setting in one.sites]) for one in found_in(folder)] == [
        ("add", ["a.example", "new.example"]),
        ("approve", ["new.example"]),
        ("block", ["a.example"]),
    ]
    path.write_text("site\n")
    assert "no sites in it" in run("import", path, "--folder", folder)


def test_all_sites_go_out_as_csv(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    cli.run(["sites", "export", "all.csv", "--folder", str(folder)])
    assert capsysbinary.readouterr().out == b"3 sites written to all.csv\n"
    cli.run(["sites", "export", "--folder", str(folder)])
    assert capsysbinary.readouterr().out == (tmp_path / "all.csv").read_bytes()
    assert (tmp_path / "all.csv").read_text().splitlines() == [
        "site,state,slot,budget,max_depth,tags,found_on,found",
        "a.example,placed,0,7,0,news,,",
        "b.example,waiting,1,0,0,,https://a.example/\x1b[2J,2023-11-14T22:13:20Z",
        "c.example,blocked,1,0,0,bad;news,,",
    ]


def test_a_crawl_that_runs_is_told_through_its_mailbox(run: Run, tmp_path: Path) -> None:
    folder, stop = tmp_path / "crawl", threading.Event()
    with embedded(folder, "sites") as owner:
        fill(owner)

        def take_in() -> None:
            while not stop.wait(0.02):
                mailbox.deliver(folder, owner)

        taking = threading.Thread(target=take_in)
        taking.start()
        try:
            assert "block a.example: the running crawl was told" in run("block", "a.example", "--folder", folder)
        finally:
            stop.set()
            taking.join()
        assert [one.action for one in commands_in(owner)] == ["block"]


def test_a_crawl_without_sites_says_so(run: Run, tmp_path: Path) -> None:
    with embedded(tmp_path / "crawl") as transport:
        remember(transport, Config(partitions=PartitionsSection(partitions=PARTITIONS)), 1)
    for args in ([], ["approve", "a.example"], ["export"], ["slots", "1"]):
        said = run(*args, "--folder", tmp_path / "crawl", code=3)
        assert (
            'expected a crawl with partitions.placement = "sites", found one that places servers by their hash' in said
        )
        assert said.count("\n") == 1


@pytest.mark.parametrize("command", [[], *([name] for name in sorted(sites.commands))])
def test_help_teaches_with_an_example(run: Run, command: list[str]) -> None:
    said = run(*command, "--help")
    assert "Example" in said
    assert "gregor" in said.partition("Example")[2]


def test_the_same_on_a_cluster(run: Run, kafka: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(
        crawl=CrawlSection(name=f"sites-{tmp_path.name}".replace("_", "-")[:40]),
        partitions=SITES.partitions,
        kafka=KafkaSection(bootstrap=kafka.bootstrap),
    )
    clients = Clients(config.names, config.kafka)
    create(clients, clients.wait_for_broker(), config.layout)
    transport = KafkaTransport(config.names, config.kafka, tmp_path / "state", SharedMemory(SMALL))
    fill(transport, config)
    for name, value in {
        "GREGOR_CRAWL__NAME": config.crawl.name,
        "GREGOR_KAFKA__BOOTSTRAP": kafka.bootstrap,
        "GREGOR_PARTITIONS__PARTITIONS": str(PARTITIONS),
        "GREGOR_PARTITIONS__PLACEMENT": "sites",
    }.items():
        monkeypatch.setenv(name, value)
    listed: dict[str, Any] = json.loads(run("--json"))
    assert [one["site"] for one in listed["sites"]] == ["a.example", "b.example", "c.example"]
    assert "found unknown.example" in run("approve", "b.example", "unknown.example", code=3)
    assert "approve b.example: written for the coordinator" in run("approve", "b.example")
    assert [(one.action, one.sites) for one in commands_in(transport)] == [
        ("approve", (SiteSetting(site="b.example"),))
    ]
    transport.close()
