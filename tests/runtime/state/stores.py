"""A small real store, and an apply function that has all that a restore can go wrong with: it reads, appends, folds and deletes.

``queue``    put and delete
``servers``  append to what is there: a delta that is lost, repeated or out of order shows
``seen``     the first two bytes of a key are its group, which has a block and beside it a small delta that is folded into the block
             when it is worth it: a group that is torn apart shows
"""

from collections.abc import Iterable, Iterator, Sequence

from gregor.runtime.state.changelog import StoreIdentity
from gregor.runtime.state.options import StoreOptions
from gregor.runtime.state.packed import unpack_delta
from gregor.runtime.state.store import Range, StateReader, StateSpec, StateWriter

FAMILIES = ("seen", "queue", "servers")
GROUP = 2
FOLDED_AT = 12
IDENTITY = StoreIdentity(cluster="cluster-a", topic="topic-a", crawl="crawl", partition=3)
SMALL = StoreOptions(
    block_cache_bytes=1024 * 1024, write_buffer_bytes=4 * 1024 * 1024, memtable_bytes=1024 * 1024, background_jobs=1
)


def apply(reader: StateReader, deltas: Sequence[bytes], writer: StateWriter) -> None:
    changed: dict[tuple[str, bytes], bytes | None] = {}

    def now(family: str, key: bytes) -> bytes:
        found = changed[family, key] if (family, key) in changed else reader.get(family, key)
        return found or b""

    for delta in deltas:
        for number, key, value in unpack_delta(delta):
            family = FAMILIES[number]
            if family == "queue" or value is None:
                changed[family, key] = value
            elif family == "servers":
                changed[family, key] = now(family, key) + value
            else:
                # Padded: what a shorter name is followed by would be part of the prefix, and block and delta of two groups.
                group = key[:GROUP].ljust(GROUP, b"\0")
                block, beside = group + b"block", group + b"delta"
                added = now(family, beside) + value
                folded = len(added) >= FOLDED_AT
                changed[family, beside] = None if folded else added
                if folded:
                    changed[family, block] = now(family, block) + added
    for (family, key), new in changed.items():
        if new is None:
            writer.delete(family, key)
        else:
            writer.put(family, key, new)


SPEC = StateSpec(FAMILIES, apply, whole={"seen": GROUP})


def contents(reader: StateReader) -> dict[str, dict[bytes, bytes]]:
    """Everything that a store holds for a partition."""
    return {family: dict(reader.scan(family)) for family in FAMILIES}


class Dictionary:
    """The state as plain dictionaries."""

    def __init__(self) -> None:
        self.families: dict[str, dict[bytes, bytes]] = {family: {} for family in FAMILIES}

    def get(self, family: str, key: bytes) -> bytes | None:
        return self.families[family].get(key)

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.families[family].get(key) for key in keys]

    def scan(self, family: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        for key, value in sorted(self.families[family].items()):
            if key >= start and (end is None or key < end):
                yield key, value

    def first_of_each(self, family: str, ranges: Sequence[Range]) -> list[list[tuple[bytes, bytes]]]:
        found = []
        for prefix, start, count in ranges:
            keys = [key for key, _ in self.scan(family, prefix + start) if key.startswith(prefix)]
            found.append([(key[len(prefix) :], self.families[family][key]) for key in keys[:count]])
        return found

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self.families[family][key] = value

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None:
        self.families[family].update(entries)

    def delete(self, family: str, key: bytes) -> None:
        self.families[family].pop(key, None)

    def delete_range(self, family: str, start: bytes, end: bytes | None) -> None:
        for key, _ in list(self.scan(family, start, end)):
            del self.families[family][key]
