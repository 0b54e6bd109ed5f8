"""What is said between a session in another process and the process that owns the log: one frame a question, one frame an answer.

    question   Poll | Finish | Pause | Close        in the order in which they are asked
    answer     Event | Refusal | Done               in the same order

A frame is its length in four bytes and msgpack. The state of a partition does not travel: only stages without one are served.
"""

import socket
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gregor.errors import Aborted, Fenced, TransportError, UnknownOutcome
from gregor.runtime.transport.port import (
    Assigned,
    Assignment,
    Batch,
    CheckpointInfo,
    Commit,
    Event,
    InvalidCommit,
    Output,
    Position,
    Record,
    Revoked,
)
from gregor.runtime.transport.port import TopicPartition as Where

_PIECE: Final = 1 << 20

Place = tuple[str, int, int, str]
"""Topic, partition, offset, metadata."""


class Poll(Struct, frozen=True, tag="poll", array_like=True):
    max_records: int
    max_bytes: int
    wait: float


class Finish(Struct, frozen=True, tag="commit", array_like=True):
    """A commit of a stage without state."""

    epoch: int
    outputs: list[Output]
    places: list[Place]
    now_ms: int
    config_version: str


class PauseCall(Struct, frozen=True, tag="pause", array_like=True):
    places: list[tuple[str, int]]
    resume: bool


class Close(Struct, frozen=True, tag="close", array_like=True):
    drain: bool


class Failed(Struct, frozen=True, tag="failed", array_like=True):
    """The stage's last word, instead of a question: why it cannot go on, in words for the user."""

    message: str
    remedy: str
    exit_code: int


Question = Poll | Finish | PauseCall | Close | Failed


class Records(Struct, frozen=True, tag="batch", array_like=True):
    epoch: int
    records: list[Record]
    positions: list[tuple[str, int, int]]
    broadcast: list[Record]


class Gained(Struct, frozen=True, tag="assigned", array_like=True):
    epoch: int
    partitions: dict[int, tuple[list[Place], dict[str, int]]]
    """Partition to its positions and the ends of its inputs."""


class Gone(Struct, frozen=True, tag="revoked", array_like=True):
    epoch: int
    partitions: list[int]
    lost: bool


class SessionError(Struct, frozen=True, tag="refused", array_like=True):
    """An exception of the session."""

    kind: str
    message: str
    remedy: str = ""


class Done(Struct, frozen=True, tag="done", array_like=True):
    """Nothing to say; ``stop`` asks the stage to commit what it has and to leave."""

    stop: bool = False


Answer = Records | Gained | Gone | SessionError | Done

_ERRORS: Final = {kind.__name__: kind for kind in (Aborted, Fenced, UnknownOutcome, TransportError)}


class Frames:
    """One end of the socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._encode = msgspec.msgpack.Encoder().encode
        self._questions = msgspec.msgpack.Decoder(Question)
        self._answers = msgspec.msgpack.Decoder(Answer)

    def send(self, message: Question | Answer) -> None:
        data = self._encode(message)
        self._socket.sendall(len(data).to_bytes(4) + data if len(data) < _PIECE else len(data).to_bytes(4))
        if len(data) >= _PIECE:
            self._socket.sendall(data)

    def question(self) -> Question | None:
        """None: the other process is gone."""
        frame = self._receive()
        return None if frame is None else self._questions.decode(frame)

    def answer(self) -> Answer | None:
        frame = self._receive()
        return None if frame is None else self._answers.decode(frame)

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> bytearray | None:
        head = self._exactly(4)
        return None if head is None else self._exactly(int.from_bytes(head))

    def _exactly(self, size: int) -> bytearray | None:
        data = bytearray(size)
        view = memoryview(data)
        got = 0
        while got < size:
            try:
                piece = self._socket.recv_into(view[got:], size - got)
            except ConnectionError:
                return None
            if not piece:
                return None
            got += piece
        return data


def pack_event(event: Event) -> Answer:
    match event:
        case Batch():
            moved = [(at.topic, at.partition, offset) for at, offset in event.positions.items()]
            return Records(event.epoch, list(event.records), moved, list(event.broadcast))
        case Assigned():
            return Gained(event.epoch, {partition: _pack(one) for partition, one in event.partitions.items()})
        case Revoked():
            return Gone(event.epoch, sorted(event.partitions), event.lost)


def _pack(assignment: Assignment) -> tuple[list[Place], dict[str, int]]:
    places = [(topic, 0, one.offset, one.metadata) for topic, one in assignment.positions.items()]
    return places, dict(assignment.ends)


def unpack_event(answer: Records | Gained | Gone) -> Event:
    match answer:
        case Records():
            moved = {Where(topic, partition): offset for topic, partition, offset in answer.positions}
            return Batch(answer.epoch, answer.records, moved, answer.broadcast)
        case Gained():
            return Assigned(answer.epoch, {partition: _unpack(*one) for partition, one in answer.partitions.items()})
        case Gone():
            return Revoked(answer.epoch, frozenset(answer.partitions), answer.lost)


def _unpack(places: list[Place], ends: dict[str, int]) -> Assignment:
    positions = {topic: Position(offset, metadata) for topic, _, offset, metadata in places}
    return Assignment(positions=positions, ends=ends, state=None)


def pack_commit(commit: Commit) -> Finish:
    return Finish(
        commit.epoch,
        list(commit.outputs),
        [(at.topic, at.partition, one.offset, one.metadata) for at, one in commit.positions.items()],
        commit.mark.now_ms,
        commit.mark.config_version,
    )


def unpack_commit(finish: Finish) -> Commit:
    return Commit(
        epoch=finish.epoch,
        outputs=finish.outputs,
        positions={
            Where(topic, partition): Position(offset, metadata) for topic, partition, offset, metadata in finish.places
        },
        mark=CheckpointInfo(now_ms=finish.now_ms, config_version=finish.config_version),
    )


def pack_places(partitions: Sequence[Where]) -> list[tuple[str, int]]:
    return [(at.topic, at.partition) for at in partitions]


def pack_error(error: Exception) -> SessionError:
    if isinstance(error, TransportError):
        return SessionError(type(error).__name__, error.message, error.remedy)
    return SessionError(type(error).__name__, str(error))


def unpack_error(refusal: SessionError) -> Exception:
    if refusal.kind == InvalidCommit.__name__:
        return InvalidCommit(refusal.message)
    return _ERRORS.get(refusal.kind, TransportError)(refusal.message, remedy=refusal.remedy)
