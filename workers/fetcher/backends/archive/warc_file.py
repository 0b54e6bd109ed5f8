"""Records of WARC files that anybody may have written: one gzip member a record, or not compressed at all.

What is not a record ends the reading of its file there, with ``Unreadable``: behind damage nobody knows where the next record begins.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct
from zlib_ng import zlib_ng

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a record that are read of it; the largest body that is ever kept is a twelfth of it."""
LONGEST_FIELDS: Final = 256 * 1024
_GZIP: Final = 31
_MAGIC: Final = b"\x1f\x8b"
_CHUNK: Final = 64 * 1024
_END: Final = b"\r\n\r\n"
_Broken: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # Its stub calls the class an instance.


class Unreadable(ValueError):
    """Not a record, where one should begin."""


class WarcRecord(Struct, frozen=True):
    """One record."""

    offset: int
    fields: dict[str, str]
    """Lower-case names."""
    block: bytes
    """Its content, as far as it was wanted."""


def records(path: Path, length: int) -> Iterator[WarcRecord]:
    """The fields of all records within the first ``length`` bytes, without their blocks."""
    with path.open("rb") as file:
        offset = 0
        while offset < length:
            record, used = _member(file, offset, 0) if _compressed(file, offset) else _plain(file, offset, 0)
            yield record
            offset += used


def record_at(path: Path, offset: int) -> WarcRecord:
    """One record with its block."""
    with path.open("rb") as file:
        read = _member if _compressed(file, offset) else _plain
        return read(file, offset, LARGEST)[0]


def _compressed(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(2) == _MAGIC


def _plain(file: BinaryIO, offset: int, wanted: int) -> tuple[WarcRecord, int]:
    file.seek(offset)
    head = b""
    while _END not in head and len(head) <= LONGEST_FIELDS and (more := file.read(_CHUNK)):
        head += more
    fields, begin, size = _fields(head)
    file.seek(offset + begin)
    block = file.read(min(size, wanted)) if wanted else b""
    return WarcRecord(offset, fields, block), begin + size + len(_END)


def _member(file: BinaryIO, offset: int, wanted: int) -> tuple[WarcRecord, int]:
    """A gzip member; when its block is wanted, it is left where it has enough."""
    file.seek(offset)
    inflate = zlib_ng.decompressobj(_GZIP)
    kept, total, used = bytearray(), 0, 0
    enough = LONGEST_FIELDS + wanted
    while not inflate.eof:
        chunk = file.read(_CHUNK)
        if not chunk:
            raise Unreadable(f"the file ends within the record at {offset}")
        try:
            made = inflate.decompress(chunk)
        except _Broken as error:
            raise Unreadable(f"at {offset}: {error}") from error
        total += len(made)
        used += len(chunk)
        if len(kept) < enough:
            kept += made
        elif wanted:
            break
    else:
        used -= len(inflate.unused_data)
    fields, begin, size = _fields(bytes(kept[:LONGEST_FIELDS]))
    if not wanted and total > begin + size + 2 * len(_END):
        raise Unreadable(f"several records in one gzip member at {offset}; `warcio recompress` makes one of each")
    return WarcRecord(offset, fields, bytes(kept[begin : begin + min(size, wanted)]) if wanted else b""), used


def _fields(data: bytes) -> tuple[dict[str, str], int, int]:
    """The fields, where the block begins and how long it is."""
    end = data.find(_END)
    lines = data[: max(end, 0)].decode("utf-8", "replace").split("\r\n")
    if end < 0 or not lines[0].startswith("WARC/"):
        raise Unreadable(f"expected a WARC record, found {data[:40]!r}")
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields.setdefault(name.strip().lower(), value.strip())
    size = fields.get("content-length", "")
    if not (size.isascii() and size.isdigit() and len(size) < 16):
        raise Unreadable(f"expected a Content-Length, found {size[:40]!r}")
    return fields, end + len(_END), int(size)
