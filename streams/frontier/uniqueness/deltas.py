"""What a checkpoint logs of known URLs: the entries that were admitted or changed, sorted, in few records.

    | "D" 1 | 2 | 0 0 | n 4 | key 8 | ... | check 4 | ... | facts 4 | ... |

The second byte tells these from the plain puts and deletes of gregor/state/packed.py, whose is 0 or 1. Numbers are little-endian. The
records of a checkpoint follow each other in key order; a record's key is its first repository, for whoever looks at the changelog.
"""

from collections.abc import Sequence
from struct import Struct as Packing
from typing import Final

from gregor.state.packed import Mutation
from schemas.codec import Undecodable
from streams.frontier.uniqueness.entries import (
    ENTRY_BYTES,
    Entries,
    ascending,
    join_parts,
    merge,
    no_entries,
    pack_parts,
)
from streams.frontier.uniqueness.keys import repositories_of

_HEAD: Final = Packing("<1sBHI")
_ENTRIES: Final = 2
RECORD_ENTRIES: Final = 32 * 1024
"""512 KB a record: far below what a broker refuses, and few enough records for any checkpoint."""


def pack_entries(entries: Entries) -> list[Mutation]:
    bounds = [*range(0, len(entries), RECORD_ENTRIES), len(entries)]
    return [
        Mutation(
            b"seen/%03x" % int(repositories_of(entries.keys[at : at + 1])[0]),
            _HEAD.pack(b"D", _ENTRIES, 0, len(part) // ENTRY_BYTES) + part,
        )
        for at, part in zip(bounds, pack_parts(entries, bounds), strict=False)
    ]


def holds_entries(delta: bytes) -> bool:
    """Whether a delta of the changelog is one of these."""
    return delta[1:2] == bytes([_ENTRIES])


def unpack_entries(deltas: Sequence[bytes]) -> Entries:
    """The entries of all deltas of a checkpoint; a later one counts where two speak of the same URL."""
    whole = join_parts([_part(delta) for delta in deltas])
    if ascending(whole):
        return whole
    together = no_entries()
    for delta in deltas:
        entries = join_parts([_part(delta)])
        if not ascending(entries):
            raise Undecodable("a delta of known URLs is not sorted")
        together = merge(together, entries)
    return together


def _part(delta: bytes) -> memoryview:
    if len(delta) < _HEAD.size:
        raise Undecodable("a delta of known URLs ends within its head")
    mark, kind, _, count = _HEAD.unpack_from(delta)
    if mark != b"D" or kind != _ENTRIES:
        raise Undecodable("not a delta of known URLs")
    if len(delta) != _HEAD.size + count * ENTRY_BYTES:
        raise Undecodable(f"a delta of {count} known URLs has {len(delta)} bytes")
    return memoryview(delta)[_HEAD.size :]
