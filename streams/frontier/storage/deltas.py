"""What a checkpoint logs of one server: its queue's changes in short form, then plain puts and deletes of the other families.

    | "D" 1 | 3 | name length 2 | behind length 1 | removed 4 | added 4 | bytes of added 4 |
    | name | behind | place 11 | ... | place 11 | ... | value length 2 | ... | value | ... | operations as in runtime/state/packed.py |
      removed -----^             ^--- added ---------------------------------------^

Applied in this order: everything of the queue before ``behind`` goes (empty: nothing), then the ``removed`` places, then the ``added``
ones are put, then the operations. Much of it makes several records, which follow each other in the same order, so that they lead where
one would. Nothing depends on what was there before, so that a delta may meet any part of a state. Numbers are little-endian.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from struct import Struct as Layout
from struct import error as LayoutError
from struct import pack
from typing import Final

import numpy as np

from gregor.runtime.state.packed import Mutation, Operation, apply_deltas, pack_delta
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from schemas.codec import Undecodable
from streams.frontier.storage.families import FAMILIES, QUEUE
from streams.frontier.storage.queue_codec import PLACE_BYTES
from streams.frontier.storage.uniqueness.apply import apply as apply_entries
from streams.frontier.storage.uniqueness.apply import apply_piece
from streams.frontier.storage.uniqueness.blocks import SEEN, WHOLE
from streams.frontier.storage.uniqueness.blocks import BlockLayout as SeenLayout
from streams.frontier.storage.uniqueness.deltas import holds_entries

SEEN_LAYOUT: Final = SeenLayout()
RECORD_BYTES: Final = 1024 * 1024
"""After which a record is ended: with the longest value behind it, the rules of a robots.txt, it is below what a broker refuses."""

_HEAD: Final = Layout("<1sBHBIII")
_SERVER: Final = 3
_GONE_BYTES: Final = RECORD_BYTES // PLACE_BYTES * PLACE_BYTES


def pack_server(
    name: bytes, behind: bytes, removed: Set[bytes], added: Mapping[bytes, bytes], operations: Sequence[Operation]
) -> Iterator[Mutation]:
    """One record, or several when there is much."""
    places, values = list(added), list(added.values())
    gone = b"".join(sorted(removed))
    if len(gone) + sum(map(len, values)) + _size(operations) < RECORD_BYTES:
        yield _record(name, behind, gone, places, values, operations)
        return
    for at in range(0, len(gone), _GONE_BYTES):
        yield _record(name, behind, gone[at : at + _GONE_BYTES])
        behind = b""
    for part in _parts([PLACE_BYTES + len(value) for value in values]):
        yield _record(name, behind, b"", places[part], values[part])
        behind = b""
    for part in _parts([_size([operation]) for operation in operations]):
        yield _record(name, behind, operations=operations[part])
        behind = b""


def pack_operations(name: bytes, operations: Sequence[Operation]) -> Iterator[Mutation]:
    """Plain puts and deletes that belong to no server, likewise."""
    for part in _parts([_size([operation]) for operation in operations]):
        yield Mutation(name, pack_delta(operations[part]))


def _size(operations: Sequence[Operation]) -> int:
    return sum([len(key) + len(value or b"") for _, key, value in operations])


def _parts(sizes: Sequence[int]) -> Iterator[slice]:
    """Ranges of about RECORD_BYTES each, of what has these sizes."""
    begin = gathered = 0
    for at, size in enumerate(sizes):
        if gathered >= RECORD_BYTES:
            yield slice(begin, at)
            begin, gathered = at, 0
        gathered += size
    if sizes:
        yield slice(begin, len(sizes))


def _record(
    name: bytes,
    behind: bytes,
    gone: bytes = b"",
    places: Sequence[bytes] = (),
    values: Sequence[bytes] = (),
    operations: Sequence[Operation] = (),
) -> Mutation:
    rest = pack_delta(operations)[1:]
    body = b"".join(values)
    head = _HEAD.pack(b"D", _SERVER, len(name), len(behind), len(gone) // PLACE_BYTES, len(places), len(body))
    lengths = pack(f"<{len(values)}H", *map(len, values))
    return Mutation(name, b"".join((head, name, behind, gone, *places, lengths, body, rest)))


def _apply_server(delta: bytes, writer: StateWriter) -> None:
    try:
        _, _, name_length, behind_length, removed, added, body = _HEAD.unpack_from(delta)
    except LayoutError as error:
        raise Undecodable("a server's delta ends within its head") from error
    at = _HEAD.size
    prefix = delta[at : at + name_length] + b"\0"
    at += name_length
    behind = delta[at : at + behind_length]
    at += behind_length
    places = at + removed * PLACE_BYTES
    lengths = places + added * PLACE_BYTES
    value = lengths + added * 2
    end = value + body
    if end > len(delta):
        raise Undecodable("a server's delta ends before its queue does")
    if behind:
        writer.delete_range(QUEUE, prefix, prefix + behind)
    for place in range(at, places, PLACE_BYTES):
        writer.delete(QUEUE, prefix + delta[place : place + PLACE_BYTES])
    if added:
        _put_queue(prefix, delta, places, added, end, writer)
    elif body:
        raise Undecodable("a server's delta has values without places")
    if end < len(delta):
        apply_deltas(FAMILIES, [b"D" + delta[end:]], writer)


def _put_queue(prefix: bytes, delta: bytes, places: int, added: int, end: int, writer: StateWriter) -> None:
    """In order: RocksDB then finds the place of each key beside the one before."""
    lengths = places + added * PLACE_BYTES
    highs = lengths + added * 2 + np.cumsum(np.frombuffer(delta, "<u2", added, lengths), dtype=np.int64)
    if int(highs[-1]) != end:
        raise Undecodable("a server's delta has a queue of another length than it says")
    lows = np.concatenate(([lengths + added * 2], highs[:-1]))
    order = np.frombuffer(delta, f"S{PLACE_BYTES}", added, places).argsort()
    where = (places + PLACE_BYTES * order).tolist()
    writer.put_all(
        QUEUE,
        [
            (prefix + delta[place : place + PLACE_BYTES], delta[low:high])
            for place, low, high in zip(where, lows[order].tolist(), highs[order].tolist(), strict=True)
        ],
    )


def apply(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    """The apply function of the frontier's state."""
    apply_entries(SEEN_LAYOUT, state, [delta for delta in deltas if holds_entries(delta)], writer)
    for delta in deltas:
        kind = delta[1:2]
        if kind == b"\3":
            _apply_server(delta, writer)
        elif kind != b"\2":
            apply_deltas(FAMILIES, [delta], writer)


STATE: Final = StateSpec(FAMILIES, apply, WHOLE, {SEEN: apply_piece})
