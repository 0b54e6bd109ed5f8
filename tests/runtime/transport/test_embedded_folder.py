"""A folder is opened as what it is, or refused in one line that says how to go on; never taken for an empty one."""

import json
import os
import shutil
from pathlib import Path
from zlib import crc32

import pytest
from msgspec.structs import replace

from gregor.errors import CorruptState, FolderInUse, ForeignState, StateError
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.port import Output
from tests.runtime.transport.embedded_child import child
from tests.runtime.transport.embedded_folder import SETTINGS, SMALL, opened
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.member import EXTRACTOR, FRONTIER, STAGES, Member, seen, values


def filled(folder: Path, records: int = 50) -> None:
    """A process that wrote, one batch a record, and died without closing."""
    child("fill", folder, records)


def refusal(folder: Path, kind: type[StateError], **other: object) -> str:
    with pytest.raises(kind) as caught, opened(folder, replace(SETTINGS, **other)):
        pass
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.remedy
    return message


def newest_log(folder: Path) -> Path:
    return max((folder / "db").glob("*.log"), key=lambda path: path.stat().st_size)


def test_a_folder_opens_again_for_the_crawl_it_was_made_for(tmp_path: Path) -> None:
    filled(tmp_path / "crawl")
    with opened(tmp_path / "crawl") as transport:
        assert values(transport, "discovered").total() == 50


def test_a_folder_of_another_crawl_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    assert "crawl 'test', expected 'other'" in refusal(tmp_path, ForeignState, crawl="other")


def test_another_partition_count_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    assert "partitions 2, expected 4" in refusal(tmp_path, ForeignState, partitions=4)


def test_another_format_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    label = tmp_path / "folder.json"
    label.write_bytes(label.read_bytes().replace(b'"format":1', b'"format":2'))
    assert "format 2, expected 1" in refusal(tmp_path, ForeignState)


def test_a_database_under_another_label_is_refused(tmp_path: Path) -> None:
    filled(tmp_path)
    label = tmp_path / "folder.json"
    label.write_bytes(label.read_bytes().replace(b'"test"', b'"twin"'))
    assert "crawl 'test', expected 'twin'" in refusal(tmp_path, ForeignState, crawl="twin")


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    refusal(tmp_path, ForeignState)
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_folder_whose_making_was_interrupted_is_finished(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    (tmp_path / "folder.json").unlink()
    with opened(tmp_path):
        pass
    assert (tmp_path / "folder.json").exists()


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path):
        said = child("open", tmp_path)
    assert said.startswith("refused:")
    assert said.count("\n") == 1
    assert "is held by another process" in said


def test_a_second_transport_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(FolderInUse), opened(tmp_path):
        pass


def test_a_folder_without_its_database_is_corrupt_not_empty(tmp_path: Path) -> None:
    filled(tmp_path)
    shutil.rmtree(tmp_path / "db")
    assert "its database is gone" in refusal(tmp_path, CorruptState)
    assert not (tmp_path / "db").exists()


def test_a_database_that_was_emptied_is_corrupt_not_empty(tmp_path: Path) -> None:
    filled(tmp_path / "one")
    shutil.rmtree(tmp_path / "one" / "db")
    Store(tmp_path / "one" / "db", (), SharedMemory(SMALL)).close()
    assert "does not know of it" in refusal(tmp_path / "one", CorruptState)


@pytest.mark.parametrize("part", ["CURRENT", "MANIFEST"])
def test_a_garbled_database_is_corrupt(tmp_path: Path, part: str) -> None:
    filled(tmp_path)
    for path in (tmp_path / "db").glob(f"{part}*"):
        path.write_bytes(b"\xa5" * path.stat().st_size)
    refusal(tmp_path, CorruptState)


def test_a_folder_of_before_placements_is_placed_by_hash_and_refused_to_sites(tmp_path: Path) -> None:
    filled(tmp_path)
    label = tmp_path / "folder.json"
    named = json.loads(label.read_bytes())
    assert named.pop("placement") == "hash"
    label.write_text(json.dumps(named))
    with opened(tmp_path):
        pass
    told = refusal(tmp_path, ForeignState, placement="sites")
    assert "was made with partitions.placement 'hash', expected 'sites'; set partitions.placement = \"hash\"" in told


def test_a_garbled_label_is_corrupt(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "folder.json").write_bytes(b"\x00")
    refusal(tmp_path, CorruptState)


def test_a_write_ahead_log_broken_in_its_middle_is_corrupt(tmp_path: Path) -> None:
    filled(tmp_path)
    log = newest_log(tmp_path)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    assert "lost committed records" in refusal(tmp_path, CorruptState)


def test_a_write_ahead_log_that_is_gone_is_corrupt(tmp_path: Path) -> None:
    filled(tmp_path)
    newest_log(tmp_path).unlink()
    refusal(tmp_path, CorruptState)


def test_what_the_death_of_the_machine_undid_is_not_held_against_the_folder(tmp_path: Path) -> None:
    filled(tmp_path)
    log = newest_log(tmp_path)
    log.write_bytes(log.read_bytes()[:-700])
    witness = tmp_path / "witness"
    witness_of_another_boot(witness)
    with opened(tmp_path) as transport:
        assert 0 < values(transport, "discovered").total() < 50


def witness_of_another_boot(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[:36] = b"00000000-0000-0000-0000-000000000000"
    data[-4:] = crc32(bytes(data[:-4])).to_bytes(4, "little")
    path.write_bytes(data)


def test_state_of_a_stage_that_does_not_run_today_is_kept(tmp_path: Path) -> None:
    harness = EmbeddedHarness(tmp_path)
    member = Member(harness, FRONTIER)
    member.step()
    member.commit((), {0: [seen(1)]}, {0: {"admitted": 3}})
    harness.close()
    settings = replace(SETTINGS, crawl="contract", partitions=4)
    with opened(tmp_path, settings, stages=(EXTRACTOR,)) as transport:
        transport.append([Output("pages", 0, b"k", b"v")])
    with opened(tmp_path, settings, stages=STAGES) as transport:
        checkpoint = transport.last_checkpoint("frontier", 0)
        assert checkpoint is not None
        assert checkpoint.counters == {"admitted": 3}
        assert checkpoint.member == "frontier-0"


def test_a_file_in_the_folders_place_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    assert "found a file" in refusal(tmp_path / "state", ForeignState)
    assert (tmp_path / "state").read_text() == "mine"
