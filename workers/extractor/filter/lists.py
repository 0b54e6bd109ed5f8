"""The two lists of the paper in memory, by groups, and their exchange with the store.

When the memory is over its capacity, a clock goes round the groups: URLs that were hit since it last came by stay and
lose half of their heat, the others leave, until a share of the capacity (the exchange rate) is free. What leaves is written
to its group in the store, once; a directory of which a URL is asked for comes back whole. One larger than a group may be is
halved by the hashes of its URLs, as often as need be, and few of them come back with one.
"""

import heapq
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from gregor.url.links import directory_of
from workers.extractor.filter.entries import (
    GONE,
    PENDING,
    VISITED,
    VISITING,
    DirectoryGroup,
    Entry,
    GroupKey,
    Stored,
    new_group,
)
from workers.extractor.filter.sketch import Sketch
from workers.extractor.filter.store import GroupStore

HOTTEST: Final = 15
URL_BYTES: Final = 400
"""What a URL may take in memory, on the average."""
ENTRY_BYTES: Final = 300
"""What it takes beside its text."""
DEEPEST_SPLIT: Final = 40
FINISHED_AT_ONCE: Final = 256
"""Groups that are written together when the filter ends."""
COME_ALONG: Final = 32
"""URLs that come back from the store with one of a large directory."""


