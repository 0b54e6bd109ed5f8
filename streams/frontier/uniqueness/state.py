"""The families of uniqueness, as a stage declares them to its transport."""

from collections.abc import Sequence
from typing import Final

from gregor.state.store import StateReader, StateSpec, StateWriter
from streams.frontier.uniqueness.apply import apply, apply_piece
from streams.frontier.uniqueness.blocks import RUNS, SEEN, WHOLE, Layout

FAMILIES: Final = (RUNS, SEEN)


def uniqueness_state(layout: Layout) -> StateSpec:
    """A state of known URLs alone."""

    def apply_here(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
        apply(layout, state, deltas, writer)

    return StateSpec(FAMILIES, apply_here, WHOLE, {SEEN: apply_piece})
