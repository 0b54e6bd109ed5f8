"""The families of uniqueness, as a stage declares them to its transport."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from gregor.state.packed import apply_deltas
from gregor.state.store import StateReader, StateSpec, StateWriter
from streams.frontier.uniqueness.apply import apply, apply_piece
from streams.frontier.uniqueness.blocks import SEEN, WHOLE, Layout
from streams.frontier.uniqueness.deltas import holds_entries

TMP: Final = "tmp"
FAMILIES: Final = (SEEN, TMP)


def uniqueness_state(layout: Layout) -> StateSpec:
    """A state of these families alone."""
    return StateSpec(FAMILIES, partial(apply_all, layout, FAMILIES), {SEEN: WHOLE}, {SEEN: apply_piece})


def apply_all(
    layout: Layout, families: Sequence[str], state: StateReader, deltas: Sequence[bytes], writer: StateWriter
) -> None:
    """The apply function of a state that has these families among its own: entries, and plain puts and deletes."""
    apply(layout, state, [delta for delta in deltas if holds_entries(delta)], writer)
    apply_deltas(families, [delta for delta in deltas if not holds_entries(delta)], writer)
