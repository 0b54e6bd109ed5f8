"""One partition of the changelog, copied: a crawl that runs deletes what its snapshot has made superfluous, also while it is read."""

from collections.abc import Iterator
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO, Final

from msgspec import Struct

from gregor.errors import TransportError
from gregor.run.topology import FRONTIER
from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.store import Store
from gregor.runtime.transport.port import LogReader
from schemas.changelog import CHECKPOINT_KEY, Checkpoint, decode_checkpoint
from schemas.codec import Undecodable

CHANGELOG: Final = FRONTIER.spec.changelog
_HEAD: Final = Layout(">QII")
_TRIES: Final = 5
_RESTORED: Final = 1_000
"""Records that are applied together."""
_NO_LIMIT: Final = 1 << 62


class Noted(Struct, frozen=True):
    """A checkpoint and where its record stands."""

    offset: int
    checkpoint: Checkpoint


class ChangelogCopy:
    """Raises TransportError when the changelog is deleted faster than it can be copied.

    | offset 8 | key length 4 | value length 4 | key | value | ...        numbers big-endian
    """

    def __init__(self, log: LogReader, partition: int, path: Path) -> None:
        self._path = path
        self._partition = partition
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(_TRIES):
            self.start = self._copy(log)
            if self._is_whole():
                return
        raise TransportError(
            f"the changelog of partition {partition} was deleted {_TRIES} times while it was read", remedy="try again"
        )

    def _copy(self, log: LogReader) -> int:
        """Gives the offset before which records are missing."""
        low, end = log.ends(CHANGELOG)[self._partition]
        self._path.write_bytes(b"")
        if low == end:
            return low
        first: int | None = None
        with self._path.open("wb") as file:
            for record in log.read(CHANGELOG, self._partition, low):
                first = record.offset if first is None else first
                key, value = record.key or b"", record.value or b""
                file.write(_HEAD.pack(record.offset, len(key), len(value)))
                file.write(key)
                file.write(value)
        later = log.ends(CHANGELOG)[self._partition][0]
        return later if first is None or first >= later else low

    def _is_whole(self) -> bool:
        """Whether the checkpoints follow each other."""
        before = 0
        for noted in self.checkpoints():
            if before and noted.checkpoint.sequence != before + 1:
                return False
            before = noted.checkpoint.sequence
        return True

    def checkpoints(self, after: int = -1, last: int = _NO_LIMIT) -> Iterator[Noted]:
        """Those behind one offset and up to another; records that are none are passed over."""
        with self._path.open("rb") as file:
            for offset, key_length, value_length in _heads(file):
                if offset > last:
                    return
                key = file.read(key_length)
                if key != CHECKPOINT_KEY or offset <= after:
                    file.seek(value_length, 1)
                    continue
                try:
                    yield Noted(offset, decode_checkpoint(file.read(value_length)))
                except Undecodable:
                    continue

    def is_whole_at(self, noted: Noted) -> bool:
        """Whether the state at a checkpoint can be made from what is here."""
        return not self.start or noted.checkpoint.restorable_from >= self.start

    def restore(self, store: Store, noted: Noted, crawl: str) -> None:
        """The crawl's state at a checkpoint, into an empty store."""
        identity = StoreIdentity(cluster="", topic="", crawl=crawl, partition=self._partition)
        replica = Replica.open(store, FRONTIER.state, identity)
        part: list[tuple[int, bytes | None]] = []
        with self._path.open("rb") as file:
            for offset, key_length, value_length in _heads(file):
                if offset > noted.offset:
                    break
                file.seek(key_length, 1)
                part.append((offset, file.read(value_length)))
                if len(part) >= _RESTORED:
                    replica.replay(part, offset + 1)
                    part = []
        replica.replay(part, noted.offset + 1)

    def close(self) -> None:
        self._path.unlink(missing_ok=True)


def _heads(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    while head := file.read(_HEAD.size):
        offset, key_length, value_length = _HEAD.unpack(head)
        yield offset, key_length, value_length
