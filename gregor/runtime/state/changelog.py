"""A partition's store as the replica of its changelog: live commits and restores put the same records into it in the same way.

One commit stands in the changelog as

    S S ...   pieces of the rolling snapshot: the state BEFORE this commit
    D D ...   deltas, applied together
    C         the checkpoint: how far everything is, where the snapshot goes on

and a store is only ever as of a checkpoint. What it must know of itself is one record in the family META, written in the same batch as
the state. The snapshot's cursor and the cycle's beginning stand in the checkpoint, so that a restart and a restore on another machine
go on within the cycle.

A snapshot piece changes nothing in a store that has followed the log from its beginning; for one that began later, pieces replace what
deltas made of a state that they met only in part. After one whole cycle every key has been replaced and the store is exact. A restore
therefore passes over the pieces of a store that is: half of the log's bytes.

What cannot be a record of ours is passed over and kept for a dead letter: it says nothing of the state. What begins as one and cannot be
taken in is a stop: it may be part of the state.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from rocksdict import WriteBatch

from gregor.errors import CorruptState, ForeignState
from gregor.runtime.state.packed import Mutation, Piece, apply_piece, kind_of, pack_piece, unpack_piece
from gregor.runtime.state.snapshot import SnapshotCursor, next_pieces
from gregor.runtime.state.store import META, StateReader, StateSpec, StateWriter
from schemas.changelog import (
    CHECKPOINT,
    CHECKPOINT_KEY,
    DELTA,
    SNAPSHOT,
    Checkpoint,
    could_be_ours,
    decode_checkpoint,
    encode_checkpoint,
)
from schemas.codec import Undecodable, decoder, encode

_META_KEY: Final = b"replica"
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Snapshot pieces that a restore gathers before it writes them."""
MOST_FOREIGN: Final = 100
"""Records of others that are kept of one restore; the rest are counted."""
FOREIGN_BYTES: Final = 1000


class StoreIdentity(Struct, frozen=True, kw_only=True):
    """Whose state a store holds."""

    cluster: str
    """The cluster's id."""
    topic: str
    """The changelog's id, which changes when the topic is deleted and made again."""
    crawl: str
    partition: int


class Foreign(Struct, frozen=True):
    """A record that another program wrote into the changelog."""

    offset: int
    size: int
    """-1: it had no value."""
    beginning: bytes


class Database(Protocol):
    """What a replica writes to: a store, or nothing at all (rehearsal.py)."""

    @property
    def path(self) -> Path: ...

    def view(self, prefix: bytes = b"") -> StateReader: ...

    def begin(self) -> WriteBatch: ...

    def writer(self, batch: WriteBatch, prefix: bytes = b"") -> StateWriter: ...

    def write(self, batch: WriteBatch) -> None: ...


class StoreStanding(Enum):
    """How a store stands to its log before a restore."""

    NEW = "new"
    """It holds nothing: replay from the log's start."""
    BEHIND = "behind"
    """It continues: replay from ``applied``, which may already be the end."""
    OUTRUN = "outrun"
    """The log begins after ``applied``: wipe, then replay from the log's start."""


