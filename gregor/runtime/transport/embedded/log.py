"""The log: every partition of every topic as chunks in RocksDB, with the newest chunks also in memory for readers that keep up.

Offsets of a partition are dense. What is appended becomes readable when the batch that holds it has been written; the caller holds the
transport's lock from ``append`` to ``appended``, which is what orders a partition.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from gregor.errors import CorruptState, TopologyError
from gregor.runtime.state.store import META, ReadableStore, StateWriter
from gregor.runtime.transport.embedded.layout import (
    ENDS,
    LOG,
    PASSING,
    REMEDY,
    chunk_key,
    chunks_end,
    ends_key,
    last_offset,
    pack_chunks,
    pack_ends,
    unpack_chunk,
    unpack_ends,
    unpack_ends_key,
)
from gregor.runtime.transport.port import InvalidCommit, Output, Record, TopicPartition
from schemas.codec import LARGEST_RECORD
from schemas.topics import BY_NAME

RECORD_OVERHEAD: Final = 300
"""Bytes that Python needs for a record beside its key, value and header."""
AHEAD_BYTES: Final = 1024 * 1024
"""What a reader that lags behind takes from RocksDB at a time."""


class Chunk:
    """Consecutive records of one partition: as they were handed over, until the first reader wants them as records."""

    __slots__ = ("_held", "_time_ms", "at", "bytes", "count", "end", "start")

    def __init__(self, at: TopicPartition, held: Sequence[Output] | list[Record], size: int, time_ms: int = 0) -> None:
        self.at = at
        self.count = len(held)
        self.bytes = size
        # One attribute, replaced whole: two readers may both turn it into records, and either result is as good.
        self._held = held
        self._time_ms = time_ms
        self.place(0)

    def place(self, start: int) -> None:
        self.start, self.end = start, start + self.count

    @property
    def records(self) -> list[Record]:
        held = self._held
        if isinstance(held[0], Record):
            return cast(list[Record], held)
        outputs = cast(Sequence[Output], held)
        topic, partition = self.at
        time_ms = self._time_ms
        records = [
            Record(topic, partition, offset, output.key, output.value, output.header, time_ms)
            for offset, output in enumerate(outputs, self.start)
        ]
        self._held = records
        return records


Packed = Sequence[tuple[Chunk, bytes]]
"""Chunks that have no offsets yet, each with its bytes."""


def cut(outputs: Sequence[Output], time_ms: int) -> Packed:
    """Outputs as chunks, in their order within each partition."""
    gathered: defaultdict[tuple[str, int], list[Output]] = defaultdict(list)
    for output in outputs:
        gathered[output.topic, output.partition].append(output)
    packed: list[tuple[Chunk, bytes]] = []
    for (topic, partition), mine in gathered.items():
        at = TopicPartition(topic, partition)
        begin = 0
        for count, size, data in pack_chunks(mine, time_ms):
            if size > LARGEST_RECORD and (largest := max(map(_size, mine[begin : begin + count]))) > LARGEST_RECORD:
                raise InvalidCommit(f"a record for {topic} has {largest} bytes, expected at most {LARGEST_RECORD}")
            packed.append((Chunk(at, mine[begin : begin + count], size, time_ms), data))
            begin += count
    return packed


def _size(output: Output) -> int:
    return len(output.key) + len(output.value) + len(output.header or b"")


class Tail:
    """The newest chunks of the topics that somebody reads, oldest first out, never more than ``limit`` bytes of memory."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: dict[tuple[TopicPartition, int], Chunk] = {}
        self._order: deque[Chunk] = deque()
        self.bytes = 0

    def find(self, at: TopicPartition, start: int) -> Chunk | None:
        """The chunk that begins at ``start``, which is where a reader that keeps up stands."""
        return self._chunks.get((at, start))

    def add(self, chunk: Chunk) -> None:
        self._chunks[chunk.at, chunk.start] = chunk
        self._order.append(chunk)
        self.bytes += _memory(chunk)
        while self.bytes > self._limit:
            oldest = self._order.popleft()
            del self._chunks[oldest.at, oldest.start]
            self.bytes -= _memory(oldest)

    def clear(self) -> None:
        self._chunks.clear()
        self._order.clear()
        self.bytes = 0


