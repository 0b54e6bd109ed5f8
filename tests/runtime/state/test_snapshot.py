"""Pieces of the rolling snapshot, one after the other, are the whole state: every key once, no group torn apart."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gregor.runtime.state.packed import Piece, pack_piece
from gregor.runtime.state.snapshot import PIECE_BYTES, SnapshotCursor, next_pieces
from schemas.codec import LARGEST_RECORD
from tests.runtime.state.stores import FAMILIES, Dictionary

states = st.fixed_dictionaries(
    {family: st.dictionaries(st.binary(max_size=4), st.binary(max_size=30), max_size=12) for family in FAMILIES}
)


def cycle(state: Dictionary, budgets: list[int], whole: dict[str, int]) -> list[Piece]:
    cursor, number = SnapshotCursor(), 0
    pieces: list[Piece] = []
    while True:
        taken = next_pieces(state, FAMILIES, cursor, budgets[number % len(budgets)], whole)
        pieces += taken.pieces
        if taken.finished:
            assert taken.cursor == SnapshotCursor()
            return pieces
        assert taken.cursor != cursor, "every budget gets the cursor on"
        cursor, number = taken.cursor, number + 1


@settings(deadline=None)
@given(found=states, budgets=st.lists(st.integers(1, 200), min_size=1), group=st.integers(0, 3))
def test_a_cycle_holds_every_entry_once_and_covers_every_possible_key(
    found: dict[str, dict[bytes, bytes]], budgets: list[int], group: int
) -> None:
    state = Dictionary()
    state.families = found
    pieces = cycle(state, budgets, {"seen": group})
    for number, family in enumerate(FAMILIES):
        own = [piece for piece in pieces if piece.family == number]
        assert [entry for piece in own for entry in piece.entries] == list(state.scan(family))
        assert own[0].start == b""
        assert own[-1].end is None
        assert [piece.end for piece in own[:-1]] == [piece.start for piece in own[1:]]
        for piece in own:
            assert all(piece.start <= key and (piece.end is None or key < piece.end) for key, _ in piece.entries)


@settings(deadline=None)
@given(
    found=states,
    budgets=st.lists(st.integers(1, 100), min_size=1),
    group=st.integers(1, 3),
    later=st.binary(max_size=4),
)
def test_a_key_added_later_falls_on_the_same_side_of_a_cut_as_its_group(
    found: dict[str, dict[bytes, bytes]], budgets: list[int], group: int, later: bytes
) -> None:
    state = Dictionary()
    state.families = found
    cuts = [
        piece.end for piece in cycle(state, budgets, {"seen": group}) if piece.family == 0 and piece.end is not None
    ]
    for key in found["seen"]:
        if key[:group] == later[:group]:
            assert all((key < cut) == (later < cut) for cut in cuts)


def test_a_budget_of_nothing_gives_nothing() -> None:
    taken = next_pieces(Dictionary(), FAMILIES, SnapshotCursor(1, b"k"), 0)
    assert (taken.pieces, taken.cursor, taken.finished) == ((), SnapshotCursor(1, b"k"), False)


def test_an_empty_state_is_a_cycle_of_one_empty_piece_a_family() -> None:
    taken = next_pieces(Dictionary(), FAMILIES, SnapshotCursor(), 1)
    assert taken.pieces == tuple(Piece(number, b"", None, ()) for number in range(len(FAMILIES)))
    assert taken.finished


def test_a_great_budget_is_cut_into_pieces_that_fit_into_records() -> None:
    state = Dictionary()
    for number in range(40):
        state.put("queue", bytes([number]), bytes(PIECE_BYTES // 8))
    taken = next_pieces(state, FAMILIES, SnapshotCursor(), 1 << 40)
    assert taken.finished
    assert len(taken.pieces) > 5
    assert all(len(pack_piece(piece)) < LARGEST_RECORD for piece in taken.pieces)
