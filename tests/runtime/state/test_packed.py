"""Deltas and snapshot pieces come back as they were packed, and any bytes are one of them or Undecodable."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gregor.runtime.state.packed import (
    Operation,
    Piece,
    apply_deltas,
    apply_piece,
    kind_of,
    pack_delta,
    pack_piece,
    unpack_delta,
    unpack_piece,
)
from schemas.codec import Undecodable
from tests.runtime.state.stores import FAMILIES, Dictionary

keys = st.binary(max_size=20)
values = st.binary(max_size=50)
operations = st.lists(st.tuples(st.integers(0, 255), keys, st.none() | values))
pieces = st.builds(
    Piece, st.integers(0, 255), keys, st.none() | keys, st.lists(st.tuples(keys, values)).map(tuple)
).filter(lambda piece: piece.end is None or piece.start < piece.end)


@settings(deadline=None)
@given(operations)
def test_a_delta_comes_back_as_it_was_packed(operations: list[Operation]) -> None:
    packed = pack_delta(operations)
    assert list(unpack_delta(packed)) == operations
    assert kind_of(packed) == ord("D")


@settings(deadline=None)
@given(pieces)
def test_a_piece_comes_back_as_it_was_packed(piece: Piece) -> None:
    packed = pack_piece(piece)
    assert unpack_piece(packed) == piece
    assert kind_of(packed) == ord("S")


@settings(deadline=None)
@given(operations, pieces, st.data())
def test_a_packed_record_that_was_cut_short_is_undecodable_or_shorter(
    operations: list[Operation], piece: Piece, data: st.DataObject
) -> None:
    delta, packed = pack_delta(operations), pack_piece(piece)
    try:
        found = list(unpack_delta(delta[: data.draw(st.integers(0, len(delta)))]))
    except Undecodable:
        found = []
    assert found == operations[: len(found)]
    try:
        entries = unpack_piece(packed[: data.draw(st.integers(0, len(packed)))]).entries
    except Undecodable:
        entries = ()
    assert entries == piece.entries[: len(entries)]


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_unpacked_or_undecodable(noise: bytes) -> None:
    for value in (noise, b"D" + noise, b"S" + noise):
        with suppress(Undecodable):
            list(unpack_delta(value))
        with suppress(Undecodable):
            unpack_piece(value)


def test_largest_keys_are_packed() -> None:
    key = bytes(65535)
    assert list(unpack_delta(pack_delta([(0, key, b"v")]))) == [(0, key, b"v")]


def test_a_delta_of_an_unknown_family_is_undecodable() -> None:
    with pytest.raises(Undecodable, match="expected one of 3 families, found number 3"):
        apply_deltas(FAMILIES, [pack_delta([(3, b"k", b"v")])], Dictionary())


def test_a_piece_that_ends_before_it_begins_is_undecodable() -> None:
    with pytest.raises(Undecodable, match="ends before it begins"):
        unpack_piece(pack_piece(Piece(0, b"b", b"a", ())))


def test_a_piece_replaces_its_range_and_nothing_else() -> None:
    state = Dictionary()
    for key in (b"a", b"b", b"c", b"d"):
        state.put("queue", key, b"old")
    apply_piece(FAMILIES, Piece(1, b"b", b"d", ((b"c", b"new"),)), state)
    assert state.families["queue"] == {b"a": b"old", b"c": b"new", b"d": b"old"}


def test_no_value_has_no_kind() -> None:
    assert (kind_of(None), kind_of(b"")) == (0, 0)
