"""One RocksDB with column families, read and written through views of one partition each.

On Kafka every partition has a folder of its own; on the embedded transport all partitions share one database, so that log, positions
and state change in one WriteBatch. A view hides the difference: it puts the partition's prefix before every key.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from rocksdict import ColumnFamily, Rdict, ReadOptions, WriteBatch, WriteOptions

from gregor.errors import CorruptState, FolderInUse, no_access, no_room
from gregor.runtime.state.options import SharedMemory

if TYPE_CHECKING:
    from gregor.runtime.state.packed import Piece

META: Final = "meta"
"""The family in which a store keeps what it must know of itself; no stage may name one of its own so."""


Range = tuple[bytes, bytes, int]
"""The keys that begin with a prefix, from what follows it on, and how many of them at most."""


class StateReader(Protocol):
    """What a stage sees of a partition's state as of the last checkpoint."""

    def get(self, family: str, key: bytes) -> bytes | None: ...

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Entries of ``[start, end)`` in key order; ``end`` None: to the last."""
        ...

    def first_of_each(self, family: str, ranges: Sequence[Range]) -> list[list[tuple[bytes, bytes]]]:
        """The first entries of many ranges, keys without the prefix, read by one cursor: fastest when the ranges are in key order."""
        ...


class StateWriter(Protocol):
    """Where an apply function puts what becomes of its deltas."""

    def put(self, family: str, key: bytes, value: bytes) -> None: ...

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None: ...

    def delete(self, family: str, key: bytes) -> None: ...

    def delete_range(self, family: str, start: bytes, end: bytes | None) -> None:
        """Everything in ``[start, end)``; ``end`` None: to the last."""
        ...


Apply = Callable[[StateReader, Sequence[bytes], StateWriter], None]
"""Turns packed deltas into writes. Live and restore use the same one; a delta is a tolerant upsert, so that it may meet a state which
holds only part of what it was made for. It gets the deltas of one whole checkpoint at a time, live and in a restore, and the reader
shows the state before them."""

ApplyPiece = Callable[[StateReader, "Piece", StateWriter], None]
"""Puts one piece of the rolling snapshot into a state that may hold other entries in its range; the reader shows all pieces before."""


class StateSpec(Struct, frozen=True):
    """The families of a stage's state, in an order that never changes (packed records name them by number), and its apply function."""

    families: tuple[str, ...]
    apply: Apply
    whole: Mapping[str, int] = {}
    """Family to a length: keys that share a prefix of so many bytes always travel in one snapshot piece. Not named: any cut will do."""
    apply_piece: Mapping[str, ApplyPiece] = {}
    """Family to what takes in its snapshot pieces. Not named: the range is deleted and the entries are put."""


class ReadableStore(Protocol):
    """A database that can be read: held, or only looked at (read_only.py)."""

    def view(self, prefix: bytes = b"") -> "StoreView": ...


class Store:
    """One database, held by one process."""

    def __init__(self, path: Path, families: Sequence[str], memory: SharedMemory) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        try:
            self._db = Rdict(
                os.fspath(path),
                memory.for_store(),
                {family: memory.for_family(family) for family in (META, *families)},
            )
        except Exception as error:  # rocksdict raises bare Exception for everything
            raise _explained(path, error) from error
        names = ("default", META, *families)
        self._columns = {family: self._db.get_column_family(family) for family in names}
        self._handles = {family: self._db.get_column_family_handle(family) for family in names}
        self._sync = WriteOptions()
        self._sync.sync = True

    def view(self, prefix: bytes = b"") -> "StoreView":
        return StoreView(self._columns, prefix)

    def begin(self) -> WriteBatch:
        return WriteBatch(raw_mode=True)

    def writer(self, batch: WriteBatch, prefix: bytes = b"") -> "PartitionWriter":
        """Puts a partition's writes into ``batch``; they happen when the batch is written."""
        return PartitionWriter(batch, self._handles, prefix)

    def write(self, batch: WriteBatch, sync: bool = False) -> None:
        """All of the batch or none of it. Without ``sync`` it survives the death of the process, not of the machine."""
        if sync:
            self._db.write(batch, self._sync)
        else:
            self._db.write(batch)

    def sync(self) -> None:
        """Make everything written so far survive the death of the machine."""
        self._db.flush_wal(True)

    def flush(self) -> None:
        """Put all memtables into files."""
        for column in self._columns.values():
            column.flush()

    def property_int(self, family: str, name: str) -> int:
        return self._columns[family].property_int_value(name) or 0

    def close(self) -> None:
        self._columns.clear()
        self._handles.clear()
        self._db.close()


