"""A changelog replayed into nothing: whether a restore from it would succeed, found out without a store and its room on a disk."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rocksdict import WriteBatch

from gregor.runtime.state.changelog import Replica, StoreIdentity
from gregor.runtime.state.store import Range, StateReader, StateSpec, StateWriter


class Rehearsal:
    """Of one partition; everything in it is read and decoded as a restore into an empty folder does it."""

    def __init__(self, spec: StateSpec, partition: int, start: int, end: int) -> None:
        """Of the log ``[start, end)``."""
        identity = StoreIdentity(cluster="", topic="", crawl="", partition=partition)
        self._replica = Replica.open(_Nothing(Path(f"partition {partition}")), spec, identity)
        self._replica.standing(start, end)

    def take(self, records: Iterable[tuple[int, bytes | None]], next_offset: int) -> None:
        """As Replica.replay; raises CorruptState, which names the record, for what a restore would stop at."""
        self._replica.replay(records, next_offset)


class _Nothing:
    """A database that forgets everything: a delta may meet any part of a state, none of it too."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def view(self, prefix: bytes = b"") -> StateReader:
        return self

    def begin(self) -> WriteBatch:
        return WriteBatch(raw_mode=True)

    def writer(self, batch: WriteBatch, prefix: bytes = b"") -> StateWriter:
        return self

    def write(self, batch: WriteBatch) -> None: ...

    def get(self, family: str, key: bytes) -> bytes | None:
        return None

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return [None] * len(keys)

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return iter(())

    def first_of_each(self, family: str, ranges: Sequence[Range]) -> list[list[tuple[bytes, bytes]]]:
        return [[] for _ in ranges]

    def put(self, family: str, key: bytes, value: bytes) -> None: ...

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None: ...

    def delete(self, family: str, key: bytes) -> None: ...

    def delete_range(self, family: str, start: bytes, end: bytes | None) -> None: ...
