"""What a checkpoint logs of the registry: many puts of one family in short form; other families as plain puts and deletes.

    | "D" 1 | 4 | family 1 | count 4 | key length 2 | ... | value length 4 | ... | key | ... | value | ... |

Much of it makes several records. Nothing depends on what was there before, so that a delta may meet any part of a state. Numbers are
little-endian.
"""

from collections.abc import Iterator, Sequence
from struct import Struct as Layout
from struct import error as LayoutError
from typing import Final

import numpy as np
import numpy.typing as npt

from gregor.runtime.state.packed import Mutation, Operation, apply_deltas, pack_delta
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from schemas.codec import Undecodable
from streams.coordinator.families import FAMILIES, NUMBERS
from streams.frontier.storage.uniqueness.apply import apply as apply_entries
from streams.frontier.storage.uniqueness.apply import apply_piece
from streams.frontier.storage.uniqueness.blocks import SEEN, WHOLE, BlockLayout
from streams.frontier.storage.uniqueness.deltas import holds_entries

RECORD_BYTES: Final = 1024 * 1024
"""After which a record is ended: with the longest row behind it, it is below what a broker refuses."""
_HEAD: Final = Layout("<1sBBI")
_PUTS: Final = 4
_LAYOUT: Final = BlockLayout()


def pack_puts(family: str, keys: Sequence[bytes], values: Sequence[bytes]) -> Iterator[Mutation]:
    """Keys and values of one length; in the order of the keys, in which RocksDB takes them the fastest."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    keys, values = [keys[index] for index in order], [values[index] for index in order]
    lengths = np.array([len(key) for key in keys], "<u2"), np.array([len(value) for value in values], "<u4")
    for part in _parts(lengths[0].astype(np.int64) + lengths[1]):
        some = keys[part]
        head = _HEAD.pack(b"D", _PUTS, NUMBERS[family], len(some))
        sizes = (one[part].tobytes() for one in lengths)
        yield Mutation(family.encode(), b"".join((head, *sizes, *some, *values[part])))


def pack_operations(name: str, operations: Sequence[Operation]) -> Iterator[Mutation]:
    for part in _parts(np.array([len(key) + len(value or b"") + 8 for _, key, value in operations], np.int64)):
        yield Mutation(name.encode(), pack_delta(operations[part]))


def _parts(sizes: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Ranges of about RECORD_BYTES each, of what has these sizes."""
    ends = np.cumsum(sizes)
    begin, before = 0, 0
    while begin < len(sizes):
        end = int(np.searchsorted(ends, before + RECORD_BYTES)) + 1
        yield slice(begin, end)
        begin, before = end, int(ends[min(end, len(ends)) - 1])


def _apply_puts(delta: bytes, writer: StateWriter) -> None:
    try:
        _, _, family, count = _HEAD.unpack_from(delta)
    except LayoutError as error:
        raise Undecodable("puts end within their head") from error
    if family >= len(FAMILIES):
        raise Undecodable(f"expected one of {len(FAMILIES)} families, found number {family}")
    begin = _HEAD.size + count * 6
    if begin > len(delta):
        raise Undecodable(f"{count} puts end within their lengths")
    keys = begin + np.cumsum(np.frombuffer(delta, "<u2", count, _HEAD.size), dtype=np.int64)
    middle = int(keys[-1]) if count else begin
    values = middle + np.cumsum(np.frombuffer(delta, "<u4", count, _HEAD.size + count * 2), dtype=np.int64)
    if (int(values[-1]) if count else middle) != len(delta):
        raise Undecodable(f"{count} puts have another length than they say")
    key_at, value_at = begin, middle
    entries = []
    for key_end, value_end in zip(keys.tolist(), values.tolist(), strict=True):
        entries.append((delta[key_at:key_end], delta[value_at:value_end]))
        key_at, value_at = key_end, value_end
    writer.put_all(FAMILIES[family], entries)


def apply(state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    """The apply function of the coordinator's state."""
    apply_entries(_LAYOUT, state, [delta for delta in deltas if holds_entries(delta)], writer)
    for delta in deltas:
        kind = delta[1:2]
        if kind == bytes([_PUTS]):
            _apply_puts(delta, writer)
        elif kind != b"\2":
            apply_deltas(FAMILIES, [delta], writer)


STATE: Final = StateSpec(FAMILIES, apply, WHOLE, {SEEN: apply_piece})