class StoreView:
    """Reads one partition of a store."""

    def __init__(self, columns: dict[str, Rdict], prefix: bytes) -> None:
        self._columns = columns
        self._prefix = prefix

    def get(self, family: str, key: bytes) -> bytes | None:
        value: bytes | None = self._columns[family].get(self._prefix + key)
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        prefix = self._prefix
        asked: list[str | int | float | bytes | bool] = [prefix + key for key in keys] if prefix else list(keys)
        return self._columns[family].get(asked) or []

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self._entries(family, start, end, ReadOptions())

    def scan_once(self, family: str, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """The same for who reads very much and will not come again: it drives nothing out of the block cache."""
        options = ReadOptions()
        options.fill_cache(False)  # type: ignore[call-arg]  # Its stub lacks the argument.
        return self._entries(family, start, end, options)

    def _entries(
        self, family: str, start: bytes, end: bytes | None, options: ReadOptions
    ) -> Iterator[tuple[bytes, bytes]]:
        prefix, cut = self._prefix, len(self._prefix)
        upper = _after(prefix) if end is None else prefix + end
        if upper is not None:
            options.set_iterate_upper_bound(upper)
        cursor = self._columns[family].iter(options)
        cursor.seek(prefix + start)
        key_of, value_of, advance = cursor.key, cursor.value, cursor.next
        # The key is None behind the last one.
        while (key := key_of()) is not None:
            yield key[cut:], value_of()
            advance()
        cursor.status()

    def first_of_each(self, family: str, ranges: Sequence[Range]) -> list[list[tuple[bytes, bytes]]]:
        cursor = self._columns[family].iter(ReadOptions())
        seek, key_of, value_of, advance = cursor.seek, cursor.key, cursor.value, cursor.next
        found = []
        for prefix, start, count in ranges:
            entries: list[tuple[bytes, bytes]] = []
            whole = self._prefix + prefix
            cut = len(whole)
            if count > 0:
                seek(whole + start)
                # The key is None behind the last one of all. No step is taken behind the last entry wanted: what was deleted
                # there would have to be passed.
                while (key := key_of()) is not None and key.startswith(whole):
                    entries.append((key[cut:], value_of()))
                    if len(entries) >= count:
                        break
                    advance()
            found.append(entries)
        cursor.status()
        return found


class PartitionWriter:
    """Writes one partition of a store into a batch."""

    def __init__(self, batch: WriteBatch, handles: dict[str, ColumnFamily], prefix: bytes) -> None:
        self._batch = batch
        self._handles = handles
        self._prefix = prefix

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self._batch.put(self._prefix + key, value, self._handles[family])

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None:
        prefix, handle, put = self._prefix, self._handles[family], self._batch.put
        for key, value in entries:
            put(prefix + key, value, handle)

    def delete(self, family: str, key: bytes) -> None:
        self._batch.delete(self._prefix + key, self._handles[family])

    def delete_range(self, family: str, start: bytes, end: bytes | None) -> None:
        upper = _after(self._prefix) if end is None else self._prefix + end
        # No key is longer than a snapshot piece can name, so that this is greater than all of them.
        self._batch.delete_range(self._prefix + start, upper or b"\xff" * 65536, self._handles[family])


def _after(prefix: bytes) -> bytes | None:
    """The smallest key greater than every key that begins with ``prefix``; None: there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def _explained(path: Path, error: Exception) -> Exception:
    text = str(error)
    if "lock" in text.lower() and ("held" in text or "unavailable" in text or "No locks" in text):
        return FolderInUse(f"{path} is held by another process")
    return no_room(path, error) or no_access(path, error) or CorruptState(f"{path} cannot be opened: {text}")
