"""Where every group stands and what its last checkpoints say, in memory as in the database."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from gregor.errors import CorruptState
from gregor.runtime.state.store import META, ReadableStore, StateWriter
from gregor.runtime.transport.embedded.layout import (
    CHECKPOINTS,
    POSITIONS,
    REMEDY,
    checkpoint_key,
    pack_position,
    position_key,
    unpack_checkpoint_key,
    unpack_position,
    unpack_position_key,
)
from gregor.runtime.transport.port import CheckpointInfo, Position, TopicPartition
from schemas.changelog import Checkpoint
from schemas.codec import Undecodable, decoder, encode

_decode = decoder(Checkpoint)


class Changes(Struct, frozen=True):
    """What one commit changes here."""

    stage: str
    positions: Mapping[TopicPartition, Position]
    checkpoints: Mapping[int, Checkpoint]


class OffsetTable:
    """Positions and checkpoints of all stages that ever committed."""

    def __init__(self, store: ReadableStore) -> None:
        self._view = store.view()
        self._positions: dict[str, dict[TopicPartition, Position]] = {}
        self._checkpoints: dict[tuple[str, int], Checkpoint] = {}
        self.load()

    def load(self) -> None:
        self._positions = {}
        for key, value in self._view.scan(META, POSITIONS, bytes([POSITIONS[0] + 1])):
            stage, at = unpack_position_key(key)
            self._positions.setdefault(stage, {})[at] = unpack_position(value)
        self._checkpoints = {}
        for key, value in self._view.scan(META, CHECKPOINTS, bytes([CHECKPOINTS[0] + 1])):
            stage, partition = unpack_checkpoint_key(key)
            try:
                self._checkpoints[stage, partition] = _decode(value)
            except Undecodable as error:
                raise CorruptState(f"the checkpoint of {stage}[{partition}] is {error}", remedy=REMEDY) from error

    def position(self, stage: str, at: TopicPartition) -> Position | None:
        return self._positions.get(stage, {}).get(at)

    def committed(self, stage: str, topics: Sequence[str]) -> dict[TopicPartition, Position]:
        return {at: position for at, position in self._positions.get(stage, {}).items() if at.topic in topics}

    def checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        return self._checkpoints.get((stage, partition))

    def readers(self, topic: str) -> set[str]:
        """Stages that ever committed a position in a topic."""
        return {stage for stage, held in self._positions.items() if any(at.topic == topic for at in held)}

    def changes(self, stage: str, positions: Mapping[TopicPartition, Position]) -> dict[TopicPartition, Position]:
        held = self._positions.get(stage, {})
        return {at: position for at, position in positions.items() if held.get(at) != position}

    def next_checkpoint(
        self,
        stage: str,
        partition: int,
        member: str,
        mark: CheckpointInfo,
        positions: Mapping[TopicPartition, Position],
    ) -> Checkpoint:
        last = self.checkpoint(stage, partition)
        counters = mark.counters.get(partition)
        return Checkpoint(
            sequence=last.sequence + 1 if last else 1,
            positions={at.topic: held.offset for at, held in positions.items() if at.partition == partition},
            now_ms=mark.now_ms,
            config_version=mark.config_version,
            counters=dict(counters) if counters is not None else (last.counters if last else {}),
            member=member,
        )

    def put(self, writer: StateWriter, changes: Changes) -> None:
        for at, position in changes.positions.items():
            writer.put(META, position_key(changes.stage, at), pack_position(position))
        for partition, checkpoint in changes.checkpoints.items():
            writer.put(META, checkpoint_key(changes.stage, partition), encode(checkpoint))

    def written(self, changes: Changes) -> None:
        if changes.positions:
            self._positions.setdefault(changes.stage, {}).update(changes.positions)
        for partition, checkpoint in changes.checkpoints.items():
            self._checkpoints[changes.stage, partition] = checkpoint
