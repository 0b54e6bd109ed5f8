"""Taking pages, items and whole archives out again."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pandas
import pytest

from gregor import cli
from gregor.errors import UsageError
from gregor.outputs.archive.export import export_bodies
from gregor.outputs.archive.items import items_of, joined, kind_of, write_jsonl, write_parquet
from gregor.outputs.archive.places import whole_file
from gregor.outputs.archive.reader import open_archive
from gregor.outputs.archive.rearchive import rearchive
from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.items import Item
from tests.chaos.processes import gregor
from tests.workers.archiver.pages import Museum, body, config, facts, output


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Museum]:
    made = Museum(tmp_path, config(max_file_bytes=6000))
    yield made
    made.close()


@pytest.fixture
def archive(museum: Museum) -> Path:
    museum.append(
        [
            *(output(number) for number in range(6)),
            output(
                6, path="/../../etc/passwd%2f..", response_headers=(("Content-Type", "image/png"),), content=b"\x89PNG"
            ),
            output(7, path="/moved", status=301, content=b""),
        ]
    )
    museum.archive_all()
    return museum.folder


def run(tmp_path: Path, *arguments: str | Path) -> tuple[int, str]:
    (tmp_path / "empty.toml").write_text("")
    with gregor(tmp_path / "empty.toml", *arguments) as running:
        return running.wait()


def test_all_pages_as_lines_of_json(archive: Path, tmp_path: Path) -> None:
    code, printed = run(tmp_path, "export", archive)
    assert code == 0, printed
    rows = [msgspec.json.decode(line) for line in printed.splitlines()]
    assert len(rows) == 7, "the redirect is left out"
    row = next(one for one in rows if one["url"] == facts(3).url)
    assert (row["status"], row["title"], row["language"]) == (200, "Page 3", "en")
    assert row["fetched"] == "2027-01-15T08:00:00.003Z"
    assert row["text"].startswith("leg3 ")


def test_chosen_urls_as_bodies_whose_files_are_not_named_by_strangers(archive: Path, tmp_path: Path) -> None:
    code, printed = run(tmp_path, "export", archive, "--as", "body", "--output", tmp_path / "out")
    assert code == 0, printed
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [name.partition(".")[0] for name in names] == [f"{n:08}" for n in range(1, 8)] + ["pages"]
    rows = [msgspec.json.decode(line) for line in (tmp_path / "out" / "pages.jsonl").read_bytes().splitlines()]
    written = {row["url"]: (tmp_path / "out" / row["file"]).read_bytes() for row in rows}
    assert written[facts(2).url] == body(2)
    (odd,) = [row for row in rows if "passwd" in row["url"]]
    assert odd["file"].endswith(".png")


@pytest.mark.parametrize(
    ("content_type", "ending"),
    [
        ("text/html; charset=utf-8", ".html"),
        ("application/xhtml+xml", ".xhtml"),
        ("TEXT/PLAIN", ".txt"),
        ("text/css", ".css"),
        ("text/javascript", ".js"),
        ("application/javascript", ".js"),
        ("application/json", ".json"),
        ("application/ld+json", ".json"),
        ("application/problem+json", ".json"),
        ("application/xml", ".xml"),
        ("text/xml", ".xml"),
        ("application/rss+xml", ".xml"),
        ("application/atom+xml", ".xml"),
        ("application/x-anything+xml", ".xml"),
        ("image/svg+xml", ".svg"),
        ("image/jpeg", ".jpg"),
        ("image/tiff", ".tif"),
        ("image/x-icon", ".ico"),
        ("audio/mpeg", ".mp3"),
        ("video/mp4", ".mp4"),
        ("font/woff2", ".woff2"),
        ("application/pdf", ".pdf"),
        ("application/gzip", ".gz"),
        ("application/zip", ".zip"),
        ("application/octet-stream", ".bin"),
        ("application/x-sh", ".bin"),
        ("../../etc/passwd", ".bin"),
    ],
)
def test_the_ending_of_a_body_is_the_usual_one_of_its_type(
    museum: Museum, tmp_path: Path, content_type: str, ending: str
) -> None:
    museum.append([output(1, response_headers=(("Content-Type", content_type),), content=b"\x00\x01")])
    museum.archive_all()
    assert export_bodies(open_archive(museum.folder), tmp_path / "out") == 1
    assert (tmp_path / "out" / f"00000001{ending}").is_file()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ((facts(1).url,), {1}),
        (("http://example.com/page/*", "--match", "[34]$"), {3, 4}),
        (("http://example.com/moved", "--all"), {7}),
    ],
)
def test_urls_are_chosen_by_name_beginning_and_pattern(
    archive: Path, tmp_path: Path, chosen: tuple[str, ...], expected: set[int]
) -> None:
    code, printed = run(tmp_path, "export", archive, *chosen)
    assert code == 0, printed
    rows: list[dict[str, Any]] = [msgspec.json.decode(line) for line in printed.splitlines()]
    assert {int(row["fetched"][-4:-1]) for row in rows} == expected


def test_one_body_goes_to_stdout_as_it_is(archive: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "export", archive, facts(4).url, "--as", "body") == (0, body(4).decode())


def test_a_choice_of_nothing_is_told_in_a_line(archive: Path, tmp_path: Path) -> None:
    code, printed = run(tmp_path, "export", archive, "http://nowhere.test/")
    assert code == 1
    assert printed.count("\n") == 1
    assert "no page of" in printed
    for form in ("text", "body"):
        assert (
            run(tmp_path, "export", archive, "http://nowhere.test/", "--as", form, "--output", tmp_path / form)[0] == 1
        )
        assert not (tmp_path / form).exists()


def test_an_earlier_export_stays_until_there_is_a_whole_one(archive: Path, tmp_path: Path) -> None:
    output = tmp_path / "pages.jsonl"
    assert run(tmp_path, "export", archive, "--output", output)[0] == 0
    earlier = output.read_bytes()
    assert earlier.count(b"\n") == 7
    assert run(tmp_path, "export", archive, "http://nowhere.test/", "--output", output)[0] == 1
    assert output.read_bytes() == earlier
    for file in archive.glob("*.warc.gz"):
        # Some pages can be read, then no more.
        os.truncate(file, file.stat().st_size // 2)
    assert run(tmp_path, "export", archive, "--output", output)[0] != 0
    assert output.read_bytes() == earlier
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize("stopped", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_file_whose_writing_was_stopped_leaves_the_one_before(tmp_path: Path, stopped: BaseException) -> None:
    def items() -> Iterator[Item]:
        yield Item(url="http://example.com/", rule="shop", fields={}, lease="0-1", number=1, fetched_ms=1)
        raise stopped

    (tmp_path / "items.jsonl").write_text("before")
    with pytest.raises(type(stopped)):
        write_jsonl(items, tmp_path / "items.jsonl")
    assert os.listdir(tmp_path) == ["items.jsonl"]
    assert (tmp_path / "items.jsonl").read_text() == "before"


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(tmp_path / "pipe") as file:
        file.write(b"a line")
    assert os.read(reader, 100) == b"a line"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_an_archive_is_made_again_from_the_log(museum: Museum, archive: Path, tmp_path: Path) -> None:
    done = rearchive(museum.transport, museum.settings, {0: 0, 1: 0}, tmp_path / "again")
    assert done.pages == 8
    assert [(one.facts, one.body) for one in open_archive(tmp_path / "again")] == [
        (one.facts, one.body) for one in open_archive(archive)
    ]


def test_an_archive_is_made_again_from_any_offset(museum: Museum, archive: Path, tmp_path: Path) -> None:
    rearchive(museum.transport, museum.settings, {1: 2}, tmp_path / "again")
    assert [(one.partition, one.offset) for one in open_archive(tmp_path / "again")] == [(1, 2), (1, 3)]


def test_an_archive_made_from_the_middle_has_all_bodies(museum: Museum, tmp_path: Path) -> None:
    again = {"path": "/page/0", "visit": 1, "previous_digest": "aa"}
    museum.append([output(0, 0, b"the body", digest="aa"), output(2, 0, b"the body", digest="aa", **again)])
    rearchive(museum.transport, museum.settings, {0: 1}, tmp_path / "again")
    assert [one.body for one in open_archive(tmp_path / "again")] == [b"the body"]


def test_an_archive_is_never_made_over_another(museum: Museum, archive: Path) -> None:
    with pytest.raises(UsageError, match="expected an empty folder"):
        rearchive(museum.transport, museum.settings, {0: 0}, archive)


def item(number: int, rule: str = "shop", **fields: object) -> Output:
    made = Item(
        url=f"http://example.com/{number}", rule=rule, fields=fields, lease="0-1", number=number, fetched_ms=1000
    )
    return Output("items", number % 2, b"example.com", encode(made))


def test_items_as_jsonl_and_as_tables_of_their_rules(museum: Museum, tmp_path: Path) -> None:
    museum.append(
        [
            item(0, name="Beetle", price=2.5, tags=["a", "b"], odd=1),
            item(1, name="Moth", price=3, tags=[], odd="one"),
            item(2, name=None, deep={"a": 1}),
            item(3, rule="../evil", x=1),
            Output("items", 0, b"example.com", b"no item"),
        ]
    )
    log = museum.transport
    assert write_jsonl(lambda: items_of(log), tmp_path / "items.jsonl") == 4
    lines = (tmp_path / "items.jsonl").read_bytes().splitlines()
    assert sorted(msgspec.json.decode(line).get("number", 0) for line in lines) == [0, 1, 2, 3]
    assert write_parquet(lambda: items_of(log), tmp_path / "items") == 4
    evil, shop = sorted(path.name for path in (tmp_path / "items").iterdir())
    assert shop == "shop.parquet"
    assert evil.startswith("___evil-"), "a rule's name from a record is no path"
    table = pandas.read_parquet(tmp_path / "items" / "shop.parquet")
    fields = {row.number: row.fields for row in table.itertuples()}
    assert (fields[0]["name"], fields[1]["price"], list(fields[0]["tags"])) == ("Beetle", 3.0, ["a", "b"])
    assert (fields[0]["odd"], fields[1]["odd"]) == ("1", '"one"'), "values of several types are JSON"
    assert fields[2]["deep"] == '{"a":1}'
    query = f"select max(fields.price) from '{tmp_path / 'items'}/shop.parquet'"
    assert duckdb.connect().execute(query).fetchall() == [(3.0,)]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["export", "archive", "--output", "nowhere/x.jsonl"],
            3,
            "expected a folder for x.jsonl, found none: nowhere; ",
        ),
        (["export", "archive", "--output", "folder"], 3, "expected a file, or none yet, found a folder: folder; "),
        (["export", "archive", "--as", "text", "--output", "file"], 3, "expected a folder, or none yet, found a file"),
        (
            ["export", "archive", "--as", "body", "--output", "file/x"],
            2,
            "expected a place that can be used, found file/x",
        ),
        (["items", "nowhere/x", "--folder", "log"], 3, "expected a folder for x, found none: nowhere; make it"),
        (["items", "folder", "--folder", "log"], 3, "expected a file, or none yet, found a folder: folder; "),
        (["items", "file", "--as", "parquet", "--folder", "log"], 3, "expected a folder, or none yet, found a file"),
        (["rearchive", "file", "--folder", "log"], 3, "expected a folder, or none yet, found a file: file; "),
        (["rearchive", "folder", "--folder", "log"], 3, "expected an empty folder, or none, found files in folder; "),
    ],
)
def test_a_place_that_cannot_be_meant_is_one_line_and_nothing_is_written(
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").touch()
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.glob("*"))
    assert cli.run([str(archive) if one == "archive" else one for one in arguments]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"gregor: {said}")
    assert told.err.count("\n") == 1
    assert sorted(tmp_path.glob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2], "int"), ([1, 2.5, None], "float"), ([True, 1], "json"), ([["a"], []], "list of text"), ([2**70], "json"),
     ([None], "none"), ([[1], [2.5]], "list of float"), ([[["a"]]], "json")],
)  # fmt: skip
def test_one_kind_holds_all_values_of_a_field(values: list[Any], expected: str) -> None:
    assert joined({kind_of(value) for value in values}) == expected


def test_items_and_archives_are_taken_from_the_folder_of_a_crawl(museum: Museum, archive: Path, tmp_path: Path) -> None:
    museum.append([item(0, name="Beetle")])
    museum.close()
    log = tmp_path / "log"
    code, printed = run(tmp_path, "items", tmp_path / "items.jsonl", "--folder", log)
    assert (code, printed) == (0, f"1 items in {tmp_path / 'items.jsonl'}\n")
    code, printed = run(tmp_path, "rearchive", tmp_path / "again", "--folder", log, "--from", "0:1", "--from", "1:2")
    assert code == 0, printed
    assert [(one.partition, one.offset) for one in open_archive(tmp_path / "again")] == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3)
    ]  # fmt: skip
    code, printed = run(tmp_path, "rearchive", tmp_path / "wrong", "--folder", log, "--from", "9:x")
    assert code == 3
    assert "expected OFFSET or PARTITION:OFFSET with a partition of 0 to 1, found '9:x'" in printed
    code, printed = run(tmp_path, "rearchive", tmp_path / "later", "--folder", log, "--since", "2999-01-01")
    assert code == 0, printed
    assert printed.startswith("0 pages")
