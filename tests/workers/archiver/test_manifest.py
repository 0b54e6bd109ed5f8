"""A member's list of files: the last line of a file counts, and half a line never does."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.errors import FolderInUse
from schemas.archive import ArchiveFile
from workers.archiver.manifest import Manifest, read_manifest, read_manifests


def file(number: int, length: int) -> ArchiveFile:
    return ArchiveFile(
        file=f"museum-00000-{number:019}-m.warc.gz", length=length, partition=0, first=number, last=number
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=30), st.integers(0, 30))
def test_the_last_line_of_each_file_counts_whenever_the_member_died(
    tmp_path_factory: object, puts: list[tuple[int, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("list")  # type: ignore[attr-defined]
    manifest = Manifest(folder, "m")
    for number, length in puts[:cut]:
        assert manifest.put([file(number, length)])
    manifest.close()
    again = Manifest(folder, "m")
    for number, length in puts[cut:]:
        assert again.put([file(number, length)])
    again.close()
    expected = {one.file: one for one in (file(number, length) for number, length in puts)}
    assert read_manifests(folder) == again.files == expected


def test_half_a_line_is_written_over(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, "m")
    manifest.put([file(1, 10)])
    path = tmp_path / "files-m.jsonl"
    with path.open("ab") as out:
        out.write(b'{"file":"muse')
    assert read_manifest(path) == {file(1, 10).file: file(1, 10)}
    manifest.put([file(2, 20)])
    assert read_manifest(path).keys() == {file(1, 10).file, file(2, 20).file}


def test_a_long_list_is_made_short(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, "m")
    for length in range(12_000):
        manifest.put([file(1, length)])
    assert (tmp_path / "files-m.jsonl").stat().st_size < 1_100_000
    assert read_manifests(tmp_path) == {file(1, 0).file: file(1, 11_999)}


@pytest.mark.parametrize("lines", [1, 12_000], ids=["a new list", "a list that was made short meanwhile"])
def test_a_list_is_written_by_one_at_a_time(tmp_path: Path, lines: int) -> None:
    manifest = Manifest(tmp_path, "m")
    for length in range(lines):
        manifest.put([file(1, length)])
    with pytest.raises(FolderInUse, match=r"files-m\.jsonl is written by another process; .*archive\.folder"):
        Manifest(tmp_path, "m")
    Manifest(tmp_path, "another").close()
    manifest.put([file(2, 20)])
    manifest.close()
    assert Manifest(tmp_path, "m").files.keys() == {file(1, 0).file, file(2, 0).file}
