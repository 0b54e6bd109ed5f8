"""Indexes: every row points at its record, parts are made once, and other programs load them."""

import gzip
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import duckdb
import msgspec
import pandas
import pytest
from warcio.archiveiterator import ArchiveIterator

from gregor.outputs.archive.index import MERGED, TABLES, build_index
from gregor.outputs.archive.page import RecordPlace
from gregor.outputs.archive.reader import open_archive
from gregor.outputs.archive.runs import SortedRuns
from gregor.outputs.archive.sort_key import sort_key
from tests.workers.archiver.pages import Museum, config, output

COUNT = 40


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Museum]:
    made = Museum(tmp_path, config(max_file_bytes=6000))
    made.append([output(number) for number in range(COUNT)])
    made.archive_all()
    yield made
    made.close()


def lines(folder: Path) -> list[tuple[str, str, dict[str, str]]]:
    split = [line.split(" ", 2) for line in (folder / MERGED).read_text().splitlines()]
    return [(key, stamp, msgspec.json.decode(row)) for key, stamp, row in split]


def test_every_line_of_cdxj_points_at_its_record(museum: Museum) -> None:
    assert build_index(open_archive(museum.folder)).pages == COUNT
    found = lines(museum.folder)
    assert len(found) == COUNT
    for key, stamp, row in found:
        data = (museum.folder / row["filename"]).read_bytes()
        part = data[int(row["offset"]) : int(row["offset"]) + int(row["length"])]
        (record,) = ArchiveIterator(BytesIO(part))
        assert record.rec_headers["WARC-Target-URI"] == row["url"]
        assert record.rec_headers["WARC-Payload-Digest"] == f"sha1:{row['digest']}"
        assert record.http_headers.get_statuscode() == row["status"]
        assert key == sort_key(row["url"])
        assert record.rec_headers["WARC-Date"].startswith(f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[8:10]}:")
        assert gzip.decompress(part).endswith(b"\r\n\r\n")


def test_the_merged_index_is_sorted_as_bytes_are(museum: Museum) -> None:
    build_index(open_archive(museum.folder))
    written = (museum.folder / MERGED).read_bytes().splitlines()
    assert written == sorted(written)


def test_lines_that_are_sorted_in_pieces_come_out_in_order_and_leave_nothing_behind(tmp_path: Path) -> None:
    wanted = sorted(b"com,example)/%d 2026 {}\n" % (number * 7919 % 1000) for number in range(1000))
    with SortedRuns(tmp_path / "part.cdxj", run_bytes=1000) as runs:
        for number in range(1000):
            runs.add(b"com,example)/%d 2026 {}\n" % number)
        assert list(runs.merged()) == wanted
    assert list(tmp_path.iterdir()) == []


def test_every_row_of_parquet_points_at_its_record(museum: Museum) -> None:
    build_index(open_archive(museum.folder))
    archive = open_archive(museum.folder)
    table = pandas.read_parquet(museum.folder / TABLES)
    assert len(table) == COUNT
    for row in table.itertuples():
        page = archive.page_at(RecordPlace(row.file, row.offset, row.length))
        assert (page.url, page.facts.server, page.status) == (row.url, row.server, row.status)
        assert (page.sha1, page.facts.depth, page.facts.lease) == (row.digest, row.depth, row.lease)
        assert page.fetched_ms == row.fetched.timestamp() * 1000
        number = page.facts.lease.removeprefix("0-")
        assert (row.type, row.charset, row.language, row.title) == ("text/html", "utf-8", "en", f"Page {number}")


def test_duckdb_counts_what_the_archive_has(museum: Museum) -> None:
    build_index(open_archive(museum.folder))
    query = f"select depth, count(*) from '{museum.folder / TABLES}/*.parquet' group by 1 order by 1"
    assert duckdb.connect().execute(query).fetchall() == [(1, 14), (2, 13), (3, 13)]


def test_only_files_that_have_grown_are_read_again(museum: Museum) -> None:
    first = build_index(open_archive(museum.folder))
    assert first.made == first.files > 2
    assert build_index(open_archive(museum.folder)).made == 0
    museum.append([output(number) for number in range(COUNT, COUNT + 2)])
    museum.archive_all()
    again = build_index(open_archive(museum.folder))
    assert again.pages == COUNT + 2
    assert again.made == 2
    assert len(lines(museum.folder)) == len(pandas.read_parquet(museum.folder / TABLES)) == COUNT + 2


def test_parts_of_files_that_are_gone_go_away(museum: Museum) -> None:
    build_index(open_archive(museum.folder))
    stray = museum.folder / TABLES / "museum-00000-0000000000000000777-archiver-0.parquet"
    stray.write_bytes(b"of a file that was cut away")
    build_index(open_archive(museum.folder))
    assert not stray.exists()


def test_bytes_behind_the_committed_length_are_in_no_index(museum: Museum) -> None:
    for path in museum.folder.glob("*.warc.gz"):
        path.write_bytes(path.read_bytes() * 2)
    assert build_index(open_archive(museum.folder)).pages == COUNT


def test_cdxj_alone_makes_no_parquet_and_parquet_is_made_later(museum: Museum) -> None:
    build_index(open_archive(museum.folder), parquet=False)
    assert not list((museum.folder / TABLES).iterdir())
    assert build_index(open_archive(museum.folder)).made > 0
    assert len(pandas.read_parquet(museum.folder / TABLES)) == COUNT
