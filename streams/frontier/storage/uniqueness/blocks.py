"""Known URLs as they stand in the state: the families ``runs`` and ``seen``, drawn as bytes.

    runs   | region 1 | number 4 |    run: what one checkpoint added or changed in a region
             -> | key 8 | ... | check 4 | ... | facts 4 | ... |        n keys, n checks, n facts; n = length / 16
    seen   | start 8 | 0 |            directory of a repository
             -> | start 8 | ... |                                      of all its blocks but the first, ascending
           | start 8 | 1 |            block
             -> | key 8 | ... | check 4 | ... | facts 4 | ... |        as a run

Numbers within keys are big-endian, within values little-endian. A block holds the URLs from its start up to the next block's; a
repository's first block starts at its first possible key, every other one at the key that was its first when it came to be. A
repository's directory stands under the start of its first block, and is left out while that is the only one. A block that is not there
is empty.

Small servers share blocks. A region is sixteen repositories, the first byte of a key. What a checkpoint adds stands in one run for each
region, the later one counting where two speak of a URL, until the owner of the partition says in the log which ranges of keys are
folded into their blocks (recent.py); what is left of the region's runs is then written as one. A block that grew larger than
``block_entries`` is cut into equal parts. All of this looks at a region's runs and at single blocks alone: that is what lets a restore
from the middle of the log arrive at the same bytes.

Runs have a family of their own, because every checkpoint writes into all regions: beside blocks, each file that RocksDB makes of them
would overlap the whole store and have it written anew. It stands before ``seen``, so that a snapshot brings runs before blocks.
"""

from collections.abc import Sequence
from struct import Struct as Packing
from typing import Final

import numpy as np
from msgspec import Struct

from gregor.errors import CorruptState
from gregor.runtime.state.store import StateReader
from streams.frontier.storage.uniqueness.entries import ENTRY_BYTES, Entries, join_parts
from streams.frontier.storage.uniqueness.keys import U64, Order, first_key, repositories_of

RUNS: Final = "runs"
SEEN: Final = "seen"
WHOLE: Final = {RUNS: 1, SEEN: 8}
"""Lengths of key prefixes that a snapshot piece never cuts: a region's runs travel together, and a directory with its first block."""
DIRECTORY: Final = b"\0"
BLOCK: Final = b"\1"

_RUN: Final = Packing(">BI")
_START: Final = np.dtype("<u8")
_NAME: Final = np.dtype(">u8")


class BlockLayout(Struct, frozen=True):
    """Sizes that decide when blocks are cut; live and restore must use the same."""

    block_entries: int = 256
    """At most 4 KB: what a stray URL costs to read when its block is not in memory. Larger ones take less processor time in batches that
    touch most of them, smaller ones more in all."""

    def parts(self, entries: int) -> int:
        """Into how many blocks so many entries are cut; each is then three quarters full at the most."""
        return 1 if entries <= self.block_entries else -(-entries * 4 // (self.block_entries * 3))


def names(starts: U64) -> list[bytes]:
    """Starts as the first eight bytes of state keys."""
    packed = starts.astype(_NAME).tobytes()
    return [packed[at : at + 8] for at in range(0, len(packed), 8)]


def start_of(key: bytes) -> int:
    return int.from_bytes(key[:8], "big")


def run_key(region: int, number: int) -> bytes:
    return _RUN.pack(region, number)


def number_of_run(key: bytes) -> int:
    return int.from_bytes(key[1:], "big")


def read_runs(state: StateReader, region: int) -> list[tuple[bytes, bytes]]:
    """The runs of a region, the oldest first."""
    return list(state.scan(RUNS, bytes([region]), bytes([region + 1]) if region < 0xFF else None))


def read_entries(values: Sequence[bytes | None]) -> Entries:
    """Packed entries, one value after the other; what is not there is empty."""
    parts = [value for value in values if value]
    if any(len(part) % ENTRY_BYTES for part in parts):
        raise CorruptState("a block of known URLs has a length that is no multiple of 16 bytes")
    return join_parts(parts)


def pack_directory(starts: U64) -> bytes:
    return starts.astype(_START).tobytes()


def unpack_directory(value: bytes | None) -> U64:
    if value is None:
        return np.empty(0, np.uint64)
    if len(value) % 8:
        raise CorruptState("a directory of blocks has a length that is no multiple of 8 bytes")
    return np.frombuffer(value, _START)


def read_starts(state: StateReader, repositories: Sequence[int]) -> U64:
    """The starts of all blocks of these repositories (ascending), each one's first included."""
    firsts = np.array([first_key(repository) for repository in repositories], dtype=np.uint64)
    found = state.get_many(SEEN, [name + DIRECTORY for name in names(firsts)])
    parts = [firsts, *(unpack_directory(value) for value in found if value)]
    return np.sort(np.concatenate(parts))


def touched_blocks(starts: U64, keys: U64) -> tuple[Order, Order]:
    """Of blocks in order and sorted keys: the blocks that hold any, and the bounds of each one's keys (one more than blocks)."""
    if len(keys) < len(starts):
        owner = np.searchsorted(starts, keys, side="right") - 1
        begins = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))[: len(keys)]
        return owner[begins], np.append(begins, len(keys))
    bounds = np.append(np.searchsorted(keys, starts), len(keys))
    touched = np.flatnonzero(bounds[1:] > bounds[:-1])
    return touched, np.append(bounds[touched], len(keys))


def inner_cuts(layout: BlockLayout, keys: U64, low: int, high: int) -> list[int]:
    """Where the sorted keys ``[low, high)`` of one block are cut into equal blocks; never between equal keys."""
    parts = layout.parts(high - low)
    cuts: list[int] = []
    for part in range(1, parts):
        at = low + (high - low) * part // parts
        if keys[at] == keys[at - 1]:
            at = low + int(np.searchsorted(keys[low:high], keys[at]))
        if at > (cuts[-1] if cuts else low):
            cuts.append(at)
    return cuts


def unique_repositories(keys: U64) -> list[int]:
    """Of sorted keys."""
    found = repositories_of(keys)
    first = np.concatenate(([True], found[1:] != found[:-1]))[: len(found)]
    return [int(repository) for repository in found[first]]
