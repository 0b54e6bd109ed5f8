"""The filter itself: which links the frontier must be told of, and what becomes of that in a transaction.

The steps of the paper's Figure 2: a URL is looked for among the visited, then among the visiting, then in the store, whose
whole group comes back with it (lists.py); what is nowhere is new, and is sent. Three things make a hit safe, so that
"known" always means that the frontier has the URL:

- An entry counts from the transaction on that emits it: for that transaction's own pages at once, for others when it is
  committed. What was dropped is forgotten.
- A URL that was sent from beyond a limit of depth, hops or redirects was refused for that, and is not known to the frontier;
  met within the limits it is sent again. Whatever else the frontier refuses, it remembers.
- Everything else (eviction, a crash, an emptied store) only forgets.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from workers.extractor.filter.entries import FRESH, PENDING, VISITING, Entry, GroupKey
from workers.extractor.filter.lists import HOTTEST, FilterCounts, FilterSettings, Lists
from workers.extractor.filter.store import GroupStore


class UrlFilter:
    """One for a process; not for several threads."""

    def __init__(self, settings: FilterSettings, store: GroupStore | None) -> None:
        self._capacity = settings.capacity
        self.counts: Final = FilterCounts()
        self.lists: Final = Lists(settings, store, self.counts)
        self._pending: list[Entry] = []
        self._met: dict[Entry, int] = {}
        self._nearer: list[Entry] = []
        self._nearer_before = 0
        """As many of them are of pages before the one that is being read."""

    @property
    def size(self) -> int:
        """URLs in memory."""
        return self.lists.size

    def find(self, scheme: str, server: str, path: str) -> Entry:
        """The entry of a URL, FRESH when it is not known. Stays valid until ``end_page``."""
        return self.lists.find(scheme, server, path)

    def claim(self, entry: Entry, near: bool) -> bool:
        """A page links to the URL ``entry.times`` times, ``near``: within the limits of distance. Whether the frontier must be told."""
        if entry.state == FRESH:
            entry.state = PENDING
            entry.near = near
            entry.heat = 1
            self._pending.append(entry)
            self.counts.sent += 1
            return True
        if entry.near or not near:
            self.hits((entry,))
            return False
        # Not to leave the memory before the transaction is settled: the store must not say what may be dropped.
        entry.state = PENDING
        entry.near = True
        self._nearer.append(entry)
        self.counts.sent_nearer += 1
        return True

    def hits(self, entries: Sequence[Entry]) -> None:
        """The same for entries that are ``near``, and so known for certain."""
        met = self._met
        for entry in entries:
            if entry.heat < HOTTEST:
                entry.heat += 1
            met[entry] = met.get(entry, 0) + entry.times
        self.counts.hits += len(entries)

    def forget(self, entry: Entry) -> None:
        """A FRESH entry that is not to be sent after all."""
        if entry.state == FRESH:
            self.lists.remove(entry)

    def end_page(self) -> None:
        """Between pages nobody holds an entry for certain, so that some may leave."""
        self.lists.new.clear()
        self._nearer_before = len(self._nearer)
        if not self._capacity:
            for entry in self._pending:
                self.lists.remove(entry)
            self.lists.groups.clear()
            self._pending = []
        elif self.lists.full:
            self.lists.exchange()

    def abandon_page(self) -> None:
        """What the page that is being read would have sent is not sent, and what it was the first to find is not known."""
        for entry in self.lists.new:
            if entry.state == PENDING:
                self.counts.sent -= 1
            if entry.state in (FRESH, PENDING):
                self.lists.remove(entry)
        self._pending = [entry for entry in self._pending if entry.state == PENDING]
        pending = set(self._pending)
        for entry in self._nearer[self._nearer_before :]:
            entry.near = False
            entry.state = PENDING if entry in pending else VISITING
            self.counts.sent_nearer -= 1
        del self._nearer[self._nearer_before :]
        self.end_page()

    def fetched(self, scheme: str, server: str, path: str) -> None:
        """A response of the URL exists, so that the frontier has it whoever sent it, and even if what is pending is dropped."""
        if self._capacity:
            self.lists.visited(scheme, server, path)

    def committed(self) -> Mapping[Entry, int]:
        """What was sent is known from now on; gives the URLs that were met again, and how often."""
        for entry in (*self._pending, *self._nearer):
            if entry.state == PENDING:
                entry.state = VISITING
                entry.stored = False
        met = self._met
        for entry, times in met.items():
            entry.repeats += times
            entry.stored = False
        self._pending, self._met, self._nearer = [], {}, []
        self.end_page()
        return met

    def dropped(self) -> None:
        """What was sent since the last commit was not."""
        for entry in self._pending:
            if entry.state == PENDING:
                self.lists.remove(entry)
        for entry in self._nearer:
            if entry.state == PENDING:
                entry.state = VISITING
                entry.near = False
        self._pending, self._met, self._nearer = [], {}, []
        self._nearer_before = 0

    def clear(self) -> None:
        """Forget everything but what is pending."""
        self.lists.clear()

    def start(self, share: float, splits: Iterable[GroupKey]) -> None:
        """Fill a share of the memory from the store, the most repeated URLs first."""
        self.lists.start(share, splits)

    def finish(self) -> list[GroupKey]:
        """Write everything to the store and forget it; gives the splits that ``start`` needs."""
        self.dropped()
        return self.lists.finish()
