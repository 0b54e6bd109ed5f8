"""How much of a topic still waits for the slowest of its readers; while that is too much, who writes it is given nothing to do.

This is the back-pressure between stages that do not know of each other. Readers never wait for writers, so that it cannot end in a
circle; what is under way when the bound is reached is written all the same, so that it is exceeded by that much.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from gregor.runtime.transport.port import TopicPartition


class Backlog:
    """One topic; the caller holds the transport's lock."""

    def __init__(self, most_records: int, most_bytes: int) -> None:
        self._most: Final = (most_records, most_bytes)
        self._waiting: dict[TopicPartition, deque[tuple[int, int]]] = {}
        """Ends of chunks, and their bytes."""
        self._passed: dict[TopicPartition, int] = {}
        self.records = self.bytes = 0

    @property
    def full(self) -> bool:
        return self.records > self._most[0] or self.bytes > self._most[1]

    def begin(self, at: TopicPartition, passed: int, chunks: Iterable[tuple[int, int]]) -> None:
        """What waits in a partition when it is opened: the slowest reader's position and the chunks behind it."""
        self._passed[at] = passed
        for end, size in chunks:
            self.appended(at, end, size)

    def appended(self, at: TopicPartition, end: int, size: int) -> None:
        waiting = self._waiting.setdefault(at, deque())
        self.records += end - (waiting[-1][0] if waiting else self._passed.get(at, 0))
        self.bytes += size
        waiting.append((end, size))

    def passed(self, at: TopicPartition, offset: int) -> None:
        """The slowest reader stands here; a chunk counts until it is passed whole."""
        before = self._passed.get(at, 0)
        if offset <= before:
            return
        self._passed[at] = offset
        self.records -= offset - before
        waiting = self._waiting.get(at, deque())
        while waiting and waiting[0][0] <= offset:
            self.bytes -= waiting.popleft()[1]
