"""Logged entries become runs, folded ranges become blocks and splits; snapshot pieces replace both. The same for live and restore.

A restore from a truncated log begins with nothing, at the beginning of a snapshot cycle. Entries then meet regions whose runs and blocks
have not come yet: they are put into runs and blocks of their own making, which the pieces replace, from the first start to the last.
What a piece brought stays equal to the live state from then on:

- a region's runs come together, before all blocks; what is folded is said in the log, and how depends on runs and on single blocks;
- no entry from above a piece's end can reach a block below: it ends at a start that the live directory has, and the directory of the
  repository it ends in came with it or before it;
- a piece that begins within a repository replaces the directory's starts in its range by its own, and leaves its end as a start.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from gregor.runtime.state.packed import Piece
from gregor.runtime.state.store import StateReader, StateWriter
from streams.frontier.storage.uniqueness.blocks import (
    BLOCK,
    DIRECTORY,
    RUNS,
    SEEN,
    BlockLayout,
    inner_cuts,
    names,
    pack_directory,
    read_entries,
    read_runs,
    read_starts,
    run_key,
    start_of,
    touched_blocks,
    unique_repositories,
    unpack_directory,
)
from streams.frontier.storage.uniqueness.deltas import unpack_entries
from streams.frontier.storage.uniqueness.entries import Entries, merge, newest, pack_parts
from streams.frontier.storage.uniqueness.keys import (
    REGIONS,
    U64,
    first_key,
    first_key_of_region,
    regions_of,
    repositories_of,
    repository_of_key,
)

_CHUNK: Final = 8192
"""Blocks handled at once: bounds memory, and is many enough for whole-array work."""
_REGION_STARTS: Final = np.array([first_key_of_region(region) for region in range(REGIONS)], dtype=np.uint64)


def apply(layout: BlockLayout, state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    """Put the logged entries of one checkpoint into the state, which is as of the checkpoint before."""
    if not deltas:
        return
    logged = unpack_entries(deltas)
    entries = logged.entries
    if len(logged.ranges):
        folded = np.zeros(REGIONS, dtype=np.bool_)
        folded[regions_of(logged.ranges.lows).astype(np.intp)] = True
        among = folded[regions_of(entries.keys).astype(np.intp)]
        waiting = merge(_take_runs(state, np.flatnonzero(folded).tolist(), writer), entries[among])
        inside = logged.ranges.hold(waiting.keys)
        _fold(layout, state, waiting[inside], writer)
        _write_runs(waiting[~inside], logged.number, writer)
        entries = entries[~among]
    _write_runs(entries, logged.number, writer)


def _take_runs(state: StateReader, regions: Sequence[int], writer: StateWriter) -> Entries:
    """All that waits in these regions; their runs are gone."""
    values = []
    for region in regions:
        for key, value in read_runs(state, region):
            values.append(value)
            writer.delete(RUNS, key)
    return newest(read_entries(values))


def _write_runs(entries: Entries, number: int, writer: StateWriter) -> None:
    bounds = [*np.searchsorted(entries.keys, _REGION_STARTS).tolist(), len(entries)]
    regions = [region for region in range(REGIONS) if bounds[region + 1] > bounds[region]]
    cuts = [bounds[region] for region in regions] + [len(entries)]
    for region, value in zip(regions, pack_parts(entries, cuts), strict=True):
        writer.put(RUNS, run_key(region, number), value)


def _fold(layout: BlockLayout, state: StateReader, entries: Entries, writer: StateWriter) -> None:
    """Merge into the blocks, a chunk of them at a time."""
    if not len(entries):
        return
    starts = read_starts(state, unique_repositories(entries.keys))
    touched, bounds = touched_blocks(starts, entries.keys)
    splits: list[U64] = []
    for at in range(0, len(touched), _CHUNK):
        chunk = starts[touched[at : at + _CHUNK]]
        part = entries[int(bounds[at]) : int(bounds[at + len(chunk)])]
        blocks = read_entries(state.get_many(SEEN, [name + BLOCK for name in names(chunk)]))
        splits.append(_write_blocks(layout, chunk, merge(blocks, part), writer))
    together = np.concatenate(splits)
    if len(together):
        _write_directories(starts, together, writer)


def _write_blocks(layout: BlockLayout, starts: U64, entries: Entries, writer: StateWriter) -> U64:
    """The blocks at ``starts``, all of whose entries these are, cut where they are too large; returns the starts that are new."""
    bounds = [0, *np.searchsorted(entries.keys, starts[1:]).tolist(), len(entries)]
    cuts, is_new = [0], [False]
    for low, high in pairwise(bounds):
        inner = inner_cuts(layout, entries.keys, low, high)
        cuts += (*inner, high)
        is_new += [True] * len(inner) + [False]
    fresh = np.array(is_new[:-1], dtype=np.bool_)
    firsts = np.empty(len(fresh), dtype=np.uint64)
    firsts[~fresh] = starts
    firsts[fresh] = entries.keys[np.array(cuts[:-1])[fresh]]
    for prefix, value in zip(names(firsts), pack_parts(entries, cuts), strict=True):
        writer.put(SEEN, prefix + BLOCK, value)
    return firsts[fresh]


def _write_directories(starts: U64, splits: U64, writer: StateWriter) -> None:
    repositories = unique_repositories(np.sort(splits))
    together = np.sort(np.concatenate((starts, splits)))
    owner = repositories_of(together)
    for repository in repositories:
        low, high = np.searchsorted(owner, [repository, repository + 1])
        _write_directory(repository, together[low + 1 : high], writer)


def _write_directory(repository: int, starts: U64, writer: StateWriter) -> None:
    key = first_key(repository).to_bytes(8, "big") + DIRECTORY
    if len(starts):
        writer.put(SEEN, key, pack_directory(starts))
    else:
        writer.delete(SEEN, key)


def apply_piece(state: StateReader, piece: Piece, writer: StateWriter) -> None:
    """Replace the piece's range; where it begins within a repository, the directory below it learns of its blocks."""
    writer.delete_range(SEEN, piece.start, piece.end)
    writer.put_all(SEEN, piece.entries)
    low = start_of(piece.start.ljust(8, b"\0"))
    repository = repository_of_key(low)
    if low == first_key(repository):
        return
    after = first_key(repository + 1)
    high = after if piece.end is None else min(start_of(piece.end), after)
    directory = state.get(SEEN, first_key(repository).to_bytes(8, "big") + DIRECTORY)
    known = [start for start in unpack_directory(directory).tolist() if not low <= start < high]
    brought = [start for start in (start_of(key) for key, _ in piece.entries) if start < after]
    cut = [high] if high < after else []
    starts = np.array(sorted({*known, *brought, *cut}), dtype=np.uint64)
    _write_directory(repository, starts, writer)
