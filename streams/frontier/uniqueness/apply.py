"""Logged entries become deltas, blocks and splits; snapshot pieces replace blocks. The same for live state and for a restore.

A restore from a truncated log begins with nothing, at the beginning of a snapshot cycle. Entries then meet repositories whose blocks
have not come yet: they are put into blocks of their own making, which the pieces replace, from the first start to the last. What a
piece brought stays equal to the live state from then on, because no entry from above its end can reach a block below:

- a piece ends at a start that the live directory has, and the directory of the repository it ends in came with it or before it;
- a piece that begins within a repository replaces the directory's starts in its range by its own, and leaves its end as a start.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from gregor.state.packed import Piece
from gregor.state.store import StateReader, StateWriter
from streams.frontier.uniqueness.blocks import (
    BLOCK,
    DELTA,
    DIRECTORY,
    SEEN,
    Layout,
    inner_cuts,
    names,
    pack_directory,
    read_entries,
    read_starts,
    start_of,
    touched_blocks,
    unique_repositories,
    unpack_directory,
)
from streams.frontier.uniqueness.deltas import unpack_entries
from streams.frontier.uniqueness.entries import Entries, merge, pack_parts
from streams.frontier.uniqueness.keys import U64, first_key, repositories_of, repository_of_key

_CHUNK: Final = 2048
"""Blocks handled at once: bounds memory, and is many enough for whole-array work."""


def apply(layout: Layout, state: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    """Put the logged entries of one checkpoint into the state, which is as of the checkpoint before."""
    entries = unpack_entries(deltas)
    if not len(entries):
        return
    starts = read_starts(state, unique_repositories(entries.keys))
    touched, bounds = touched_blocks(starts, entries.keys)
    splits: list[U64] = []
    for at in range(0, len(touched), _CHUNK):
        chunk = touched[at : at + _CHUNK]
        part = entries[int(bounds[at]) : int(bounds[at + len(chunk)])]
        splits += _apply_chunk(layout, state, starts[chunk], part, writer)
    if splits:
        _write_directories(starts, np.concatenate(splits), writer)


def _apply_chunk(layout: Layout, state: StateReader, starts: U64, added: Entries, writer: StateWriter) -> list[U64]:
    """Merge into the deltas of the blocks at ``starts``; returns the starts of blocks that were split off."""
    prefixes = names(starts)
    deltas = merge(read_entries(state.get_many(SEEN, [prefix + DELTA for prefix in prefixes])), added)
    bounds = [0, *np.searchsorted(deltas.keys, starts[1:]).tolist(), len(deltas)]
    full = np.flatnonzero(np.diff(bounds) > layout.delta_entries).tolist()
    for i, value in enumerate(pack_parts(deltas, bounds)):
        if bounds[i + 1] - bounds[i] <= layout.delta_entries:
            writer.put(SEEN, prefixes[i] + DELTA, value)
    if not full:
        return []
    for i in full:
        writer.delete(SEEN, prefixes[i] + DELTA)
    overflow = np.repeat(np.diff(bounds) > layout.delta_entries, np.diff(bounds))
    blocks = read_entries(state.get_many(SEEN, [prefixes[i] + BLOCK for i in full]))
    return [_write_blocks(layout, starts[full], merge(blocks, deltas[overflow]), writer)]


def _write_blocks(layout: Layout, starts: U64, entries: Entries, writer: StateWriter) -> U64:
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
    for key, value in piece.entries:
        writer.put(SEEN, key, value)
    low = start_of(piece.start)
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
