"""A stage that copies `items` into files, written as a newcomer would write it: this folder is all of it, but for a line in the topology.

Exactly once: what is committed of each file stands beside the position of its partition, and what lies behind that length is cut off
when the partition comes.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gregor.config import Config
from gregor.runtime.loops.contract import NOTHING, Decode, Received, Work
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.loops.running import Loop
from gregor.runtime.metrics.metric_defs import Metric
from gregor.runtime.role import Role, Scratch
from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, Session, StageSpec, TopicPartition
from gregor.url.fingerprint import Placement
from schemas.items import decode_item

SPEC: Final = StageSpec(name="copier", inputs=("items",), outputs=("dead-letters",))
COPIED: Final = Metric("gregor_copied_items_total", "counter", "Items copied and committed.")


class Copier:
    """A batch stage."""

    spec = SPEC
    decoders: Final[Mapping[str, Decode]] = {"items": lambda record: decode_item(record.value)}

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lengths: dict[int, int] = {}
        self._pending: dict[int, bytes] = {}

    def assigned(self, partition: int, assignment: Assignment) -> None:
        self._lengths[partition] = int(assignment.positions["items"].metadata or 0)

    def revoked(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            del self._lengths[partition]

    def on_broadcast(self, received: Sequence[Received]) -> None:
        return

    def process(self, received: Sequence[Received], now_ms: int) -> Work:
        for one in received:
            at = one.record.partition
            self._pending[at] = self._pending.get(at, b"") + (one.record.value or b"") + b"\n"
        return Work(bytes=sum(map(len, self._pending.values())))

    def tick(self, now_ms: int) -> Work:
        return NOTHING

    def next_due_ms(self) -> int | None:
        return None

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        return {}

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def prepare(self) -> Sequence[Output]:
        self._folder.mkdir(parents=True, exist_ok=True)
        for partition, lines in self._pending.items():
            with (self._folder / f"{partition}.jsonl").open("ab") as file:
                file.truncate(self._lengths[partition])
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        return ()

    def note(self, where: TopicPartition) -> str:
        return str(self._lengths[where.partition] + len(self._pending.get(where.partition, b"")))

    def committed(self) -> None:
        for partition, lines in self._pending.items():
            self._lengths[partition] += len(lines)
        self._pending = {}

    def dropped(self) -> None:
        self._pending = {}

    def close(self) -> None:
        return


def make(config: Config, placement: Placement, session: Session, scratch: Scratch) -> Loop:
    stage = Copier(folder(scratch.home))
    return StageLoop(stage, session, config.checkpoint, config_version=config.config_version, notes=stage.note)


def folder(home: Path) -> Path:
    return home / "copies"


ROLE: Final = Role(
    spec=SPEC,
    make=make,
    enabled=lambda config: bool(config.item),
    folders=lambda config, home: {"copies": folder(home)},
    metrics=(COPIED,),
)
