"""`gregor report`: both files again, beside a crawl that runs or without one, and one line when there is no crawl."""

import json
from pathlib import Path

from gregor.runtime.transport.port import TopicPartition
from tests.chaos.processes import running
from tests.outputs.folds.records import page
from tests.outputs.report.logs import log_with


def report(*arguments: str | Path) -> tuple[int | None, str]:
    with running("-m", "gregor", "report", *arguments) as process:
        return process.wait()


def test_both_files_are_made_again_from_the_folder_alone(tmp_path: Path) -> None:
    with log_with(tmp_path / "crawl" / "state", [page(f"/{number}") for number in range(3)]):
        pass
    code, printed = report(tmp_path / "crawl")
    assert code == 0, printed
    assert "by 3 requests. Servers: 1." in printed
    assert json.loads((tmp_path / "crawl" / "summary.json").read_bytes())["crawl"] == "made-up"
    assert (tmp_path / "crawl" / "report.html").is_file()


def test_a_complete_report_is_kept_beside_one_that_tells_of_the_rest_alone(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with log_with(crawl / "state", [page(f"/{number}") for number in range(3)]) as log:
        assert "trimmed" not in report(crawl)[1]
        whole = (crawl / "report.html").read_text()
        log.trim({TopicPartition("fetched", partition): end for partition, (_, end) in log.ends("fetched").items()})
        for _ in range(2):
            code, printed = report(crawl)
            assert code == 0, printed
            assert "what is folded from it tells of the rest alone" in printed
            assert f"{crawl / 'report-complete.html'} and summary-complete.json are the last" in printed
            made, kept = (json.loads((crawl / f"{name}.json").read_bytes()) for name in ("summary", "summary-complete"))
            assert (made["complete"], made["requests"]) == (False, 0)
            assert (kept["complete"], kept["requests"]) == (True, 3)
            assert (crawl / "report-complete.html").read_text() == whole
        code, printed = report(crawl, "--output", tmp_path / "elsewhere")
        assert "tells of the rest alone.\n" in printed, "there was none to be kept"


def test_a_complete_report_of_another_crawl_is_none_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"crawl": "another", "complete": true}')
    with log_with(tmp_path / "state", [page()]) as log:
        log.trim({TopicPartition("fetched", 0): 1})
        code, printed = report(tmp_path)
    assert code == 0, printed
    assert not (tmp_path / "summary-complete.json").exists()


def test_a_crawl_that_another_process_holds_is_reported_without_asking_it(tmp_path: Path) -> None:
    with log_with(tmp_path / "crawl", [page()]):
        code, printed = report(tmp_path / "crawl", "--output", tmp_path / "elsewhere")
    assert code == 0, printed
    assert json.loads((tmp_path / "elsewhere" / "summary.json").read_bytes())["requests"] == 1
    assert not (tmp_path / "crawl" / "summary.json").exists()


def test_a_folder_without_a_crawl_is_refused_in_one_line(tmp_path: Path) -> None:
    code, printed = report(tmp_path)
    assert code == 3
    assert printed.count("\n") == 1
    assert "expected the folder of a crawl" in printed


def test_a_place_that_cannot_be_written_to_is_refused_in_one_line(tmp_path: Path) -> None:
    with log_with(tmp_path / "crawl", []):
        pass
    (tmp_path / "file").write_text("")
    code, printed = report(tmp_path / "crawl", "--output", tmp_path / "file")
    assert code == 2
    assert printed.count("\n") == 1
    assert "cannot be written to" in printed
