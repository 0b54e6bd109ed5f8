"""Bytes of the embedded transport: keys, chunks of records, positions. Integers of keys are big-endian, so that they sort; others little.

Families ``transport.log`` and ``transport.passing`` (topics that are trimmed as they are passed), one entry a chunk:

    key    | topic | 00 | partition 2 | LAST offset of the chunk 8 |
    value  | count 4 | time, ms 8 | key length 4, value length 4, header length 4 | x count | key | value | header | x count
           length FFFFFFFF: there is none

A chunk is found by its last offset because the first key at or after an offset is then the chunk that holds it: one seek, forward. What a
group has passed is a range of keys that ends where its position begins.

Family ``meta``:

    key    | identity |                                         value  JSON: format, crawl, partitions, placement
    key    | written |                                          value  | batches written so far 8 |
    key    | e | topic | 00 | partition 2 |                     value  | first offset 8 | offset after the last 8 |
    key    | p | stage | 00 | topic | 00 | partition 2 |        value  | offset 8 | metadata, UTF-8 |
    key    | c | stage | 00 | partition 2 |                     value  JSON: schemas.changelog.Checkpoint

State of a stage, in families of the stage's own names:

    key    | stage | 00 | partition 2 | key |
"""

from collections.abc import Iterator, Sequence
from struct import Struct as Layout
from struct import error as LayoutError
from struct import pack, unpack_from
from typing import Final

from gregor.errors import CorruptState
from gregor.runtime.transport.port import Output, Position, Record, TopicPartition

FORMAT: Final = 1
CHUNK_BYTES: Final = 64 * 1024
"""A chunk is closed beyond this: large enough to make puts rare, small enough that a reader of a few records does not unpack many."""
LOG: Final = "transport.log"
PASSING: Final = "transport.passing"
IDENTITY: Final = b"identity"
WRITTEN: Final = b"written"
ENDS: Final = b"e"
POSITIONS: Final = b"p"
CHECKPOINTS: Final = b"c"

REMEDY: Final = "put back a copy of the folder, or remove the folder to begin the crawl anew"

_HEAD: Final = Layout("<IQ")
_ENDS: Final = Layout("<QQ")
_OFFSET: Final = Layout("<Q")
_KEY_TAIL: Final = Layout(">HQ")
_PARTITION: Final = Layout(">H")
_NONE: Final = 0xFFFFFFFF
_END_OF_OFFSETS: Final = 0xFFFFFFFFFFFFFFFF


def chunk_key(at: TopicPartition, offset: int) -> bytes:
    """Where the chunk that holds ``offset`` is found: at this key or the first one after it."""
    return at.topic.encode() + b"\0" + _KEY_TAIL.pack(at.partition, offset)


def chunks_end(at: TopicPartition) -> bytes:
    """After every chunk of a partition."""
    return chunk_key(at, _END_OF_OFFSETS)


def last_offset(key: bytes) -> int:
    return int.from_bytes(key[-8:], "big")


def pack_chunks(outputs: Sequence[Output], time_ms: int) -> Iterator[tuple[int, int, bytes]]:
    """Outputs of one partition as chunks: how many each holds, their bytes without lengths, and the packed chunk."""
    lengths: list[int] = []
    bodies: list[bytes] = []
    size = 0
    for output in outputs:
        key, value, header = output.key, output.value, output.header
        key_length, value_length = len(key), len(value)
        size += key_length + value_length
        if header is None:
            lengths += (key_length, value_length, _NONE)
            bodies += (key, value)
        else:
            lengths += (key_length, value_length, len(header))
            bodies += (key, value, header)
            size += len(header)
        if size >= CHUNK_BYTES:
            yield len(lengths) // 3, size, _joined(lengths, bodies, time_ms)
            lengths, bodies, size = [], [], 0
    if lengths:
        yield len(lengths) // 3, size, _joined(lengths, bodies, time_ms)


def _joined(lengths: Sequence[int], bodies: Sequence[bytes], time_ms: int) -> bytes:
    return b"".join((_HEAD.pack(len(lengths) // 3, time_ms), pack(f"<{len(lengths)}I", *lengths), *bodies))


def unpack_chunk(at: TopicPartition, last: int, data: bytes) -> list[Record]:
    topic, partition = at
    try:
        count, time_ms = _HEAD.unpack_from(data)
        lengths = unpack_from(f"<{3 * count}I", data, _HEAD.size)
    except LayoutError as error:
        raise _broken(at, last) from error
    place = _HEAD.size + 12 * count
    records = []
    offset = last - count + 1
    fields = iter(lengths)
    for key_length, value_length, header_length in zip(fields, fields, fields, strict=True):
        key = value = header = None
        if key_length != _NONE:
            key = data[place : place + key_length]
            place += key_length
        if value_length != _NONE:
            value = data[place : place + value_length]
            place += value_length
        if header_length != _NONE:
            header = data[place : place + header_length]
            place += header_length
        records.append(Record(topic, partition, offset, key, value, header, time_ms))
        offset += 1
    if place != len(data) or not records or records[0].offset < 0:
        raise _broken(at, last)
    return records


def ends_key(at: TopicPartition) -> bytes:
    return ENDS + at.topic.encode() + b"\0" + _PARTITION.pack(at.partition)


def unpack_ends_key(key: bytes) -> TopicPartition:
    return TopicPartition(key[1:-3].decode(), _PARTITION.unpack(key[-2:])[0])


def pack_ends(first: int, end: int) -> bytes:
    return _ENDS.pack(first, end)


def unpack_ends(value: bytes) -> tuple[int, int]:
    first, end = _ENDS.unpack(value)
    return first, end


def position_key(stage: str, at: TopicPartition) -> bytes:
    return POSITIONS + stage.encode() + b"\0" + at.topic.encode() + b"\0" + _PARTITION.pack(at.partition)


def unpack_position_key(key: bytes) -> tuple[str, TopicPartition]:
    stage, topic = key[1:-3].decode().split("\0")
    return stage, TopicPartition(topic, _PARTITION.unpack(key[-2:])[0])


def pack_position(position: Position) -> bytes:
    return _OFFSET.pack(position.offset) + position.metadata.encode()


def unpack_position(value: bytes) -> Position:
    return Position(_OFFSET.unpack_from(value)[0], value[_OFFSET.size :].decode())


def state_prefix(stage: str, partition: int) -> bytes:
    return stage.encode() + b"\0" + _PARTITION.pack(partition)


def checkpoint_key(stage: str, partition: int) -> bytes:
    return CHECKPOINTS + state_prefix(stage, partition)


def unpack_checkpoint_key(key: bytes) -> tuple[str, int]:
    return key[1:-3].decode(), _PARTITION.unpack(key[-2:])[0]


def pack_count(count: int) -> bytes:
    return _OFFSET.pack(count)


def unpack_count(value: bytes | None) -> int:
    return int(_OFFSET.unpack(value)[0]) if value else 0


def _broken(at: TopicPartition, last: int) -> CorruptState:
    return CorruptState(
        f"the chunk of {at.topic}[{at.partition}] that ends at offset {last} cannot be read back", remedy=REMEDY
    )
