"""Who watches a loop: told of batches and checkpoints as they happen, and of everything else about once a second.

All calls come from the loop's thread, none of them more often than once for a batch.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from gregor.runtime.metrics.metric_values import Figures
from gregor.runtime.transport.port import Assignment, Commit, Output, Record, Restoring


class LoopSnapshot(Struct, frozen=True, kw_only=True):
    """What a loop looks like now."""

    owned: Sequence[int]
    restoring: Mapping[int, Restoring]
    held: bool
    figures: Figures
    """The stage's own."""


class Observer(Protocol):
    def turned(self) -> bool:
        """The loop came round; whether it is time for ``saw``."""
        ...

    def saw(self, moment: LoopSnapshot) -> None: ...

    def assigned(self, partition: int, assignment: Assignment) -> None: ...

    def revoked(self, partitions: frozenset[int], lost: bool) -> None: ...

    def took(self, records: Sequence[Record], letters: Sequence[Output]) -> None:
        """Records that came, and the dead letters among them; pending until ``committed`` or ``dropped``."""
        ...

    def ignored(self, records: Mapping[str, int]) -> None:
        """Records of broadcast topics that could not be read, by topic."""
        ...

    def committed(self, commit: Commit, urls: int, size: int, seconds: float) -> None:
        """A checkpoint came through: URLs decided, bytes written, and how long it took."""
        ...

    def refused(self, reason: str) -> None:
        """A checkpoint did not."""
        ...

    def dropped(self) -> None:
        """What was taken since the last checkpoint comes again."""
        ...


class Nobody:
    """Watches nothing."""

    def turned(self) -> bool:
        return False

    def saw(self, moment: LoopSnapshot) -> None: ...

    def assigned(self, partition: int, assignment: Assignment) -> None: ...

    def revoked(self, partitions: frozenset[int], lost: bool) -> None: ...

    def took(self, records: Sequence[Record], letters: Sequence[Output]) -> None: ...

    def ignored(self, records: Mapping[str, int]) -> None: ...

    def committed(self, commit: Commit, urls: int, size: int, seconds: float) -> None: ...

    def refused(self, reason: str) -> None: ...

    def dropped(self) -> None: ...


NOBODY: Final[Observer] = Nobody()
