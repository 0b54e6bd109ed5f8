"""The families of uniqueness, as a stage declares them to its transport."""

from functools import partial
from typing import Final

from gregor.runtime.state.store import StateSpec
from streams.frontier.storage.uniqueness.apply import apply, apply_piece
from streams.frontier.storage.uniqueness.blocks import RUNS, SEEN, WHOLE, BlockLayout

FAMILIES: Final = (RUNS, SEEN)


def uniqueness_state(layout: BlockLayout) -> StateSpec:
    """A state of known URLs alone."""
    return StateSpec(FAMILIES, partial(apply, layout), WHOLE, {SEEN: apply_piece})
