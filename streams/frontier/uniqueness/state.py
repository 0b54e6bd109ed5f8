"""The families of uniqueness, as a stage declares them to its transport."""

from functools import partial
from typing import Final

from gregor.state.store import StateSpec
from streams.frontier.uniqueness.apply import apply, apply_piece
from streams.frontier.uniqueness.blocks import RUNS, SEEN, WHOLE, Layout

FAMILIES: Final = (RUNS, SEEN)


def uniqueness_state(layout: Layout) -> StateSpec:
    """A state of known URLs alone."""
    return StateSpec(FAMILIES, partial(apply, layout), WHOLE, {SEEN: apply_piece})
