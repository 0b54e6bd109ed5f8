"""The families of uniqueness, as a stage declares them to its transport."""

from collections.abc import Sequence
from typing import Final

from gregor.state.packed import apply_deltas
from gregor.state.store import StateReader, StateSpec, StateWriter
from streams.frontier.uniqueness.apply import apply, apply_piece
from streams.frontier.uniqueness.blocks import SEEN, WHOLE, Layout
from streams.frontier.uniqueness.deltas import holds_entries

TMP: Final = "tmp"
FAMILIES: Final = (SEEN, TMP)


class LiveReaders:
    """For states that an engine lives on, what to read instead of them: the same through the engine's cache.

    Belongs to one thread, that of the stage's session, which checks, commits and applies.
    """

    def __init__(self) -> None:
        # The state is kept beside its reader, so that no other object can come to have its id.
        self._readers: dict[int, tuple[StateReader, StateReader]] = {}

    def attach(self, state: StateReader, reader: StateReader) -> None:
        """``state`` is the partition's as it was assigned, ``reader`` its engine's."""
        self._readers[id(state)] = (state, reader)

    def detach(self, state: StateReader) -> None:
        """The partition is not ours any more; what is applied to it from now on is a restore."""
        self._readers.pop(id(state), None)

    def of(self, state: StateReader) -> StateReader:
        return self._readers.get(id(state), (state, state))[1]


def uniqueness_state(layout: Layout, readers: LiveReaders | None = None) -> StateSpec:
    """A state of these families alone."""
    live = readers or LiveReaders()

    def apply_here(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
        apply_all(layout, FAMILIES, live.of(state), deltas, writer)

    return StateSpec(FAMILIES, apply_here, {SEEN: WHOLE}, {SEEN: apply_piece})


def apply_all(
    layout: Layout, families: Sequence[str], state: StateReader, deltas: Sequence[bytes], writer: StateWriter
) -> None:
    """The apply function of a state that has these families among its own: entries, and plain puts and deletes."""
    apply(layout, state, [delta for delta in deltas if holds_entries(delta)], writer)
    apply_deltas(families, [delta for delta in deltas if not holds_entries(delta)], writer)
