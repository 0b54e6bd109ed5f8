"""Packed changes of a partition's state, as they stand in the changelog.

A delta, one for each server touched in a checkpoint: the byte ``D``, then operations one after the other:

    | op 1 | family 1 | key length 2 | value length 4 | key | value |      op 0 put, 1 delete (value length 0)

A piece of the rolling snapshot, which replaces everything in [lo, hi) of one family: the byte ``S``, then

    | family 1 | lo length 2 | hi length 2 | open 1 | lo | hi |            open 1: up to the last key, hi length 0
    | key length 2 | value length 4 | key | value |  ...

Lengths are little-endian; a family is its number in the stage's StateSpec.
"""

from collections.abc import Iterator, Sequence
from struct import Struct as Layout
from struct import error as LayoutError
from typing import Final

from msgspec import Struct

from gregor.runtime.state.store import StateWriter
from schemas.codec import Undecodable

_OPERATION: Final = Layout("<BBHI")
_PIECE: Final = Layout("<BHHB")
_ENTRY: Final = Layout("<HI")
_PUT: Final = 0
_DELETE: Final = 1


class Mutation(Struct, frozen=True, gc=False):
    """One packed change of a partition's state, belonging to one server."""

    key: bytes
    """The server; any text will do."""
    delta: bytes
    """Begins with the byte D."""


Operation = tuple[int, bytes, bytes | None]
"""Number of the family, key, and the new value or None for a delete."""


def pack_delta(operations: Sequence[Operation]) -> bytes:
    parts = [b"D"]
    for family, key, value in operations:
        if value is None:
            parts += (_OPERATION.pack(_DELETE, family, len(key), 0), key)
        else:
            parts += (_OPERATION.pack(_PUT, family, len(key), len(value)), key, value)
    return b"".join(parts)


def unpack_delta(delta: bytes) -> Iterator[Operation]:
    if delta[:1] != b"D":
        raise Undecodable("not a delta: the first byte is not D")
    at, end = 1, len(delta)
    while at < end:
        try:
            op, family, key_length, value_length = _OPERATION.unpack_from(delta, at)
        except LayoutError as error:
            raise Undecodable(f"a delta ends within an operation at byte {at}") from error
        at += _OPERATION.size
        value_at = at + key_length
        after = value_at + value_length
        if after > end or op > _DELETE:
            raise Undecodable(f"a delta holds an impossible operation before byte {at}")
        yield family, delta[at:value_at], delta[value_at:after] if op == _PUT else None
        at = after


def apply_deltas(families: Sequence[str], deltas: Sequence[bytes], writer: StateWriter) -> None:
    """The apply function of a state whose deltas are plain puts and deletes."""
    for delta in deltas:
        for family, key, value in unpack_delta(delta):
            if family >= len(families):
                raise Undecodable(f"expected one of {len(families)} families, found number {family}")
            if value is None:
                writer.delete(families[family], key)
            else:
                writer.put(families[family], key, value)


class Piece(Struct, frozen=True):
    """Part of a rolling snapshot."""

    family: int
    start: bytes
    end: bytes | None
    entries: tuple[tuple[bytes, bytes], ...]


def pack_piece(piece: Piece) -> bytes:
    end = b"" if piece.end is None else piece.end
    parts = [b"S", _PIECE.pack(piece.family, len(piece.start), len(end), piece.end is None), piece.start, end]
    for key, value in piece.entries:
        parts += (_ENTRY.pack(len(key), len(value)), key, value)
    return b"".join(parts)


def unpack_piece(data: bytes) -> Piece:
    if data[:1] != b"S":
        raise Undecodable("not a snapshot piece: the first byte is not S")
    try:
        family, start_length, end_length, is_open = _PIECE.unpack_from(data, 1)
        at = 1 + _PIECE.size
        start = data[at : at + start_length]
        at += start_length
        end = None if is_open else data[at : at + end_length]
        at += end_length
        entries = []
        while at < len(data):
            key_length, value_length = _ENTRY.unpack_from(data, at)
            at += _ENTRY.size
            entries.append((data[at : at + key_length], data[at + key_length : at + key_length + value_length]))
            at += key_length + value_length
    except LayoutError as error:
        raise Undecodable("a snapshot piece ends within an entry") from error
    if at != len(data):
        raise Undecodable("a snapshot piece ends within its last value")
    if end is not None and end <= start:
        raise Undecodable("a snapshot piece ends before it begins")
    return Piece(family, start, end, tuple(entries))


def apply_piece(families: Sequence[str], piece: Piece, writer: StateWriter) -> None:
    family = families[piece.family]
    writer.delete_range(family, piece.start, piece.end)
    writer.put_all(family, piece.entries)


def kind_of(value: bytes | None) -> int:
    """The first byte of a changelog record; 0 for none."""
    return value[0] if value else 0