class Log:
    """All topics of a crawl."""

    def __init__(self, store: ReadableStore, partitions: int, read: frozenset[str], tail_bytes: int) -> None:
        self._view = store.view()
        self._partitions = partitions
        self._read = read
        self._tail = Tail(tail_bytes)
        self._ends: dict[TopicPartition, tuple[int, int]] = {}
        self.appends = 0
        """Grows with everything that becomes readable, so that a reader knows whether to look again before it waits."""
        self.load()

    def load(self) -> None:
        """Take what the database says for true, after opening and whenever it is not known what was written."""
        self._tail.clear()
        self._ends = {
            unpack_ends_key(key): unpack_ends(value) for key, value in self._view.scan(META, ENDS, bytes([ENDS[0] + 1]))
        }
        self.appends += 1

    def partitions_of(self, topic: str) -> int:
        known = BY_NAME.get(topic)
        if known is None:
            raise TopologyError(f"expected one of the topics {', '.join(BY_NAME)}, found {topic!r}", remedy="")
        return known.partition_count(self._partitions)

    def first(self, at: TopicPartition) -> int:
        return self._ends.get(at, (0, 0))[0]

    def end(self, at: TopicPartition) -> int:
        return self._ends.get(at, (0, 0))[1]

    def check(self, packed: Packed) -> None:
        for at in {chunk.at for chunk, _ in packed}:
            if not 0 <= at.partition < self.partitions_of(at.topic):
                raise InvalidCommit(
                    f"{at.topic} has {self.partitions_of(at.topic)} partitions, found an output to {at.partition}"
                )

    def append(self, writer: StateWriter, packed: Packed) -> dict[TopicPartition, int]:
        """Give the chunks their offsets and put them into a batch; returns the ends that hold once it is written."""
        ends: dict[TopicPartition, int] = {}
        for chunk, data in packed:
            at = chunk.at
            start = ends.get(at)
            chunk.place(self.end(at) if start is None else start)
            ends[at] = chunk.end
            writer.put(_family(at.topic), chunk_key(at, chunk.end - 1), data)
        return ends

    def trim(self, writer: StateWriter, passed: Mapping[TopicPartition, int]) -> None:
        """Delete whole chunks before an offset, into a batch."""
        for at, offset in passed.items():
            writer.delete_range(_family(at.topic), chunk_key(at, self.first(at)), chunk_key(at, offset))

    def write_ends(
        self, writer: StateWriter, ends: Mapping[TopicPartition, int], passed: Mapping[TopicPartition, int]
    ) -> None:
        for at in {*ends, *passed}:
            writer.put(META, ends_key(at), pack_ends(passed.get(at, self.first(at)), ends.get(at, self.end(at))))

    def written(self, packed: Packed, ends: Mapping[TopicPartition, int], passed: Mapping[TopicPartition, int]) -> None:
        """The batch is written: show it to readers."""
        for chunk, _ in packed:
            if chunk.at.topic in self._read:
                self._tail.add(chunk)
        for at in {*ends, *passed}:
            self._ends[at] = (passed.get(at, self.first(at)), ends.get(at, self.end(at)))
        self.appends += 1

    def chunks(self, at: TopicPartition, offset: int) -> list[Chunk]:
        """Chunks from the one that holds ``offset``, some of those that are there; none when ``offset`` is the end."""
        end = self.end(at)
        if offset >= end:
            return []
        newest = self._tail.find(at, offset)
        if newest is not None:
            return [newest]
        found: list[Chunk] = []
        size = 0
        for chunk in self._stored(at, offset):
            # What another is committing right now is not readable yet.
            if chunk.start >= end:
                break
            found.append(chunk)
            size += chunk.bytes
            if size >= AHEAD_BYTES or self._tail.find(at, chunk.end) is not None:
                break
        if not found or found[0].start > offset:
            raise CorruptState(
                f"{at.topic}[{at.partition}] has no record at offset {offset}, expected all to {end}", remedy=REMEDY
            )
        return found

    def read(self, at: TopicPartition, start: int, end: int | None) -> Iterator[Record]:
        """Records of ``[start, end)`` as far as they are there, straight from the database."""
        first, last = self._ends.get(at, (0, 0))
        start = max(start, first)
        end = last if end is None else min(end, last)
        if start >= end:
            return
        for chunk in self._stored_once(at, start):
            if chunk.start >= end:
                return
            if chunk.start >= start and chunk.end <= end:
                yield from chunk.records
            else:
                yield from (record for record in chunk.records if start <= record.offset < end)

    def sizes(self, at: TopicPartition, start: int) -> Iterator[tuple[int, int]]:
        """Of each chunk from ``start`` on: the offset after its last record, and its bytes."""
        for key, data in self._view.scan_once(_family(at.topic), chunk_key(at, start), chunks_end(at)):
            yield last_offset(key) + 1, len(data)

    def since(self, at: TopicPartition, time_ms: int) -> int:
        """The first offset that was written at a time or later. Times of a partition hardly ever go back; where they do, the answer is
        right for one of the places where they pass ``time_ms``."""
        low, high = self._ends.get(at, (0, 0))
        while low < high:
            middle = (low + high) // 2
            chunk = next(self._stored(at, middle))
            if chunk.records[0].time_ms >= time_ms:
                high = max(low, chunk.start)
            else:
                low = chunk.end
        return low

    def _stored(self, at: TopicPartition, offset: int) -> Iterator[Chunk]:
        entries = self._view.scan(_family(at.topic), chunk_key(at, offset), chunks_end(at))
        return (_unpacked(at, key, data) for key, data in entries)

    def _stored_once(self, at: TopicPartition, offset: int) -> Iterator[Chunk]:
        entries = self._view.scan_once(_family(at.topic), chunk_key(at, offset), chunks_end(at))
        return (_unpacked(at, key, data) for key, data in entries)


def _unpacked(at: TopicPartition, key: bytes, data: bytes) -> Chunk:
    records = unpack_chunk(at, last_offset(key), data)
    chunk = Chunk(at, records, len(data))
    chunk.place(records[0].offset)
    return chunk


def _memory(chunk: Chunk) -> int:
    return chunk.bytes + RECORD_OVERHEAD * chunk.count


def _family(topic: str) -> str:
    return PASSING if BY_NAME[topic].trimmed_when_passed else LOG
