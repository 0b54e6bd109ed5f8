"""summary.json: where its figures come from, and that its keys are those that are documented."""

import json
from pathlib import Path

import pytest
from msgspec import Struct

from gregor.errors import GregorError
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.report import summary as shapes
from gregor.outputs.report.make import make_report
from gregor.outputs.report.summary import MOST_SERVERS, Summary, summary_of
from gregor.run.progress import Progress
from gregor.runtime.transport.port import Output
from schemas.archive import ArchiveFile
from schemas.fetched import Fetched, FetchResult, Timings
from schemas.verdicts import Verdict
from tests.outputs.folds.records import MONDAY, page
from tests.outputs.report.logs import PARTITIONS, log_with

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "report.md"


def made(look: Progress | None = None, view: CrawlView | None = None) -> Summary:
    return summary_of("docs", view or CrawlView(), look or Progress({}, {}, {}), [], complete=True, now_ms=MONDAY)


def test_the_log_is_folded_from_all_partitions_into_one_file(tmp_path: Path) -> None:
    records: list[Fetched | Verdict | ArchiveFile] = [
        *(
            page(f"/{n}", f"s{n}.test", at_ms=MONDAY + n * 1000, wire_bytes=10, content_type="text/html")
            for n in range(5)
        ),
        Fetched(
            server="s0.test",
            lease="1-2",
            results=(
                FetchResult(
                    path="/no", outcome="client-error", status=404, started_ms=MONDAY, timings=Timings(total=40)
                ),
                FetchResult(path="/late", outcome="timeout", started_ms=MONDAY),
                FetchResult(path="/called-off", outcome="cancelled"),
            ),
        ),
        Verdict(
            server="s1.test", kind="refused", reason="scope-host", count=7, stage="extractor", url="https://x.test/"
        ),
        ArchiveFile(file="a", length=100, partition=0, first=0, last=3, records=4),
        ArchiveFile(file="a", length=900, partition=0, first=0, last=9, records=10),
        ArchiveFile(file="b", length=50, partition=1, first=0, last=1, records=2),
    ]
    with log_with(tmp_path / "state", records) as log:
        log.append([Output("fetched", 0, b"k", b"no record")])
        given = make_report(tmp_path / "out", log, "docs", PARTITIONS, MONDAY + 60_000)
    found = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert found["requests"] == given.requests == 7
    assert found["pages"] == 5
    assert found["statuses"] == {"200": 5, "404": 1, "none": 1}
    assert found["types"] == {"text/html": 5}
    assert found["duration_s"] == 4.0
    assert found["pages_per_s"] == round(7 / 4, 1)
    assert found["server_count"] == 5
    assert found["wire_bytes"] == 50
    assert found["archive"] == {"files": 2, "bytes": 950, "records": 12}
    assert [(line["reason"], line["count"]) for line in found["refusals"]] == [("scope-host", 7)]
    assert sum(window["requests"] for window in found["timeline"]["windows"]) == 7
    assert found["unreadable"] == 1
    assert found["complete"] is True
    assert found["crawl"] == "docs"


def test_an_empty_log_has_a_summary_and_a_report(tmp_path: Path) -> None:
    with log_with(tmp_path / "state", []) as log:
        summary = make_report(tmp_path, log, "docs", PARTITIONS, MONDAY)
    assert (summary.requests, summary.pages_per_s, summary.server_count) == (0, 0.0, 0)
    assert "No request was made" in (tmp_path / "report.html").read_text()


def test_making_it_again_replaces_both_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    with log_with(tmp_path / "state", [page()]) as log:
        for now in (MONDAY, MONDAY + 1):
            make_report(tmp_path / "out", log, "docs", PARTITIONS, now)
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["made_ms"] == MONDAY + 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "summary.json"]


def test_a_place_that_cannot_be_written_to_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with log_with(tmp_path / "state", []) as log, pytest.raises(GregorError, match="cannot be written to"):
        make_report(tmp_path / "file" / "out", log, "docs", PARTITIONS, MONDAY)


def test_the_frontiers_exact_counters_stand_in_place_of_its_rate_limited_verdicts() -> None:
    view = CrawlView()
    view.verdict(Verdict(server="a.test", kind="refused", reason="robots", count=2, url="https://a.test/x"))
    view.verdict(Verdict(server="a.test", kind="refused", reason="rel-nofollow", count=3, stage="extractor"))
    view.verdict(Verdict(server="a.test", kind="delayed", reason="scope-widened"))
    summary = made(
        Progress({}, {}, {"dropped_robots": 90, "refused_depth": 5, "failed_dns": 4, "refused_hops": 0}), view
    )
    assert [(line.reason, line.kind, line.count, line.example) for line in summary.refusals] == [
        ("robots", "refused", 90, "https://a.test/x"),
        ("depth", "refused", 5, ""),
        ("dns", "given-up", 4, ""),
        ("rel-nofollow", "refused", 3, ""),
    ]


def test_a_crawl_is_done_waiting_or_unfinished() -> None:
    assert made(Progress({}, {}, {"confirmed": 9})).state == "done"
    assert made(Progress({}, {}, {"queued": 1})).state == "unfinished"
    assert made(Progress({}, {"fetcher": 3}, {})).state == "unfinished"
    assert made(Progress({}, {}, {"revisiting": 2, "due_later_ms": 5})).state == "waiting"
    far = made(Progress({}, {}, {"queued": 2, "due_next_ms": 2 * MONDAY}))
    assert (far.state, far.waiting_until_ms) == ("unfinished", 2 * MONDAY)


def test_of_very_many_servers_the_largest_have_lines_and_the_others_one() -> None:
    view = CrawlView()
    for number in range(MOST_SERVERS + 50):
        view.fetched(page(server=f"s{number}.test"))
    summary = made(view=view)
    assert summary.server_count == MOST_SERVERS + 50
    assert len(summary.servers) == MOST_SERVERS + 1
    assert (summary.servers[-1].server, summary.servers[-1].servers, summary.servers[-1].requests) == ("", 50, 50)


def test_every_key_is_documented() -> None:
    text = DOCUMENT.read_text()
    structs = [one for one in vars(shapes).values() if isinstance(one, type) and issubclass(one, Struct)]
    names = {name for one in structs if one.__module__ == shapes.__name__ for name in one.__struct_fields__}
    assert len(names) > 40
    assert {name for name in names if f"`{name}`" not in text} == set()
