"""`gregor report`: both files again, beside a crawl that runs or without one, and one line when there is no crawl."""

import json
from pathlib import Path

from tests.chaos.processes import running
from tests.report.logs import log_with
from tests.views.records import page


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