class StoreMetadata(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a store knows of itself."""

    identity: StoreIdentity
    applied: int
    """Changelog offset up to which it is applied."""
    checkpoint: Checkpoint | None = None
    since: int = -1
    """Changelog offset from which on it has followed the log with nothing before; -1: not known."""


_decode_known = decoder(StoreMetadata)


def known_of(reader: StateReader) -> StoreMetadata | None:
    """What a partition's store knows of itself; None: it is not the replica of a changelog. Raises Undecodable."""
    found = reader.get(META, _META_KEY)
    return None if found is None else _decode_known(found)


class Replica:
    """One partition of a store; use ``open``."""

    def __init__(self, store: Database, spec: StateSpec, identity: StoreIdentity, prefix: bytes) -> None:
        self._store = store
        self._spec = spec
        self._prefix = prefix
        self._identity = identity
        self._deltas: list[bytes] = []
        self._pieces: list[Piece] = []
        self._piece_bytes = 0
        self._in_commit = False
        self._owed = 0
        self._truncated = 0
        self._since = -1
        self._new = True
        self.reader: StateReader = store.view(prefix)
        self.applied = 0
        """Changelog offset up to which the store is applied; what to read next."""
        self.checkpoint: Checkpoint | None = None
        """The last one applied."""
        self.foreign: list[Foreign] = []
        """What was passed over since somebody last took it from here, the first hundred of it."""

    @classmethod
    def open(cls, store: Database, spec: StateSpec, identity: StoreIdentity, prefix: bytes = b"") -> "Replica":
        """The partition as the store has it. Raises ForeignState when it is somebody else's, CorruptState when it cannot be read."""
        replica = cls(store, spec, identity, prefix)
        try:
            meta = known_of(replica.reader)
        except Undecodable as error:
            raise CorruptState(f"{store.path}: what the store knows of itself is unreadable: {error}") from error
        if meta is not None:
            _check_identity(store, identity, meta.identity)
            replica.applied, replica.checkpoint, replica._new = meta.applied, meta.checkpoint, False
            replica._since = meta.since
        return replica

    @property
    def sequence(self) -> int:
        """Number of the last checkpoint; 0: none."""
        return self.checkpoint.sequence if self.checkpoint else 0

    @property
    def cursor(self) -> SnapshotCursor:
        """Where the next snapshot piece begins."""
        return (
            SnapshotCursor(self.checkpoint.cursor_family, self.checkpoint.cursor_key)
            if self.checkpoint
            else SnapshotCursor()
        )

    @property
    def cycle_start(self) -> int:
        """Offset before the first piece of the running snapshot cycle; -1: none is running."""
        return self.checkpoint.cycle_start if self.checkpoint else -1

    @property
    def exact(self) -> bool:
        """Whether the store is known to hold all of the state: it followed the log from its beginning, or through a whole cycle."""
        whole = self.checkpoint.restorable_from if self.checkpoint else -1
        return self._since == 0 or 0 <= self._since <= whole

    def standing(self, log_start: int, log_end: int) -> StoreStanding:
        """How to restore from a log of ``[log_start, log_end)``. Raises ForeignState when the store is ahead of it."""
        self._truncated = log_start
        if self._new:
            self._since = log_start
            return StoreStanding.NEW
        if self.applied > log_end:
            raise ForeignState(
                f"{self._store.path}: expected state up to offset {log_end} of the changelog at the most, where it ends, "
                f"found state up to offset {self.applied}"
            )
        return StoreStanding.OUTRUN if self.applied < log_start else StoreStanding.BEHIND

    def stands_as(self, checkpoint: Checkpoint) -> bool:
        """Whether the last checkpoint says all that this one would, but for the time."""
        last = self.checkpoint
        return last is not None and _said(last) == _said(checkpoint)

    def prepare(self, mutations: Sequence[Mutation], checkpoint: Checkpoint) -> list[tuple[bytes, bytes]]:
        """The changelog records of one commit, in log order; nothing changes until ``apply_live``.

        ``sequence`` and what belongs to the snapshot are filled into ``checkpoint`` here. The pieces have about as many bytes as the
        deltas and as the checkpoints since the last pieces; a commit without deltas has none.
        """
        records: list[tuple[bytes, bytes]] = []
        cursor, start, restorable = self.cursor, self.cycle_start, -1
        if self.checkpoint:
            restorable = self.checkpoint.restorable_from
        if mutations:
            budget = self._owed + sum(len(mutation.key) + len(mutation.delta) for mutation in mutations)
            families = self._spec.families
            taken = next_pieces(self.reader, families, cursor, budget, self._spec.whole)
            records += [(families[piece.family].encode(), pack_piece(piece)) for piece in taken.pieces]
            records += [(mutation.key, mutation.delta) for mutation in mutations]
            start = self.applied if start < 0 else start
            cursor = taken.cursor
            if taken.finished:
                start, restorable = -1, start
        final = msgspec.structs.replace(
            checkpoint,
            sequence=self.sequence + 1,
            cursor_family=cursor.family,
            cursor_key=cursor.key,
            cycle_start=start,
            restorable_from=restorable,
        )
        records.append((CHECKPOINT_KEY, encode_checkpoint(final)))
        return records

    def apply_live(self, records: Sequence[tuple[bytes, bytes]], next_offset: int) -> None:
        """Take in what ``prepare`` gave, once it is committed, in ONE batch; ``next_offset`` follows the checkpoint's."""
        deltas = [value for _, value in records if kind_of(value) == DELTA]
        checkpoint = decode_checkpoint(records[-1][1])
        self._write_checkpoint(deltas, checkpoint, next_offset)
        self._owed = 0 if deltas else self._owed + len(records[-1][1])

    def replay(self, records: Iterable[tuple[int, bytes | None]], next_offset: int) -> None:
        """Take in a slice of the log as (offset, value), in order; ``next_offset`` is what will be read after it.

        A slice may end within a commit: the rest of it is expected with the next slice, and ``applied`` waits for its checkpoint.
        Records before ``applied`` are known and skipped.
        """
        for offset, value in records:
            if offset >= self.applied and not could_be_ours(value):
                self._pass_over(offset, value)
            elif offset >= self.applied:
                try:
                    self._take(offset, value)
                except Undecodable as error:
                    raise CorruptState(
                        f"{self._store.path}: the changelog's record at offset {offset} cannot be replayed: {error}",
                        remedy="look at that record; a newer version of gregor or another program may have written it",
                    ) from error
        self._write_pieces()
        if not self._in_commit and next_offset > self.applied:
            # What is not a record (transaction markers) is passed as well.
            self._write(self._store.begin(), next_offset, self.checkpoint)

    def truncate_before(self) -> int | None:
        """Offset before which the log is not needed any more; None: nothing more than was already told by ``truncated``."""
        if self.checkpoint is None or self.checkpoint.restorable_from <= self._truncated:
            return None
        return self.checkpoint.restorable_from

    def truncated(self, offset: int) -> None:
        """The log now starts at ``offset``."""
        self._truncated = max(self._truncated, offset)

    def _pass_over(self, offset: int, value: bytes | None) -> None:
        if len(self.foreign) < MOST_FOREIGN:
            size = -1 if value is None else len(value)
            self.foreign.append(Foreign(offset, size, (value or b"")[:FOREIGN_BYTES]))

    def _take(self, offset: int, value: bytes | None) -> None:
        assert value is not None
        kind = kind_of(value)
        if kind == SNAPSHOT:
            if self._deltas:
                raise Undecodable("expected the snapshot pieces of a commit before its deltas, found one behind")
            if not self.exact:
                self._pieces.append(unpack_piece(value))
                self._piece_bytes += len(value)
            if self._piece_bytes >= _BATCH_BYTES:
                self._write_pieces()
        elif kind == DELTA:
            self._deltas.append(value)
        else:
            checkpoint = decode_checkpoint(value)
            self._write_pieces()
            self._write_checkpoint(self._deltas, checkpoint, offset + 1)
            self._deltas = []
        self._in_commit = kind != CHECKPOINT

    def _write_pieces(self) -> None:
        """Before a commit's deltas, which must meet them; repeating them after a crash changes nothing."""
        if not self._pieces:
            return
        batch, writer = self._batch()
        for piece in self._pieces:
            if piece.family >= len(self._spec.families):
                raise Undecodable(f"expected one of {len(self._spec.families)} families, found number {piece.family}")
            own = self._spec.apply_piece.get(self._spec.families[piece.family])
            if own is None:
                apply_piece(self._spec.families, piece, writer)
            else:
                self._write(batch, self.applied, self.checkpoint)
                batch, writer = self._batch()
                own(self.reader, piece, writer)
        self._write(batch, self.applied, self.checkpoint)
        self._pieces, self._piece_bytes = [], 0

    def _write_checkpoint(self, deltas: Sequence[bytes], checkpoint: Checkpoint, next_offset: int) -> None:
        if self.checkpoint is not None and checkpoint.sequence != self.sequence + 1:
            raise CorruptState(
                f"{self._store.path}: expected checkpoint {self.sequence + 1} before offset {next_offset} of the changelog, "
                f"found checkpoint {checkpoint.sequence}",
                remedy="the changelog has a gap or two writers: compare it with the committed positions before going on",
            )
        batch, writer = self._batch()
        if deltas:
            self._spec.apply(self.reader, deltas, writer)
        self._write(batch, next_offset, checkpoint)

    def _batch(self) -> tuple[WriteBatch, StateWriter]:
        batch = self._store.begin()
        return batch, self._store.writer(batch, self._prefix)

    def _write(self, batch: WriteBatch, applied: int, checkpoint: Checkpoint | None) -> None:
        """State and what the store knows of itself, together or not at all."""
        meta = StoreMetadata(identity=self._identity, applied=applied, checkpoint=checkpoint, since=self._since)
        self._store.writer(batch, self._prefix).put(META, _META_KEY, encode(meta))
        self._store.write(batch)
        self.applied, self.checkpoint, self._new = applied, checkpoint, False


def _said(checkpoint: Checkpoint) -> tuple[object, ...]:
    return checkpoint.positions, checkpoint.counters, checkpoint.config_version, checkpoint.member


def _check_identity(store: Database, expected: StoreIdentity, found: StoreIdentity) -> None:
    differing = [
        f"{field} {getattr(expected, field)!r}, found {field} {getattr(found, field)!r}"
        for field in StoreIdentity.__struct_fields__
        if getattr(expected, field) != getattr(found, field)
    ]
    if differing:
        raise ForeignState(f"{store.path} holds the state of something else: expected {'; expected '.join(differing)}")
