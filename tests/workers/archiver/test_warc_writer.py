"""Which page goes to which file: decided by the note and the pages alone."""

import pytest
from msgspec.structs import replace

from schemas.codec import encode
from tests.workers.archiver.pages import NOON_MS, body, config, facts, record
from workers.archiver.stage import warc_info_of
from workers.archiver.warc_writer import HOUR_MS, Note, WarcWriter, decode_note


def writer(note: Note | None = None, member: str = "a", **archive: object) -> WarcWriter:
    return WarcWriter(0, note or Note(0), warc_info_of(config(**archive), member))


def fill(one: WarcWriter, numbers: range, every_ms: int = 0) -> None:
    for number in numbers:
        made = facts(number)
        one.add(record(number, made, body(number), time_ms=NOON_MS + number * every_ms), made)


def contents(one: WarcWriter) -> dict[str, bytes]:
    return {write.file.file: b"".join(write.parts) for write in one.writes}


def test_a_file_is_named_by_crawl_partition_first_page_and_member() -> None:
    one = writer()
    fill(one, range(7, 9))
    assert list(contents(one)) == ["museum-00000-0000000000000000007-a.warc.gz"]


def test_a_file_that_is_large_enough_is_closed_and_another_begun() -> None:
    one = writer(max_file_bytes=3000)
    fill(one, range(30))
    files = [write.file for write in one.writes]
    assert len(files) > 3
    assert [file.closed for file in files] == [True] * (len(files) - 1) + [False]
    assert all(file.length >= 3000 for file in files[:-1])
    assert [file.first for file in files[1:]] == [file.last + 1 for file in files[:-1]]


def test_a_file_that_is_old_enough_is_closed_by_the_next_page_or_by_the_clock() -> None:
    one = writer(max_file_hours=1)
    fill(one, range(8), every_ms=HOUR_MS // 4)
    assert [(write.file.first, write.file.last) for write in one.writes] == [(0, 3), (4, 7)]
    assert one.close_old(NOON_MS + 2 * HOUR_MS - 1) is None
    due = one.next_due_ms()
    assert due == NOON_MS + 2 * HOUR_MS
    closed = one.close_old(due)
    assert closed is not None
    assert closed.closed
    assert one.next_due_ms() is None
    fill(one, range(8, 9))
    assert one.writes[-1].file.first == 8


@pytest.mark.parametrize("cut", range(0, 30, 5))
def test_after_a_crash_at_any_page_the_files_become_the_same_bytes(cut: int) -> None:
    whole = writer(max_file_bytes=3000)
    fill(whole, range(30))
    before = writer(max_file_bytes=3000)
    fill(before, range(cut))
    on_disk = contents(before)
    note = decode_note(encode(before.note))
    before.committed()
    after = writer(note, max_file_bytes=3000)
    fill(after, range(cut, 30))
    for name, data in contents(after).items():
        on_disk[name] = on_disk.get(name, b"") + data
    assert on_disk == contents(whole)


def test_what_was_dropped_is_written_again_as_if_it_had_never_been() -> None:
    one = writer(max_file_bytes=3000)
    fill(one, range(10))
    one.committed()
    fill(one, range(10, 25))
    first, note = contents(one), one.note
    one.dropped()
    assert one.writes == []
    fill(one, range(10, 25))
    assert (contents(one), one.note) == (first, note)


def test_a_file_of_another_member_is_left_alone_and_its_note_kept_until_there_is_a_page() -> None:
    other = writer(member="b")
    fill(other, range(3))
    one = writer(other.note, member="a")
    assert one.current is None
    assert one.note == other.note
    fill(one, range(3, 4))
    assert list(contents(one)) == ["museum-00000-0000000000000000003-a.warc.gz"]
    again = writer(one.note, member="b")
    fill(again, range(4, 5))
    assert list(contents(again)) == ["museum-00000-0000000000000000004-b.warc.gz"]


def test_a_body_is_left_out_only_where_the_archive_has_all_earlier_pages() -> None:
    same = facts(5, visit=1, digest="aa", previous_digest="aa")
    sizes = {}
    for since in (0, 1):
        one = writer(Note(since))
        sizes[since] = one.add(record(5, same, body(5) * 20), same)
    assert sizes[0] < sizes[1]
    for whole in (
        replace(same, previous_digest="bb"),
        replace(same, truncated="length"),
        replace(same, digest="", previous_digest=""),
        replace(same, visit=0),
    ):
        one = writer(Note(0))
        assert one.add(record(5, whole, body(5) * 20), whole) > sizes[0] + 100
