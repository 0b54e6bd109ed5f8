"""Lines of one URL in an archive's index, found by halving the sorted file: a few dozen reads however large it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from gregor.outputs.archive.cdxj import CdxjRow
from gregor.outputs.archive.sort_key import sort_key

_decode = msgspec.json.Decoder(CdxjRow).decode


def rows_of(path: Path, url: str) -> Iterator[tuple[str, CdxjRow]]:
    """Time (fourteen digits) and row of each line that is about the URL, the earliest first; a line that cannot be read is left out."""
    key = sort_key(url).encode() + b" "
    with path.open("rb") as file:
        file.seek(_first(file, key))
        for line in file:
            if not line.startswith(key):
                return
            stamp, _, text = line[len(key) :].partition(b" ")
            try:
                row = _decode(text)
            except msgspec.MsgspecError:
                continue
            if row.url == url:
                yield stamp.decode("ascii", "replace"), row


def _first(file: BinaryIO, key: bytes) -> int:
    """Where the first line stands that is not less than the key.

    Lines before ``low``, where one begins, are less; lines that begin at ``high`` or later are not.
    """
    low, high = 0, file.seek(0, 2)
    while low < high:
        middle = (low + high) // 2
        file.seek(max(low, middle - 1))
        if middle > low:
            # To the first line that begins at the middle or later.
            file.readline()
        if file.tell() < high and file.readline() < key:
            low = file.tell()
        else:
            high = middle
    return low
