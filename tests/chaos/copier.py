"""The smallest stateful stage: passes every value of ``discovered`` on to ``schedule`` once, however often it comes.

Run as a process by the storms: python -m tests.chaos.copier BOOTSTRAP CRAWL FOLDER
"""

import faulthandler
import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gregor.config import Names
from gregor.config.sections import CheckpointSection, KafkaSection
from gregor.runtime.loops.contract import NOTHING, BatchStage, Decode, Received, Work
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.packed import Mutation, apply_deltas
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Assignment, Output, StageSpec
from schemas.codec import Undecodable
from tests.chaos.overlay import Overlay

FAMILIES = ("seen",)
SMALL = StoreOptions(block_cache_bytes=1 << 20, write_buffer_bytes=1 << 20, memtable_bytes=1 << 18)


def _apply(_: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    apply_deltas(FAMILIES, deltas, writer)


def _decode(value: bytes | None) -> bytes:
    if not value or value.startswith(b"!"):
        raise Undecodable("a value that begins with an exclamation mark")
    return value


SPEC = StageSpec(
    name="frontier",
    inputs=("discovered", "fetched"),
    outputs=("schedule", "dead-letters"),
    changelog="frontier-changelog",
    state=StateSpec(FAMILIES, _apply),
)


class Copier:
    """Counts what it admits, so that the last checkpoints must add up."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {
        "discovered": lambda record: _decode(record.value),
        "fetched": lambda record: _decode(record.value),
    }

    def __init__(self) -> None:
        self._overlays: dict[int, Overlay] = {}
        self._totals: dict[int, dict[str, int]] = {}
        self._pending: dict[int, dict[str, int]] = {}

    def assigned(self, partition: int, assignment: Assignment) -> None:
        assert assignment.state is not None
        self._overlays[partition] = Overlay(assignment.state, FAMILIES)
        self._totals[partition] = dict(assignment.counters)
        self._pending[partition] = dict(assignment.counters)

    def revoked(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            for table in (self._overlays, self._totals, self._pending):
                table.pop(partition, None)

    def on_broadcast(self, received: Sequence[Received]) -> None: ...

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        outputs = []
        for one in received:
            partition = one.record.partition
            overlay, totals = self._overlays[partition], self._pending[partition]
            if overlay.get("seen", one.value) is None:
                overlay.put(one.value[:8], "seen", one.value, b"")
                outputs.append(Output("schedule", partition, b"k", one.value))
                totals["admitted"] = totals.get("admitted", 0) + 1
            else:
                totals["duplicates"] = totals.get("duplicates", 0) + 1
        return Work(outputs, len(received))

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {partition: overlay.mutations() for partition, overlay in self._overlays.items()}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return self._pending

    def prepare(self) -> Sequence[Output]:
        return ()

    def committed(self) -> None:
        for overlay in self._overlays.values():
            overlay.clear()
        self._totals = {partition: dict(totals) for partition, totals in self._pending.items()}

    def dropped(self) -> None:
        for overlay in self._overlays.values():
            overlay.clear()
        self._pending = {partition: dict(totals) for partition, totals in self._totals.items()}

    def close(self) -> None: ...


def run(stage: BatchStage, most_urls: int = 200) -> None:
    """A stage as a process of its own, with small checkpoints, until SIGTERM."""
    bootstrap, crawl, folder = sys.argv[1:]
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    kafka = KafkaSection(bootstrap=bootstrap, session_timeout_s=6.0, transaction_timeout_s=10.0)
    transport = KafkaTransport(Names(crawl), kafka, Path(folder), SharedMemory(SMALL))
    loop = StageLoop(stage, transport.open(stage.spec), CheckpointSection(max_urls=most_urls, max_interval_s=0.3))
    signal.signal(signal.SIGTERM, lambda number, frame: loop.stop())
    loop.run()


if __name__ == "__main__":
    run(Copier())
