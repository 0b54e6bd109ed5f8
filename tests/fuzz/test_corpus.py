"""What the fuzzer began with and what it found, read once more by every reader, without the fuzzer."""

from pathlib import Path

import pytest

from tests.fuzz.readers import READERS, repeated

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(file for file in CORPUS.rglob("*") if file.is_file())
TO_SIZE = 16 * 1024


@pytest.mark.parametrize("file", KEPT, ids=lambda file: str(file.relative_to(CORPUS)))
def test_every_reader_answers_what_is_kept(file: Path) -> None:
    data = file.read_bytes()
    for number, read in enumerate(READERS.values()):
        read(data)
        repeated(bytes([number]) + data, TO_SIZE)


def test_each_reader_has_something_to_begin_with_and_all_of_it_is_small() -> None:
    assert {file.parent.name for file in KEPT} == READERS.keys()
    assert max(file.stat().st_size for file in KEPT) <= 4096
