"""The uniqueness engine as a stage by itself: what it admits goes to ``schedule``, one record for each record that held new URLs.

Run as a process by the storms: python -m tests.chaos.admitter BOOTSTRAP CRAWL FOLDER
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.kafka import restore
from gregor.runtime.transport.port import Assignment, Output, StageSpec
from gregor.url.fingerprint import fingerprints, server_hash
from schemas.discovered import Discovered, decode_discovered
from streams.frontier.storage.uniqueness.blocks import BlockLayout
from streams.frontier.storage.uniqueness.engine import UniquenessEngine, UrlBatch
from streams.frontier.storage.uniqueness.state import uniqueness_state
from tests.chaos.copier import run

LAYOUT = BlockLayout(block_entries=64)
RECENT_ENTRIES = 4096
"""Both small, so that a storm folds what waits and splits blocks often."""

SPEC = StageSpec(
    name="frontier",
    inputs=("discovered",),
    outputs=("schedule", "dead-letters"),
    changelog="frontier-changelog",
    state=uniqueness_state(LAYOUT),
)


class Admitter:
    """One engine a partition."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {"discovered": lambda record: decode_discovered(record.value)}

    def __init__(self) -> None:
        self._engines: dict[int, UniquenessEngine] = {}
        self._salt = 0

    def assigned(self, partition: int, assignment: Assignment) -> None:
        assert assignment.state is not None
        self._engines[partition] = UniquenessEngine(assignment.state, recent_entries=RECENT_ENTRIES)

    def revoked(self, partitions: frozenset[int]) -> None:
        for partition in partitions & self._engines.keys():
            del self._engines[partition]

    def on_broadcast(self, received: Sequence[Received]) -> None: ...

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        outputs, urls = [], 0
        for partition in {one.record.partition for one in received}:
            batch = [one.value for one in received if one.record.partition == partition]
            self._salt += 1
            new = self._engines[partition].check(_found(batch), self._salt).new
            at = 0
            for one in batch:
                paths = [path for path, is_new in zip(one.paths, new[at:], strict=False) if is_new]
                at += len(one.paths)
                if paths:
                    outputs.append(Output("schedule", partition, one.server.encode(), msgspec.json.encode(paths)))
            urls += at
        return Work(outputs, urls)

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {partition: engine.deltas() for partition, engine in self._engines.items()}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def prepare(self) -> Sequence[Output]:
        return ()

    def committed(self) -> None:
        for engine in self._engines.values():
            engine.committed()

    def dropped(self) -> None:
        for engine in self._engines.values():
            engine.aborted()

    def close(self) -> None: ...


def _found(batch: Sequence[Discovered]) -> UrlBatch:
    paths = [path for one in batch for path in one.paths]
    sizes = [len(one.paths) for one in batch]
    hashes = np.repeat(np.array([server_hash(one.server) for one in batch], dtype=np.uint64), sizes)
    schemes = [one.scheme for one in batch for _ in one.paths]
    ones = np.ones(len(paths))
    return UrlBatch(
        hashes, fingerprints(schemes, paths), ones.astype(np.uint16), ones.astype(np.uint8), ones.astype(np.uint32)
    )


if __name__ == "__main__":
    # Small as well: most restores are then done by processes of their own.
    restore.APART_BYTES = 64 * 1024  # type: ignore[misc]
    run(Admitter(), most_urls=5_000)
