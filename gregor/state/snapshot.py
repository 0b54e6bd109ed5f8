"""The rolling snapshot: every checkpoint logs a little of the state beside its deltas, until a cycle has logged all of it.

Then nothing before the cycle's beginning is needed to restore, and it is deleted: the log follows the size of the state, not its
history. The cursor is durable, so that a restart goes on within the cycle.
"""

from collections.abc import Sequence

from msgspec import Struct

from gregor.state.packed import Piece
from gregor.state.store import StateReader


class Cursor(Struct, frozen=True):
    """Where the next piece begins."""

    family: int = 0
    key: bytes = b""


class Pieces(Struct, frozen=True):
    """What one checkpoint adds to the snapshot."""

    pieces: tuple[Piece, ...]
    cursor: Cursor
    finished: bool
    """True when these pieces end the cycle; the cursor then stands at the beginning again."""


def next_pieces(state: StateReader, families: Sequence[str], cursor: Cursor, budget: int) -> Pieces:
    """Pieces of about ``budget`` bytes, at least one entry; they hold the state as of the last checkpoint."""
    pieces: list[Piece] = []
    number, key = cursor.family, cursor.key
    while budget > 0 and number < len(families):
        entries: list[tuple[bytes, bytes]] = []
        end: bytes | None = None
        for found, value in state.scan(families[number], key):
            if budget <= 0:
                end = found
                break
            entries.append((found, value))
            budget -= len(found) + len(value)
        pieces.append(Piece(number, key, end, tuple(entries)))
        if end is not None:
            key = end
        else:
            number, key = number + 1, b""
    if number == len(families):
        return Pieces(tuple(pieces), Cursor(), True)
    return Pieces(tuple(pieces), Cursor(number, key), False)
