"""The rolling snapshot: every checkpoint logs a little of the state beside its deltas, until a cycle has logged all of it.

Then nothing before the cycle's beginning is needed to restore, and it is deleted: the log follows the size of the state, not its
history. The cursor is durable, so that a restart goes on within the cycle.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gregor.runtime.state.packed import Piece
from gregor.runtime.state.store import StateReader

PIECE_BYTES: Final = 1024 * 1024
"""A piece is ended after so many bytes, so that it fits into a record with room for one large entry or group."""


class SnapshotCursor(Struct, frozen=True):
    """Where the next piece begins."""

    family: int = 0
    key: bytes = b""


class Pieces(Struct, frozen=True):
    """What one checkpoint adds to the snapshot."""

    pieces: tuple[Piece, ...]
    cursor: SnapshotCursor
    finished: bool
    """True when these pieces end the cycle; the cursor then stands at the beginning again."""


def next_pieces(
    state: StateReader,
    families: Sequence[str],
    cursor: SnapshotCursor,
    budget: int,
    whole: Mapping[str, int] | None = None,
) -> Pieces:
    """Pieces of about ``budget`` bytes, at least one entry or group; they hold the state as of the last checkpoint.

    ``whole`` is the StateSpec's: no piece ends between two keys that share a prefix of that length.
    """
    pieces: list[Piece] = []
    number, key = cursor.family, cursor.key
    while budget > 0 and number < len(families):
        family = families[number]
        piece = _piece(state, number, family, key, min(budget, PIECE_BYTES), (whole or {}).get(family, 0))
        pieces.append(piece)
        budget -= sum(len(found) + len(value) for found, value in piece.entries)
        if piece.end is not None:
            key = piece.end
        else:
            number, key = number + 1, b""
    if number >= len(families):
        return Pieces(tuple(pieces), SnapshotCursor(), True)
    return Pieces(tuple(pieces), SnapshotCursor(number, key), False)


def _piece(state: StateReader, number: int, family: str, start: bytes, budget: int, whole: int) -> Piece:
    entries: list[tuple[bytes, bytes]] = []
    group: bytes | None = None
    for key, value in state.scan(family, start):
        prefix = key[:whole] if whole else key
        if budget <= 0 and prefix != group:
            # The cut stands at the prefix, not at the key: a smaller key that is added to the group later falls behind the cut too.
            return Piece(number, start, prefix, tuple(entries))
        group = prefix
        entries.append((key, value))
        budget -= len(key) + len(value)
    return Piece(number, start, None, tuple(entries))
