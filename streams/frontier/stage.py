"""The frontier as a stage: discoveries and results in, orders out, the state of each partition behind it."""

from collections.abc import Mapping, Sequence
from typing import Final

from gregor.config import Config
from gregor.stage.contract import Decode, Received, Work
from gregor.state.packed import Mutation, apply_deltas
from gregor.state.store import StateReader, StateSpec, StateWriter
from gregor.transport.port import Assignment, Output, StageSpec
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.control import decode_control
from schemas.discovered import Discovered, decode_discovered
from schemas.fetched import Fetched, decode_fetched
from streams.frontier.core import FAMILIES, PartitionFrontier, route


def _apply(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(FAMILIES, deltas, writer)


SPEC: Final = StageSpec(
    name="frontier",
    inputs=("discovered", "fetched"),
    broadcast=("control",),
    outputs=("schedule", "verdicts", "dead-letters"),
    changelog="frontier-changelog",
    state=StateSpec(FAMILIES, _apply),
)


class FrontierStage:
    """Hands each record to its partition; releases orders by the clock."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {
        "discovered": lambda record: decode_discovered(record.value),
        "fetched": lambda record: decode_fetched(record.value),
        "control": lambda record: decode_control(record.value),
    }

    def __init__(self, config: Config, placement: Placement) -> None:
        self._config = config
        self._placement = placement
        self._partitions: dict[int, PartitionFrontier] = {}

    def assigned(self, partition: int, assignment: Assignment) -> None:
        assert assignment.state is not None
        self._partitions[partition] = PartitionFrontier(
            partition, assignment.state, self._config, dict(assignment.counters), assignment.sequence
        )

    def revoked(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self._partitions.pop(partition, None)

    def instruct(self, received: Sequence[Received]) -> None:
        """Pauses and limits are not obeyed yet."""

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        urls = 0
        for one in received:
            partition = self._partitions[one.record.partition]
            if isinstance(one.value, Discovered):
                urls += partition.discover(one.value, now_ms)
            elif isinstance(one.value, Fetched):
                urls += partition.confirm(one.value, now_ms)
        return Work((), urls)

    def tick(self, now_ms: int) -> Work:
        orders = [order for partition in self._partitions.values() for order in partition.release(now_ms)]
        return Work(
            [
                Output("schedule", route(order, self._placement), order.server.encode(), encode(order))
                for order in orders
            ],
            sum(len(order.urls) for order in orders),
        )

    def next_due_ms(self) -> int | None:
        dues = [due for one in self._partitions.values() if (due := one.next_due_ms()) is not None]
        return min(dues, default=None)

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {partition: one.mutations() for partition, one in self._partitions.items()}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {partition: one.counters for partition, one in self._partitions.items()}

    def prepare(self) -> Sequence[Output]:
        return ()

    def committed(self) -> None:
        for one in self._partitions.values():
            one.committed()

    def dropped(self) -> None:
        for one in self._partitions.values():
            one.dropped()

    def close(self) -> None:
        self._partitions.clear()
