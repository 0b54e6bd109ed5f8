"""Where groups go that the memory has no room for: a local RocksDB that may be thrown away at any time.

    key     scheme 0x00 server 0x00 directory 0x00 level bits      value   msgpack: every URL of the group that ever left
    key     0x00 "mark"                                            value   what must be the same for the store to be used again

Nothing is forced to the disk. The mark is written when the filter is closed in good order and deleted when the store is opened, so that
a store without it, or of another configuration, or whose crawl stands elsewhere than it did, is emptied: forgetting costs messages, a
wrong memory would cost URLs.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import Store
from workers.extractor.filter.entries import GroupKey, Stored

FAMILY: Final = "groups"
_MARK: Final = b"\0mark"
_MEMORY: Final = StoreOptions(
    block_cache_bytes=16 * 1024 * 1024, write_buffer_bytes=16 * 1024 * 1024, memtable_bytes=8 * 1024 * 1024
)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Stored]).decode


class StoreNote(Struct, frozen=True):
    """What a store that is used again must agree with, and what the filter needs beside the groups."""

    config_version: str
    positions: dict[int, int]
    """Partition of ``pages`` to the offset after the last page that was committed."""
    splits: list[GroupKey] = []


_decode_mark = msgspec.msgpack.Decoder(StoreNote).decode


class GroupStore:
    """Open, use, close; the folder belongs to nobody else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = Store(folder, (FAMILY,), SharedMemory(_MEMORY))
        self.reads = self.writes = 0

    def take_mark(self) -> StoreNote | None:
        """The mark of the last good end, which is gone afterwards."""
        value = self._store.view().get(FAMILY, _MARK)
        if value is None:
            return None
        batch = self._store.begin()
        self._store.writer(batch).delete(FAMILY, _MARK)
        self._store.write(batch)
        try:
            return _decode_mark(value)
        except msgspec.MsgspecError:
            return None

    def put_mark(self, mark: StoreNote) -> None:
        batch = self._store.begin()
        self._store.writer(batch).put(FAMILY, _MARK, _encode(mark))
        self._store.write(batch)

    def get(self, key: GroupKey) -> list[Stored]:
        """All URLs of a group that ever left the memory; empty: none did."""
        self.reads += 1
        value = self._store.view().get(FAMILY, _key(key))
        return _decode(value) if value is not None else []

    def put_many(self, groups: Sequence[tuple[GroupKey, list[Stored]]]) -> None:
        if not groups:
            return
        batch = self._store.begin()
        writer = self._store.writer(batch)
        for key, urls in groups:
            if urls:
                writer.put(FAMILY, _key(key), _encode(urls))
            else:
                writer.delete(FAMILY, _key(key))
        self._store.write(batch)
        self.writes += len(groups)

    def scan(self) -> Iterator[tuple[GroupKey, list[Stored]]]:
        for key, value in self._store.view().scan(FAMILY, b"\x01"):
            yield _group_key(key), _decode(value)

    def empty(self) -> None:
        """A new database takes less time than deleting from the old one."""
        self._store.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._store = Store(self._folder, (FAMILY,), SharedMemory(_MEMORY))

    def close(self) -> None:
        self._store.close()


def _key(key: GroupKey) -> bytes:
    scheme, server, directory, level, bits = key
    return f"{scheme}\0{server}\0{directory}\0".encode() + bytes((level,)) + bits.to_bytes(8, "big")


def _group_key(key: bytes) -> GroupKey:
    scheme, server, directory = key[:-9].decode().split("\0")[:3]
    return scheme, server, directory, key[-9], int.from_bytes(key[-8:], "big")
