"""Reading a folder without a broker: what is committed, in order, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.errors import CorruptState, UsageError
from gregor.outputs.archive.reader import open_archive
from tests.workers.archiver.pages import Museum, body, config, facts, output


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Museum]:
    made = Museum(tmp_path, config(max_file_bytes=6000))
    yield made
    made.close()


def test_a_folder_without_an_archive_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected an archive in .*, found no files-"):
        open_archive(tmp_path)


def test_the_folder_of_the_crawl_will_do(museum: Museum) -> None:
    museum.append([output(0)])
    museum.archive_all()
    assert open_archive(museum.folder.parent).folder == museum.folder


def test_pages_come_in_the_order_of_their_partitions_with_all_their_facts(museum: Museum) -> None:
    museum.append([output(number) for number in range(30)])
    museum.archive_all()
    pages = list(open_archive(museum.folder))
    assert [(page.partition, page.offset) for page in pages] == sorted((n % 2, n // 2) for n in range(30))
    for page in pages:
        number = int(page.facts.lease.removeprefix("0-"))
        assert page.facts == facts(number)
        assert page.body == body(number)
        assert page.fetched_ms == facts(number).fetched_ms


def test_a_page_is_found_by_its_place(museum: Museum) -> None:
    museum.append([output(number) for number in range(9)])
    museum.archive_all()
    archive = open_archive(museum.folder)
    for page in archive:
        found = archive.page_at(page.place)
        assert (found.url, found.body, found.place) == (page.url, page.body, page.place)


def test_an_archive_that_is_being_written_is_read_up_to_its_last_commit(museum: Museum) -> None:
    museum.append([output(number) for number in range(6)])
    museum.archive_all()
    archive = open_archive(museum.folder)
    museum.append([output(number) for number in range(6, 12)])
    museum.archive_all()
    assert len(list(archive)) == 6
    assert len(list(open_archive(museum.folder))) == 12


def test_a_list_whose_last_line_is_half_written_counts_without_it(museum: Museum) -> None:
    museum.append([output(number) for number in range(6)])
    museum.archive_all()
    (listed,) = museum.folder.glob("files-*.jsonl")
    with listed.open("ab") as file:
        file.write(b'{"file":"museum-0')
    assert len(list(open_archive(museum.folder))) == 6


def test_a_list_that_is_no_list_is_refused_with_its_line(museum: Museum) -> None:
    museum.append([output(0)])
    museum.archive_all()
    (listed,) = museum.folder.glob("files-*.jsonl")
    listed.write_bytes(listed.read_bytes() + b"nonsense\n")
    with pytest.raises(CorruptState, match=r"files-archiver-0\.jsonl:2: "):
        open_archive(museum.folder)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"\0" * len(data)], ids=["cut", "zeros"])
def test_damage_within_what_is_committed_is_told_with_its_place(museum: Museum, damage: object) -> None:
    museum.append([output(0)])
    museum.archive_all()
    (path,) = museum.folder.glob("*.warc.gz")
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(CorruptState, match="expected a whole record at"):
        list(open_archive(museum.folder))


def test_a_visit_without_news_has_the_body_of_the_one_before(museum: Museum) -> None:
    again = {"path": "/page/0", "visit": 1, "previous_digest": "aa"}
    museum.append(
        [
            output(0, 0, b"the body", digest="aa"),
            output(1, 0, b"the body", digest="aa", **again),
            output(2, 0, b"", digest="", status=304, **again),
            output(3, 0, b"other", digest="bb", **again),
            output(4, 0, b"", digest="", status=304, **(again | {"previous_digest": "cc"})),
        ]
    )
    museum.archive_all()
    archive = open_archive(museum.folder)
    assert [page.body for page in archive] == [b"the body", b"", b"", b"other", b""]
    assert [page.body for page in archive.whole_pages()] == [b"the body", b"the body", b"the body", b"other", b""]
    assert [page.revisit for page in archive] == [
        "",
        "identical-payload-digest",
        "server-not-modified",
        "",
        "server-not-modified",
    ]
