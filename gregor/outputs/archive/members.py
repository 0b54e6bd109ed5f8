"""The records of a file one after the other, each with its place: gzip members, within the committed length and never beyond."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct
from zlib_ng import zlib_ng

from gregor.errors import CorruptState

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a record; the largest that gregor writes has 6 MiB of body."""
_GZIP: Final = 31
_Broken: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # Its stub calls the class an instance.
_CHUNK: Final = 256 * 1024
_BITE: Final = 16 * 1024


class WarcMember(Struct, frozen=True, gc=False):
    """One record as bytes, and where it stands in its file."""

    offset: int
    length: int
    data: bytes


def members(path: Path, length: int, start: int = 0) -> Iterator[WarcMember]:
    """Everything from ``start`` on within the first ``length`` bytes, which must be whole records."""
    with path.open("rb") as file:
        file.seek(start)
        buffer, at, offset, left = b"", 0, start, length - start
        while at < len(buffer) or left:
            inflate = zlib_ng.decompressobj(_GZIP)
            pieces: list[bytes] = []
            used = size = 0
            while not inflate.eof:
                if at == len(buffer):
                    buffer, at = file.read(min(_CHUNK, left)), 0
                    left -= len(buffer)
                    if not buffer:
                        raise _torn(path, offset, "the end of what is committed")
                bite = buffer[at : at + _BITE]
                try:
                    pieces.append(inflate.decompress(bite))
                except _Broken as error:
                    raise _torn(path, offset, str(error)) from error
                size += len(pieces[-1])
                if size > LARGEST:
                    raise _torn(path, offset, f"one of more than {LARGEST} bytes")
                taken = len(bite) - len(inflate.unused_data)
                at += taken
                used += taken
            yield WarcMember(offset, used, b"".join(pieces))
            offset += used


def _torn(path: Path, offset: int, found: str) -> CorruptState:
    return CorruptState(
        f"{path}: expected a whole record at {offset}, found {found}",
        remedy="restore the file, or archive the pages again with `gregor rearchive`",
    )
