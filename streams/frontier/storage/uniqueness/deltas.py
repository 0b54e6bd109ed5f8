"""What a checkpoint logs of known URLs: the entries that were admitted or changed, sorted, in few records.

    | "D" 1 | 2 | m 2 | n 4 | number 4 | low 8 | high 8 | ... | key 8 | ... | check 4 | ... | facts 4 | ... |
                                       ^--- m ranges -----------^--- n entries ---------------------------^

The second byte tells these from the plain puts and deletes of gregor/runtime/state/packed.py, whose is 0 or 1. Numbers are little-endian.
``number`` is that of the checkpoint's runs. The ranges, both ends included, are those whose waiting entries, these here among them, are
folded into their blocks with this checkpoint; all of them stand in its first record. The records of a checkpoint follow each other in
key order; a record's key is its first repository, for whoever looks at the changelog.
"""

from collections.abc import Sequence
from struct import Struct as Packing
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from gregor.runtime.state.packed import Mutation
from schemas.codec import Undecodable
from streams.frontier.storage.uniqueness.entries import (
    ENTRY_BYTES,
    Entries,
    ascending,
    join_parts,
    merge,
    no_entries,
    pack_parts,
)
from streams.frontier.storage.uniqueness.keys import U64, repositories_of

_HEAD: Final = Packing("<1sBHII")
_ENTRIES: Final = 2
_RANGE_BYTES: Final = 16
RECORD_ENTRIES: Final = 32 * 1024
"""512 KB a record: far below what a broker refuses, and few enough records for any checkpoint."""
MOST_RANGES: Final = 0xFFFF


class Ranges(Struct, frozen=True):
    """Ranges of keys in ascending order that do not overlap, both ends included."""

    lows: U64
    highs: U64

    def __len__(self) -> int:
        return len(self.lows)

    def hold(self, keys: U64) -> npt.NDArray[np.bool_]:
        """Which of sorted keys are within one of them."""
        edges = np.empty(2 * len(self) + 2, dtype=np.intp)
        edges[0], edges[-1] = 0, len(keys)
        edges[1:-1:2] = np.searchsorted(keys, self.lows)
        edges[2:-1:2] = np.searchsorted(keys, self.highs, side="right")
        return np.repeat(np.arange(len(edges) - 1) % 2 == 1, np.diff(edges))


def no_ranges() -> Ranges:
    return Ranges(np.empty(0, np.uint64), np.empty(0, np.uint64))


class LoggedEntries(Struct, frozen=True):
    """One checkpoint's changes of known URLs."""

    entries: Entries
    number: int
    ranges: Ranges


def pack_entries(logged: LoggedEntries) -> list[Mutation]:
    entries = logged.entries
    bounds = [*range(0, len(entries), RECORD_ENTRIES), len(entries)]
    ranges = np.stack((logged.ranges.lows, logged.ranges.highs), axis=1).astype("<u8").tobytes()
    records = []
    for at, part in zip(bounds, pack_parts(entries, bounds), strict=False):
        first = b"seen/%03x" % int(repositories_of(entries.keys[at : at + 1])[0])
        head = _HEAD.pack(b"D", _ENTRIES, len(ranges) // _RANGE_BYTES, len(part) // ENTRY_BYTES, logged.number)
        records.append(Mutation(first, b"".join((head, ranges, part))))
        ranges = b""
    return records


def holds_entries(delta: bytes) -> bool:
    """Whether a delta of the changelog is one of these."""
    return delta[1:2] == bytes([_ENTRIES])


def unpack_entries(deltas: Sequence[bytes]) -> LoggedEntries:
    """What all deltas of a checkpoint say together; a later one counts where two speak of the same URL."""
    parts, numbers, ranges = [], {0}, []
    for delta in deltas:
        number, folded, part = _parts(delta)
        numbers.add(number)
        ranges.append(folded)
        parts.append(part)
    pairs = np.frombuffer(b"".join(ranges), "<u8").reshape(-1, 2)
    return LoggedEntries(_together(parts), max(numbers), Ranges(pairs[:, 0].copy(), pairs[:, 1].copy()))


def _together(parts: Sequence[memoryview]) -> Entries:
    whole = join_parts(parts)
    if ascending(whole):
        return whole
    together = no_entries()
    for part in parts:
        entries = join_parts([part])
        if not ascending(entries):
            raise Undecodable("a delta of known URLs is not sorted")
        together = merge(together, entries)
    return together


def _parts(delta: bytes) -> tuple[int, memoryview, memoryview]:
    """Number, ranges and entries."""
    if len(delta) < _HEAD.size:
        raise Undecodable("a delta of known URLs ends within its head")
    mark, kind, ranges, count, number = _HEAD.unpack_from(delta)
    if mark != b"D" or kind != _ENTRIES:
        raise Undecodable("not a delta of known URLs")
    entries = _HEAD.size + ranges * _RANGE_BYTES
    if len(delta) != entries + count * ENTRY_BYTES:
        raise Undecodable(f"a delta of {count} known URLs and {ranges} ranges has {len(delta)} bytes")
    view = memoryview(delta)
    return number, view[_HEAD.size : entries], view[entries:]
