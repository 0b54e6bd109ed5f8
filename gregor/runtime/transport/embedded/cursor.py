"""Where one reader stands in one partition, and how a batch is taken from several of them."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from gregor.runtime.transport.embedded.log import Chunk, Log
from gregor.runtime.transport.port import Record, TopicPartition


class ReadCursor:
    """A position and the chunks that lie ready from there on."""

    __slots__ = ("_chunks", "at", "position")

    def __init__(self, at: TopicPartition, position: int) -> None:
        self.at = at
        self.position = position
        self._chunks: deque[Chunk] = deque()

    def next_chunk(self, log: Log) -> Chunk | None:
        """The chunk that holds the position; None at the end."""
        if not self._chunks:
            self._chunks.extend(log.chunks(self.at, self.position))
        return self._chunks[0] if self._chunks else None

    def advance(self, position: int) -> None:
        self.position = position
        if self._chunks and position >= self._chunks[0].end:
            self._chunks.popleft()


class Room(NamedTuple):
    """What still fits into a batch."""

    records: int
    bytes: int


def take(log: Log, cursors: Sequence[ReadCursor], room: Room) -> tuple[list[Record], dict[TopicPartition, int]]:
    """Records from the cursors in the order given, and the positions that they lead to."""
    taken: list[Record] = []
    positions: dict[TopicPartition, int] = {}
    for cursor in cursors:
        while room.records > 0 and room.bytes > 0:
            chunk = cursor.next_chunk(log)
            if chunk is None:
                break
            skipped = cursor.position - chunk.start
            if not skipped and chunk.count <= room.records and chunk.bytes <= room.bytes:
                taken += chunk.records
                room = Room(room.records - chunk.count, room.bytes - chunk.bytes)
                cursor.advance(chunk.end)
            else:
                room = _take_some(chunk, skipped, room, taken)
                cursor.advance(taken[-1].offset + 1)
            positions[cursor.at] = cursor.position
    return taken, positions


def _take_some(chunk: Chunk, skipped: int, room: Room, taken: list[Record]) -> Room:
    records, size = room
    for record in chunk.records[skipped : skipped + records]:
        taken.append(record)
        records -= 1
        size -= len(record.key or b"") + len(record.value or b"") + len(record.header or b"")
        if size <= 0:
            break
    return Room(records, size)
