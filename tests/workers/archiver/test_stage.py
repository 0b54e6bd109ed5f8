"""The archiver on a log: committed lengths, files cut to them, and nothing twice or torn whatever happens in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.errors import CorruptState, ForeignState, StateError
from gregor.outputs.archive.reader import open_archive
from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Assignment, Output, Position
from schemas.archive import ArchiveFile, decode_archive_file
from schemas.codec import encode
from schemas.dead_letters import decode_dead_letter
from tests.workers.archiver.pages import Museum, body, config, facts, output, record
from workers.archiver.manifest import read_manifests
from workers.archiver.stage import ArchiverStage
from workers.archiver.warc_writer import Note

SMALL = config(max_file_bytes=4000)


@pytest.fixture
def museum(tmp_path: Path) -> Iterator[Museum]:
    made = Museum(tmp_path, SMALL)
    yield made
    made.close()


def archived(museum: Museum) -> list[tuple[str, str]]:
    return sorted((page.url, page.facts.lease) for page in open_archive(museum.folder))


def expected(count: int) -> list[tuple[str, str]]:
    return sorted((facts(number).url, facts(number).lease) for number in range(count))


def in_topic(museum: Museum) -> dict[str, ArchiveFile]:
    """What ``archive`` says, the last record of each file."""
    records = (decode_archive_file(one.value) for one in museum.transport.read("archive", 0, 0))
    return {one.file: one for one in records}


def files(museum: Museum) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(museum.folder.glob("*.warc.gz"))}


def test_every_page_is_archived_once_and_topic_and_list_agree(museum: Museum) -> None:
    museum.append([output(number) for number in range(50)])
    museum.archive_all()
    assert archived(museum) == expected(50)
    assert in_topic(museum) == read_manifests(museum.folder)
    assert {name: one.length for name, one in in_topic(museum).items()} == {
        name: len(data) for name, data in files(museum).items()
    }


def test_a_record_that_is_no_page_becomes_a_dead_letter_and_the_rest_goes_on(museum: Museum) -> None:
    museum.append([output(0), Output("pages", 0, b"x", b"y", b"no facts"), output(1), output(2)])
    museum.archive_all()
    assert archived(museum) == expected(3)
    (letter,) = museum.transport.read("dead-letters", 0, 0)
    assert decode_dead_letter(letter.header).stage == "archiver"


def test_bytes_behind_the_committed_length_do_not_exist_for_readers(museum: Museum) -> None:
    museum.append([output(number) for number in range(10)])
    museum.archive_all()
    for path in museum.folder.glob("*.warc.gz"):
        with path.open("ab") as file:
            file.write(b"\x1f\x8b half a record")
    (museum.folder / "museum-00000-0000000000000000099-archiver-0.warc.gz").write_bytes(b"never committed")
    assert archived(museum) == expected(10)


def test_a_restart_cuts_what_was_not_committed_and_goes_on_in_the_same_file(museum: Museum) -> None:
    museum.append([output(number) for number in range(10)])
    museum.archive_all()
    before = files(museum)
    open_one = next(one for one in in_topic(museum).values() if not one.closed)
    with (museum.folder / open_one.file).open("ab") as file:
        file.write(b"a tail")
    museum.restart()
    museum.append([output(number) for number in range(10, 14)])
    museum.archive_all()
    assert archived(museum) == expected(14)
    after = files(museum)
    assert after[open_one.file].startswith(before[open_one.file])
    assert b"a tail" not in after[open_one.file]


def assigned(stage: ArchiverStage, offset: int = 0, note: Note | None = None) -> None:
    metadata = encode(note).decode() if note is not None else ""
    positions = {"pages": Position(offset, metadata)}
    stage.assigned(0, Assignment(positions=positions, ends={"pages": offset}, state=None))


def add(stage: ArchiverStage, *numbers: int) -> None:
    stage.process([Received(record(number, facts(number), body(number)), facts(number)) for number in numbers], 0)


def test_what_was_written_but_not_committed_is_rewritten_byte_by_byte(tmp_path: Path) -> None:
    def written() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.glob("*.warc.gz")}

    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, *range(40))
    stage.prepare()
    before = written()
    assert len(before) > 2
    # Killed here; the next life meets the pages in other batches.
    stage.close()
    again = ArchiverStage(SMALL, tmp_path, "m")
    assigned(again)
    for start in range(0, 40, 7):
        add(again, *range(start, min(40, start + 7)))
    again.prepare()
    assert written() == before


def hear(stage: ArchiverStage, *files: ArchiveFile) -> None:
    stage.on_broadcast([Received(record(0, facts(0), b""), one) for one in files])


def test_after_an_unknown_outcome_nothing_is_cut_until_the_log_has_told(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0, 1)
    (written,) = [decode_archive_file(one.value) for one in stage.prepare()]
    stage.dropped()
    stage.revoked(frozenset((0,)))
    assert (tmp_path / written.file).stat().st_size == written.length
    # It was committed after all, and the partition comes back with it.
    assigned(stage, 2, Note(0, written))
    add(stage, 2)
    stage.prepare()
    stage.committed()
    assert [page.facts.lease for page in open_archive(tmp_path)] == ["0-0", "0-1", "0-2"]


def other(first: int, last: int) -> ArchiveFile:
    return ArchiveFile(file=f"museum-00000-{first:019}-other.warc.gz", length=9, partition=0, first=first, last=last)


@pytest.mark.parametrize("heard_while_it_was_filled", [True, False])
def test_a_lost_file_is_cut_when_another_member_has_gone_on_behind_it(
    tmp_path: Path, heard_while_it_was_filled: bool
) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0, 1)
    (one,) = [decode_archive_file(output.value) for output in stage.prepare()]
    stage.committed()
    if heard_while_it_was_filled:
        hear(stage, one)
    add(stage, 2, 3)
    stage.prepare()
    stage.dropped()
    stage.revoked(frozenset((0,)))
    path = tmp_path / one.file
    if not heard_while_it_was_filled:
        hear(stage, one)
    assert path.stat().st_size > one.length, "somebody may yet go on with it"
    hear(stage, other(2, 9))
    assert path.stat().st_size == one.length
    assert read_manifests(tmp_path)[one.file].closed


def test_a_file_of_which_nothing_was_committed_goes_away_when_another_has_its_first_page(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0, 1)
    stage.prepare()
    (path,) = tmp_path.glob("*.warc.gz")
    # Also in its next life, which does not get the partition.
    stage.close()
    again = ArchiverStage(SMALL, tmp_path, "m")
    hear(again, other(0, 0))
    assert not path.exists()


@pytest.mark.parametrize("kept", [True, False], ids=["the partition stays", "the partition is lost"])
def test_a_file_whose_commit_failed_goes_away_when_another_has_its_pages_and_is_made_again_otherwise(
    tmp_path: Path, kept: bool
) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0, 1)
    (written,) = [decode_archive_file(one.value) for one in stage.prepare()]
    stage.dropped()
    path = tmp_path / written.file
    if kept:
        add(stage, 0, 1)
        stage.prepare()
        stage.committed()
        hear(stage, written)
        assert [page.facts.lease for page in open_archive(tmp_path)] == ["0-0", "0-1"]
    else:
        stage.revoked(frozenset((0,)))
        stage.dropped()
        assert path.exists(), "it may have been committed"
        hear(stage, other(0, 2))
        assert not path.exists()


def test_what_a_member_leaves_that_never_comes_back_is_tidied_and_listed_by_another(tmp_path: Path) -> None:
    gone = ArchiverStage(SMALL, tmp_path, "gone")
    assigned(gone)
    add(gone, 0, 1)
    (one,) = [decode_archive_file(output.value) for output in gone.prepare()]
    # That was committed, this was not; it is killed before its list says so, and its disk is lost.
    add(gone, 2, 3)
    gone.prepare()
    path = tmp_path / one.file
    heir = ArchiverStage(SMALL, tmp_path, "heir")
    hear(heir, one)
    assert path.stat().st_size > one.length, "it may yet live"
    assigned(heir, 2, Note(0, one))
    add(heir, 2, 3)
    (two,) = [decode_archive_file(output.value) for output in heir.prepare()]
    heir.committed()
    hear(heir, two)
    assert path.stat().st_size == one.length
    assert [page.facts.lease for page in open_archive(tmp_path)] == ["0-0", "0-1", "0-2", "0-3"]


def test_a_file_whose_member_never_wrote_to_this_folder_is_left_alone(tmp_path: Path) -> None:
    brought = tmp_path / "museum-00000-0000000000000000003-elsewhere.warc.gz"
    brought.write_bytes(b"by hand")
    stage = ArchiverStage(SMALL, tmp_path, "m")
    hear(stage, other(0, 9), other(10, 12))
    assert brought.read_bytes() == b"by hand"


def test_a_list_that_is_behind_the_log_is_made_good_from_the_topic(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0, 1)
    (one,) = [decode_archive_file(output.value) for output in stage.prepare()]
    # Killed between the commit and the list.
    stage.close()
    again = ArchiverStage(SMALL, tmp_path, "m")
    hear(again, one)
    assert [page.facts.lease for page in open_archive(tmp_path)] == ["0-0", "0-1"]


def test_a_file_that_is_shorter_than_what_is_committed_is_refused(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0)
    (one,) = [decode_archive_file(output.value) for output in stage.prepare()]
    (tmp_path / one.file).write_bytes(b"short")
    stage.close()
    with pytest.raises(CorruptState, match=f"expected {one.length} committed bytes, found 5"):
        assigned(ArchiverStage(SMALL, tmp_path, "m"), 1, Note(0, one))


def test_a_folder_with_an_earlier_life_of_the_crawl_is_refused_and_kept(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0)
    stage.prepare()
    stage.committed()
    (path,) = tmp_path.glob("*.warc.gz")
    before = path.read_bytes()
    # The log was deleted and begins at 0 again.
    stage.close()
    again = ArchiverStage(SMALL, tmp_path, "m")
    assigned(again)
    add(again, 0)
    with pytest.raises(ForeignState, match="earlier life"):
        again.prepare()
    assert path.read_bytes() == before


def test_commits_that_the_log_lost_with_its_machine_are_made_again(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path, "m")
    assigned(stage)
    add(stage, 0)
    (first,) = [decode_archive_file(output.value) for output in stage.prepare()]
    stage.committed()
    add(stage, *range(1, 40))
    stage.prepare()
    stage.committed()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.warc.gz")}
    # The embedded log is not synced with every commit: its last second is gone, and with it all but the first.
    stage.close()
    again = ArchiverStage(SMALL, tmp_path, "m")
    assigned(again, 1, Note(0, first))
    assert [page.facts.lease for page in open_archive(tmp_path)] == ["0-0"]
    add(again, *range(1, 40))
    again.prepare()
    again.committed()
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.warc.gz")} == before
    assert [page.facts.lease for page in open_archive(tmp_path)] == [f"0-{number}" for number in range(40)]


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match=r"expected to be able to write .*; mend that, or set archive\.folder"):
        ArchiverStage(SMALL, tmp_path / "file" / "archive", "m")


def test_a_folder_that_was_moved_away_makes_the_archiver_begin_a_new_file(tmp_path: Path) -> None:
    stage = ArchiverStage(SMALL, tmp_path / "old", "m")
    assigned(stage)
    add(stage, 0)
    (one,) = [decode_archive_file(output.value) for output in stage.prepare()]
    new = ArchiverStage(SMALL, tmp_path / "new", "m")
    assigned(new, 1, Note(0, one))
    add(new, 1)
    new.prepare()
    new.committed()
    assert [page.facts.lease for page in open_archive(tmp_path / "new")] == ["0-1"]
