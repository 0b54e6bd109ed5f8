"""What `gregor crawl` takes and leaves behind, as its user sees it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from gregor.demo.museum import HOUSES, Museum
from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from gregor.demo.tree import path_of
from gregor.errors import EXIT_APPROVALS, EXIT_WAITING
from tests.chaos.processes import until

ROOT = Path(__file__).parents[2]
LOOPBACK = {
    "GREGOR_FETCH__ALLOW_ADDRESSES": '["127.0.0.0/8"]',
    "GREGOR_FETCH__DELAY_S": "0",
    "GREGOR_FETCH__DELAY_FACTOR": "0",
    "GREGOR_RETRY__FIRST_S": "0.1",
    "GREGOR_RETRY__SERVER_ATTEMPTS": "1",
    "GREGOR_PARTITIONS__PARTITIONS": "2",
}


def gregor(folder: Path, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command in an empty folder without a configuration file."""
    (folder / "gregor.toml").touch()
    return subprocess.run(
        [sys.executable, "-m", "gregor", *map(str, arguments)],
        cwd=folder,
        env={**LOOPBACK, "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.fixture(scope="module")
def site() -> Iterator[DemoServer]:
    with serve(DemoSite(hosts=1, pages_per_host=8)) as server:
        yield server


def test_the_demo_needs_nothing_but_the_command_and_leaves_files_that_can_be_used(tmp_path: Path) -> None:
    done = gregor(tmp_path, "crawl", "--demo")
    assert done.returncode == 0, done.stderr
    assert "0 missed, 0 too often, 0 that are closed" in done.stdout
    output = tmp_path / "gregor-demo"
    summary = json.loads((output / "summary.json").read_text())
    assert summary["state"] == "done"
    assert summary["pages"] > sum(house.pages for house in HOUSES)
    assert (output / "report.html").read_text().startswith("<!doctype html>")
    responses = 0
    for file in (output / "archive").glob("*.warc.gz"):
        with file.open("rb") as stream:
            responses += sum(record.rec_type in ("response", "revisit") for record in ArchiveIterator(stream))
    assert responses == summary["requests"] + summary["robots_requests"]
    lines = (output / "archive" / "index" / "pages.cdxj").read_text().splitlines()
    assert len([line for line in lines if not line.startswith("!")]) == responses
    assert "Next:" in done.stdout


def test_a_demo_that_is_stopped_does_not_promise_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gregor", "crawl", "--demo"]
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as demo:
        until((tmp_path / "gregor-demo" / "state" / "folder.json").exists, "the crawl has begun")
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate()
    assert demo.returncode == 130
    assert "begins anew; all of it is in gregor-demo." in said.decode().splitlines()[-1]
    assert "goes on where it stopped" not in said.decode()


def test_one_url_is_enough_and_the_same_command_again_fetches_nothing(tmp_path: Path, site: DemoServer) -> None:
    before = len(site.log)
    first = gregor(tmp_path, "crawl", "--json", site.seeds[0])
    assert first.returncode == 0, first.stderr
    told = [json.loads(line) for line in first.stdout.splitlines()]
    assert [one["type"] for one in told][-1] == "summary"
    assert told[-1]["urls"]["fetched"] == len(site.site.urls())
    assert told[-1]["cpu_s"].keys() >= {"frontier", "fetcher", "extractor"}
    asked = len(site.log)
    assert asked > before
    again = gregor(tmp_path, "crawl", "--json", site.seeds[0])
    assert again.returncode == 0, again.stderr
    assert len(site.log) == asked


def test_a_crawl_that_goes_on_after_a_trim_keeps_its_complete_report(tmp_path: Path, site: DemoServer) -> None:
    crawl = ("crawl", "-o", "docs", site.seeds[0])
    assert gregor(tmp_path, *crawl).returncode == 0
    assert gregor(tmp_path, "trim", "--folder", "docs", "--keep-hours", "0").returncode == 0
    again = gregor(tmp_path, *crawl)
    assert again.returncode == 0, again.stderr
    assert "docs/report-complete.html and summary-complete.json are the last that told of all." in again.stdout
    kept = json.loads((tmp_path / "docs" / "summary-complete.json").read_text())
    assert kept["requests"] == len(site.site.urls())


def test_a_folder_is_refused_to_another_number_of_repositories(tmp_path: Path, site: DemoServer) -> None:
    assert gregor(tmp_path, "crawl", "-o", "docs", site.seeds[0]).returncode == 0
    (tmp_path / "gregor.toml").write_text("[partitions]\nrepositories = 64\n")
    again = gregor(tmp_path, "crawl", "-o", "docs", site.seeds[0])
    assert again.returncode == 4, again.stderr
    assert "made with partitions.repositories 4096, expected 64; " in again.stderr.splitlines()[-1]


def test_seeds_come_from_a_file_or_from_standard_input_and_a_list_follows_no_links(
    tmp_path: Path, site: DemoServer
) -> None:
    wanted = sorted(site.site.pages())[:3]
    (tmp_path / "urls.txt").write_text("# what we want\n\n" + "\n".join(wanted[:2]) + "\n")
    for number, (arguments, stdin) in enumerate(
        [(["--seeds", "urls.txt", wanted[2]], ""), (["--seeds", "-"], "\n".join(wanted))]
    ):
        before = len(site.log)
        done = gregor(tmp_path, "crawl", "--list", "-o", f"out{number}", *arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        asked = [f"http://{line.host}{line.path}" for line in site.log[before:]]
        assert sorted(url for url in asked if not url.endswith("/robots.txt")) == wanted


def test_a_list_is_left_neither_by_a_sitemap_nor_by_links_between_its_servers(tmp_path: Path) -> None:
    house = replace(HOUSES[4], pages=8)
    assert house.vault
    with serve(Museum(houses=(house, house))) as server:
        wanted = {server.seeds[0], f"{server.seeds[1]}sitemap.xml"}
        done = gregor(tmp_path, "crawl", "--list", "--json", *wanted)
        assert done.returncode == 0, done.stderr
        assert set(server.requested()) == wanted
    with serve(DemoSite(hosts=2)) as plain:
        wanted = {plain.site.url(0, path_of(3)), plain.site.url(1, "/")}
        done = gregor(tmp_path, "crawl", "--list", "-o", "plain", *wanted)
        assert done.returncode == 0, done.stderr
        assert set(plain.requested()) == wanted, "the same drawer of another house has depth 1, too"


def test_a_sitemap_is_a_seed_like_any_other(tmp_path: Path) -> None:
    house = replace(HOUSES[4], pages=8)
    assert house.vault
    with serve(Museum(houses=(house,))) as server:
        done = gregor(tmp_path, "crawl", "--json", f"{server.seeds[0]}sitemap.xml")
        assert done.returncode == 0, done.stderr
        assert any("/vault/" in line.path for line in server.log)


def test_a_dry_run_says_what_it_would_do_and_asks_nobody(tmp_path: Path, site: DemoServer) -> None:
    before = len(site.log)
    done = gregor(
        tmp_path, "crawl", "--dry-run", "--depth", "3", "--pages", "1000", "--scope", "domains", site.seeds[0]
    )
    assert done.returncode == 0, done.stderr
    assert len(site.log) == before
    assert site.seeds[0] in done.stdout
    assert "3 depth at most, 1,000 pages at most" in done.stdout
    assert "registered domains" in done.stdout
    assert not (tmp_path / "gregor-crawl").exists()


def test_a_dry_run_tells_programs_the_same_and_what_comes_after_the_first_visit(tmp_path: Path) -> None:
    asked = ("crawl", "--dry-run", "--contact", "mailto:me@example.com", "--list", "--recrawl", "12", "example.com")
    said = gregor(tmp_path, *asked).stdout
    assert "  https://example.com/\n" in said
    assert "No links are followed; any pages." in said
    assert "fetched again after 12 hours" in said
    plan = json.loads(gregor(tmp_path, *asked, "--json").stdout)
    assert (plan["type"], plan["seeds"], plan["follow_links"]) == ("plan", ["https://example.com/"], False)
    assert (plan["recrawl"], plan["recrawl_hours"], plan["goes_on"]) == ("fixed", 12, False)


def test_a_dry_run_is_refused_as_the_crawl_itself_would_be(tmp_path: Path, site: DemoServer) -> None:
    page = min(site.site.pages())
    assert gregor(tmp_path, "crawl", "--list", "-o", "mine", page).returncode == 0
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("somebody's")
    for arguments in (
        ["https://example.com/"],
        ["--scope", "any", page],
        ["-o", "full", page],
        ["-o", "mine", "--name", "other", page],
    ):
        real, dry = gregor(tmp_path, "crawl", *arguments), gregor(tmp_path, "crawl", "--dry-run", *arguments)
        assert real.returncode == dry.returncode in (3, 4)
        assert (dry.stdout, dry.stderr) == ("", real.stderr)
    said = gregor(tmp_path, "crawl", "--dry-run", "-o", "mine", page).stdout
    assert "the crawl in it goes on" in said


def test_a_list_may_begin_with_a_mark_and_leave_out_https_and_its_bad_line_is_named(tmp_path: Path) -> None:
    asked = ("crawl", "--dry-run", "--contact", "mailto:me@example.com", "--seeds", "urls.txt")
    (tmp_path / "urls.txt").write_text("http://a.example/\nb.example/x\n", encoding="utf-8-sig")
    done = gregor(tmp_path, *asked)
    assert done.returncode == 0, done.stderr
    assert "  http://a.example/\n  https://b.example/x\n" in done.stdout
    for bad in ("ftp://c.example/", "two words", "http://[", "https:c.example"):
        (tmp_path / "urls.txt").write_text(f"# mine\n\nhttp://a.example/\n{bad}\n")
        done = gregor(tmp_path, *asked)
        assert done.returncode == 3
        assert f'in line 4 of urls.txt, found "{bad}"' in done.stderr


def test_the_number_of_pages_is_a_limit(tmp_path: Path, site: DemoServer) -> None:
    done = gregor(tmp_path, "crawl", "--json", "--pages", "4", "--no-archive", site.seeds[0])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["urls"]["fetched"] == 4
    assert not (tmp_path / "gregor-crawl" / "archive").exists()


def test_seeds_from_a_standard_input_that_is_closed_are_none(tmp_path: Path) -> None:
    command = f"exec {sys.executable} -m gregor crawl --seeds - <&-"
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stderr) == (3, "gregor: expected seeds in standard input, a URL a line, found none\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 3, "expected at least one seed"),
        (["--seeds", "nowhere.txt"], 3, "nowhere.txt"),
        (["--seeds", "-"], 3, "found none"),
        (["http://["], 3, "expected a seed such as"),
        (["ftp://example.com/"], 3, "expected URLs that begin with http"),
        (["/etc/hosts"], 3, "expected URLs that begin with http"),
        (["example.com"], 3, "the seed https://example.com is on a public host"),
        (["--demo", "http://127.0.0.1/"], 3, "either seeds or --demo"),
        (["--list", "--depth", "2", "http://127.0.0.1/"], 3, "either --list or --depth"),
        (["--pages", "-1", "http://127.0.0.1/"], 3, "--pages"),
        (["https://example.com/"], 3, "contact"),
        (["-o", "full", "http://127.0.0.1/"], 4, "found other files"),
        (["-o", "full/file", "http://127.0.0.1/"], 3, "found a file"),
        (["http://127.0.0.1:9/"], 1, "127.0.0.1:9: connect"),
    ],
)
def test_a_mistake_is_one_clear_line_and_an_exit_code(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("somebody's")
    done = gregor(tmp_path, "crawl", *arguments)
    assert done.returncode == code, done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("gregor: ")
    assert said in line
    assert "Traceback" not in done.stderr


def test_a_delay_after_robots_txt_is_not_taken_for_silence(tmp_path: Path) -> None:
    with serve(DemoSite(hosts=1, pages_per_host=6)) as server:
        done = gregor(tmp_path, "crawl", "--json", "--delay", "1", "--pages", "2", server.seeds[0])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["urls"]["fetched"] == 2


YEARS = replace(HOUSES[1], pages=8, rules="Crawl-delay: 1000000000\n")
"""Thirty-one of them between two requests."""


def test_a_crawl_that_would_wait_for_years_says_until_when_and_what_goes_on_then(tmp_path: Path) -> None:
    with serve(Museum(houses=(YEARS,))) as server:
        for _ in range(2):
            done = gregor(tmp_path, "crawl", server.seeds[0])
            assert done.returncode == EXIT_WAITING, done.stderr
            line = done.stderr.splitlines()[-1]
            assert line.startswith("gregor: 1 URL waits until 20")
            assert line.endswith("; the same command goes on then")
            assert len(server.log) == 1, "robots.txt, and nothing more"
    summary = json.loads((tmp_path / "gregor-crawl" / "summary.json").read_text())
    assert (summary["state"], summary["urls"]["waiting"]) == ("unfinished", 1)
    assert summary["waiting_until_ms"] > summary["made_ms"] + 900_000_000_000
    assert "Nothing is due before 20" in (tmp_path / "gregor-crawl" / "report.html").read_text()
    now = json.loads(gregor(tmp_path, "status", "gregor-crawl", "--json").stdout)
    assert (now["phase"], now["queued"]) == ("waiting", 1)
    assert now["waits_for"] == [one for one in now["waits_for"] if "their servers' turn, the first in 9" in one]


def test_a_crawl_waits_for_as_long_as_it_is_told_to(tmp_path: Path) -> None:
    """Two seconds between requests are more than it may wait; without a limit they are not."""
    slow = replace(YEARS, rules="Crawl-delay: 2\n")
    with serve(Museum(houses=(slow,))) as server:
        crawl = ("crawl", "--pages", "2", "--json", server.seeds[0])
        (tmp_path / "gregor.toml").write_text("[crawl]\nmax_wait_hours = 0.0001\n")
        assert gregor(tmp_path, *crawl).returncode == EXIT_WAITING
        (tmp_path / "gregor.toml").write_text("[crawl]\nmax_wait_hours = 0\n")
        done = gregor(tmp_path, *crawl)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["urls"]["fetched"] == 2


def test_a_crawl_in_which_only_approvals_are_left_says_so_and_goes_on_when_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "gregor.toml").write_text('[partitions]\nplacement = "sites"\n[sites]\nadmit = "approved"\n')
    with serve(DemoSite(hosts=2, pages_per_host=6)) as server:
        crawl = ("crawl", "-o", "out", *server.seeds)
        waits = gregor(tmp_path, *crawl)
        assert waits.returncode == EXIT_APPROVALS, waits.stderr
        line = waits.stderr.splitlines()[-1]
        assert line.startswith(
            "gregor: 2 sites wait for somebody to approve; `gregor sites --state waiting --folder out`"
        )
        assert not server.log
        assert gregor(tmp_path, "sites", "approve", "--all", "--folder", "out").returncode == 0
        done = gregor(tmp_path, *crawl)
        assert done.returncode == 0, done.stderr
        assert set(server.requested()) == server.site.urls()


def test_a_crawl_without_an_archive_comes_to_its_end_also_in_a_folder_that_has_one(
    tmp_path: Path, site: DemoServer
) -> None:
    page, other = sorted(site.site.pages())[:2]
    for archive, pages in (("--archive", [page]), ("--no-archive", [page, other])):
        done = gregor(tmp_path, "crawl", "--json", "--list", archive, *pages)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout.splitlines()[-1])
        assert (summary["state"], summary["urls"]["fetched"]) == ("done", len(pages))
    now = json.loads(gregor(tmp_path, "status", "gregor-crawl", "--json").stdout)
    assert (now["phase"], now["waits_for"]) == ("done", [])


@pytest.mark.parametrize("archive", ["--archive", "--no-archive"])
def test_a_seed_that_robots_txt_closes_is_told(tmp_path: Path, archive: str) -> None:
    house = replace(HOUSES[1], pages=8, rules="Disallow: /\n")
    with serve(Museum(houses=(house,))) as server:
        done = gregor(tmp_path, "crawl", archive, server.seeds[0])
    assert done.returncode == 1, done.stdout
    assert "robots" in done.stderr.splitlines()[-1]