class FilterSettings(Struct, frozen=True, kw_only=True):
    """The paper's parameters."""

    capacity: int
    """URLs in memory; fewer when they take more than ``URL_BYTES`` each."""
    exchange: float = 0.1
    """Share of them that leaves at once."""
    store_urls: int = 20_000_000
    """URLs in the store before it is emptied."""

    @property
    def group_urls(self) -> int:
        """URLs of a group before it is split: a group that comes back must not fill the memory."""
        return max(16, min(256, self.capacity // 32))


class FilterCounts(Struct):
    """What happened, for metrics and benchmarks."""

    hits: int = 0
    """URLs of pages that were known, found in memory."""
    store_hits: int = 0
    """…and found in the store."""
    sent: int = 0
    """URLs that were not known."""
    sent_nearer: int = 0
    """URLs sent again because they were met within the limits for the first time."""
    evicted: int = 0
    loaded: int = 0
    exchanges: int = 0
    emptied: int = 0


class Lists:
    """What is remembered. Nothing here knows of transactions, but that what is PENDING stays."""

    def __init__(self, settings: FilterSettings, store: GroupStore | None, counts: FilterCounts) -> None:
        self._settings = settings
        self._store = store
        self._counts = counts
        self._splits: set[GroupKey] = set()
        self._sketch = Sketch()
        self.groups: OrderedDict[GroupKey, DirectoryGroup] = OrderedDict()
        self.new: list[Entry] = []
        """What ``find`` added for the page that is being read."""
        self.size = 0
        self._bytes = 0

    @property
    def full(self) -> bool:
        return self._exceeds(self._settings.capacity)

    def find(self, scheme: str, server: str, path: str) -> Entry:
        """First among the visited, then among the visiting, then in the store; what is nowhere is a new entry."""
        key = self._key(scheme, server, path)
        group = self.groups.get(key)
        entry = None
        if group is not None:
            entry = group.visited.get(path) or group.visiting.get(path)
        if entry is None and _url(key, path) in self._sketch:
            group = self._load(key, group, path)
            if group is not None:
                entry = group.visited.get(path) or group.visiting.get(path)
                if entry is not None:
                    self._counts.store_hits += 1
        return entry or self._add(group or self._new_group(key), path)

    def visited(self, scheme: str, server: str, path: str) -> None:
        """From visiting to visited, wherever it was before; its directory, where its links may well lead, comes back unless some of it
        is there."""
        key = self._key(scheme, server, path)
        group = self.groups.get(key)
        if group is None and _url(key, path) in self._sketch:
            group = self._load(key, None, path)
        group = group or self._new_group(key)
        if path in group.visited:
            return
        entry = group.visiting.pop(path, None)
        if entry is None:
            self._grow(path)
            entry = Entry(group=group, path=path)
        entry.state = VISITED
        entry.near = True
        entry.stored = False
        group.visited[path] = entry

    def remove(self, entry: Entry) -> None:
        entry.state = GONE
        group = entry.group
        if group.visiting.pop(entry.path, None) is not None or group.visited.pop(entry.path, None) is not None:
            self.size -= 1
            self._bytes -= ENTRY_BYTES + len(entry.path)

    def exchange(self) -> None:
        """Turn the clock until the share of the capacity that the exchange rate names is free."""
        self._counts.exchanges += 1
        goal = int(self._settings.capacity * (1 - self._settings.exchange))
        written: dict[GroupKey, list[Stored]] = {}
        # In as many turns as halve the hottest to nothing everything has left that may.
        for _ in range(len(self.groups) * (HOTTEST.bit_length() + 1)):
            if not self._exceeds(goal) or not self.groups:
                break
            key, group = self.groups.popitem(last=False)
            cold = self._cold(group)
            if cold:
                self._evict(group, cold, written)
                group.shrink()
            if len(group):
                self.groups[key] = group
        self._put_away(written)
        if self._sketch.urls > self._settings.store_urls:
            self._counts.emptied += 1
            self.clear()

    def clear(self) -> None:
        """Forget everything but what is pending."""
        for group in list(self.groups.values()):
            for entry in [*group.visiting.values(), *group.visited.values()]:
                if entry.state != PENDING:
                    self.remove(entry)
                else:
                    entry.stored = False
            group.shrink()
        self.groups = OrderedDict((key, group) for key, group in self.groups.items() if len(group))
        self._sketch = Sketch()
        if self._store is not None:
            self._store.empty()
        # Pending entries of a split group stay where they are found: their splits stay as well.
        self._splits = {split for split in self._splits if any(_within(key, split) for key in self.groups)}

    def start(self, share: float, splits: Iterable[GroupKey]) -> None:
        """Fill a share of the memory from the store, the most repeated URLs first."""
        assert self._store is not None
        self._splits = set(splits)
        count = int(self._settings.capacity * share)

        def urls() -> Iterator[tuple[int, int, GroupKey, Stored]]:
            number = 0
            assert self._store is not None
            for key, group in self._store.scan():
                for one in group:
                    number += 1
                    self._sketch.add(_url(key, one.path))
                    yield one.repeats, -number, key, one

        for _, _, key, one in heapq.nlargest(count, urls()):
            self._put(self.groups.get(key) or self._new_group(key), one)

    def finish(self) -> list[GroupKey]:
        """Write everything to the store and forget it; gives the splits that ``start`` needs."""
        while self.groups:
            # Few at a time: all that is in memory, as the store has it too, would need as much again.
            written: dict[GroupKey, list[Stored]] = {}
            for key in list(islice(self.groups, FINISHED_AT_ONCE)):
                group = self.groups.pop(key)
                self._evict(group, [*group.visiting.values(), *group.visited.values()], written)
            self._put_away(written)
        return sorted(self._splits)

    def _exceeds(self, urls: int) -> bool:
        return self.size > urls or self._bytes > urls * URL_BYTES

    def _grow(self, path: str) -> None:
        self.size += 1
        self._bytes += ENTRY_BYTES + len(path)

    def _key(self, scheme: str, server: str, path: str) -> GroupKey:
        directory = directory_of(path)
        key: GroupKey = (scheme, server, directory, 0, 0)
        if key in self._splits:
            hashed = xxh3_64_intdigest(path.encode("utf-8", "surrogatepass"))
            while key in self._splits:
                level = key[3] + 1
                key = (scheme, server, directory, level, hashed & ((1 << level) - 1))
        return key

    def _new_group(self, key: GroupKey) -> DirectoryGroup:
        group = self.groups[key] = new_group(key)
        return group

    def _add(self, group: DirectoryGroup, path: str) -> Entry:
        entry = Entry(group=group, path=path)
        group.visiting[path] = entry
        self.new.append(entry)
        self._grow(path)
        if len(group) > self._settings.group_urls and group.key[3] < DEEPEST_SPLIT:
            stored = self._store.get(group.key) if self._store is not None else []
            self._put_away({group.key: [], **self._split(group.key, stored)})
        return entry

    def _put(self, group: DirectoryGroup, one: Stored) -> None:
        entry = Entry(
            group=group,
            path=one.path,
            state=VISITED if one.visited else VISITING,
            repeats=one.repeats,
            near=one.near,
            stored=True,
        )
        (group.visited if one.visited else group.visiting)[one.path] = entry
        self._grow(one.path)

    def _load(self, key: GroupKey, group: DirectoryGroup | None, path: str) -> DirectoryGroup | None:
        """Bring a URL back that the store has, and its directory with it; of a part of a large one those that were met most, because
        what is in one part has nothing in common but bits of hashes. None: nothing of the group is in memory."""
        urls = self._store.get(key) if self._store is not None else []
        wanted = [one for one in urls if one.path == path]
        if not wanted:
            return group
        if key[3]:
            urls = [*wanted, *heapq.nlargest(COME_ALONG, urls, _by_repeats)]
        group = group or self._new_group(key)
        for one in urls:
            if one.path not in group.visited and one.path not in group.visiting:
                self._put(group, one)
                self._counts.loaded += 1
        return group

    def _split(self, key: GroupKey, stored: Sequence[Stored]) -> dict[GroupKey, list[Stored]]:
        """Halve a group by the next bit of its URLs' hashes, in memory, and what the store has of it; its parts come and go by themselves
        from now on."""
        self._splits.add(key)
        parts: dict[GroupKey, list[Stored]] = {}
        for one in stored:
            parts.setdefault(self._key(key[0], key[1], one.path), []).append(one)
        group = self.groups.pop(key, None)
        if group is not None:
            for entry in [*group.visiting.values(), *group.visited.values()]:
                part_key = self._key(key[0], key[1], entry.path)
                part = self.groups.get(part_key) or self._new_group(part_key)
                entry.group = part
                (part.visited if entry.state == VISITED else part.visiting)[entry.path] = entry
            group.visiting.clear()
            group.visited.clear()
        return parts

    def _cold(self, group: DirectoryGroup) -> list[Entry]:
        cold = []
        for entries in (group.visiting, group.visited):
            for entry in entries.values():
                if entry.state < VISITING:
                    continue
                if entry.heat:
                    entry.heat >>= 1
                else:
                    cold.append(entry)
        return cold

    def _evict(self, group: DirectoryGroup, cold: list[Entry], written: dict[GroupKey, list[Stored]]) -> None:
        """Take entries out of the memory; what the store must be given is added to ``written``."""
        if self._store is not None and self._settings.store_urls and not all(entry.stored for entry in cold):
            before = written[group.key] if group.key in written else self._store.get(group.key)
            urls = {one.path: one for one in before}
            for entry in cold:
                self._sketch.add(_url(group.key, entry.path))
                urls[entry.path] = _stored(entry, urls.get(entry.path))
            written[group.key] = list(urls.values())
        for entry in cold:
            self.remove(entry)
        self._counts.evicted += len(cold)

    def _put_away(self, written: Mapping[GroupKey, list[Stored]]) -> None:
        """Write groups to the store, in halves where they have become too large."""
        if self._store is None:
            return
        groups: list[tuple[GroupKey, list[Stored]]] = []
        left = list(written.items())
        while left:
            key, urls = left.pop()
            if len(urls) > self._settings.group_urls and key[3] < DEEPEST_SPLIT:
                left += self._split(key, urls).items()
                urls = []
            groups.append((key, urls))
        self._store.put_many(groups)


def _stored(entry: Entry, before: Stored | None) -> Stored:
    """One that was visited while only the store knew it comes without its repetitions."""
    repeats = entry.repeats if before is None else max(entry.repeats, before.repeats)
    return Stored(entry.path, entry.state == VISITED, repeats, entry.near)


def _by_repeats(one: Stored) -> int:
    return one.repeats


def _url(key: GroupKey, path: str) -> str:
    return f"{key[0]}://{key[1]}{path}"


def _within(key: GroupKey, split: GroupKey) -> bool:
    """Whether the group came from this split one."""
    level = split[3]
    return key[:3] == split[:3] and key[3] > level and key[4] & ((1 << level) - 1) == split[4]
