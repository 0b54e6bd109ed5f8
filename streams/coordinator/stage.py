"""The coordinator as a stage: sites and commands in, rows, grants, pointers and root pages out, the registry behind it.

Of any number of members one has the partition; the others wait in the group for it.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from gregor.config import Config
from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.loops.loop import now_ms as wall_clock
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, Record, StageSpec
from schemas.codec import encode
from schemas.sites_found import SiteCommand, SitesFound, decode_site_note
from streams.coordinator.announce import BYTES
from streams.coordinator.commands import obey
from streams.coordinator.comparison import Differences, compare
from streams.coordinator.deltas import STATE
from streams.coordinator.name_lookup import NameLookup
from streams.coordinator.partition import CoordinatorPartition

_log: Final = logging.getLogger("gregor.coordinator")

SPEC: Final = StageSpec(
    name="coordinator",
    inputs=("sites-found",),
    outputs=("sites", "discovered", "verdicts", "dead-letters"),
    changelog="coordinator-changelog",
    state=STATE,
)
REWRITTEN_AT_ONCE: Final = 10_000


class CoordinatorStage:
    """Reads no clock but the one it is told; ``table`` reads topic `sites` whole."""

    spec: StageSpec = SPEC
    decoders: Final[Mapping[str, Decode]] = {"sites-found": lambda record: decode_site_note(record.value)}

    def __init__(
        self,
        config: Config,
        table: Callable[[], Iterable[Record]] = tuple,
        make_lookup: Callable[[], NameLookup] | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        """``make_lookup`` None: no name is resolved."""
        self._config = config
        self._table = table
        self._make_lookup = make_lookup
        self._clock = clock
        self._lookup: NameLookup | None = None
        self._partition: CoordinatorPartition | None = None
        self._differences: Differences | None = None
        self._rewritten: list[Output] = []

    def assigned(self, partition: int, assignment: Assignment) -> None:
        assert assignment.state is not None
        if self._make_lookup is not None and self._lookup is None:
            self._lookup = self._make_lookup()
        self._partition = CoordinatorPartition(assignment.state, self._config, dict(assignment.counters), self._lookup)
        differences = compare(self._table(), assignment.state, self._partition.facts.ranks)
        if differences.count:
            _log.warning("topic sites differs from the registry: %d rows are written again", differences.count)
        self._differences = differences if differences.left else None

    def revoked(self, partitions: frozenset[int]) -> None:
        if partitions:
            self._partition = self._differences = None
            self._rewritten = []
            self._end_lookup()

    def on_broadcast(self, received: Sequence[Received]) -> None:
        return

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        partition = self._partition
        assert partition is not None
        told: list[SitesFound] = []
        decided = 0
        for one in received:
            if isinstance(one.value, SitesFound):
                told.append(one.value)
            elif isinstance(one.value, SiteCommand):
                # In the order of the records.
                decided += partition.found(told, now_ms) + obey(one.value, partition, now_ms)
                told = []
        decided += partition.found(told, now_ms)
        return Work((), decided, decided * BYTES, urgent=True)

    def tick(self, now_ms: int) -> Work:
        partition = self._partition
        if partition is None:
            return NOTHING
        decided = partition.tick(now_ms) + self._put_right(partition)
        return Work((), decided, decided * BYTES, urgent=True) if decided else NOTHING

    def _put_right(self, partition: CoordinatorPartition) -> int:
        """Rows of the table that differ, some of them in each checkpoint."""
        if self._differences is None:
            return 0
        sites, void = self._differences.take(REWRITTEN_AT_ONCE)
        rows = [*partition.registry.rows(sites).values(), *void]
        self._rewritten += [Output("sites", 0, row.site.encode(), encode(row)) for row in rows]
        partition.count("sites_rewritten", len(rows))
        return len(rows)

    def next_due_ms(self) -> int | None:
        if self._partition is None:
            return None
        now = self._clock()
        return now if self._differences is not None else self._partition.next_due_ms(now)

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        found = self._partition.mutations() if self._partition is not None else []
        return {0: found} if found else {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {0: self._partition.counters} if self._partition is not None else {}

    def prepare(self) -> Sequence[Output]:
        # A row that has changed since it was put right stands behind it.
        return [*self._rewritten, *(self._partition.outputs() if self._partition is not None else ())]

    def committed(self) -> None:
        if self._partition is not None:
            self._partition.committed()
        self._rewritten = []
        if self._differences is not None:
            self._differences.committed()
            self._differences = self._differences if self._differences.left else None

    def dropped(self) -> None:
        if self._partition is not None:
            self._partition.dropped()
        self._rewritten = []
        if self._differences is not None:
            self._differences.dropped()

    def close(self) -> None:
        self._partition = None
        self._end_lookup()

    def _end_lookup(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
            self._lookup = None
