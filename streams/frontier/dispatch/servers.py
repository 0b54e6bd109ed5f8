"""All servers of a partition that have something to do, and whose turn it is.

    waiting   a heap of (time allowed, slot): may not be asked yet
    ready     a heap of (rank, slot): may be asked as soon as there is room in flight
    neither   nothing queued, an order in flight, or paused

A slot is a small number, so that a million servers are a million numbers in a heap. Entries that do not hold any more stay in the heaps
and are recognised by ``_due`` and ``_rank``, which say what holds. Records live in the state; those that are worked on are loaded, and
the ones that were touched since the last checkpoint are kept until it is over: an abort loads them anew and nothing else.
"""

from array import array
from collections.abc import Iterable, Iterator, Set
from heapq import heapify, heappop, heappush
from typing import Final

from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader
from streams.frontier.dispatch.server_rank import Rank
from streams.frontier.storage.deltas import pack_server
from streams.frontier.storage.families import SERVERS
from streams.frontier.storage.server import LiveServer, ServerRecord, ServerSummary, decode_server, decode_standing

LOADED: Final = 32_768
"""Servers that stay loaded after a checkpoint."""

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_NEVER: Final = -1


class Servers:
    """The servers of one partition."""

    def __init__(self, state: StateReader, rank: Rank, orders_per_server: int, paused: Set[str], now_ms: int) -> None:
        self._state = state
        self._ahead_of = rank
        self._most = orders_per_server
        self._paused = paused
        self._slots: dict[bytes, int] = {}
        self._names: list[bytes] = []
        self._free: list[int] = []
        self._due = array("q")
        self._rank = array("q")
        self._ahead = array("q")
        """What the head of a waiting server adds to its rank."""
        self._waiting: list[int] = []
        self._ready: list[int] = []
        self._loaded: dict[bytes, LiveServer] = {}
        self._touched: dict[bytes, LiveServer] = {}
        self._load(now_ms)

    def _load(self, now_ms: int) -> None:
        """Slots for all that have work; the heaps are made in one go."""
        names, slots, ahead_of = self._names, self._slots, self._ahead_of
        for name, value in self._state.scan(SERVERS):
            found: ServerSummary = decode_standing(value)
            if not found.queued and not found.in_flight:
                continue
            slot = slots[name] = len(names)
            names.append(name)
            due = rank = _NEVER
            ahead = 0
            if found.queued and found.in_flight < self._most and not self._is_paused(name):
                ahead = ahead_of(found.head)
                if found.next_ms > now_ms:
                    due = found.next_ms
                    self._waiting.append(due << _BITS | slot)
                else:
                    rank = max(found.since_ms, found.next_ms) + ahead
                    self._ready.append(rank << _BITS | slot)
            self._due.append(due)
            self._rank.append(rank)
            self._ahead.append(ahead)
        heapify(self._waiting)
        heapify(self._ready)

    def __len__(self) -> int:
        """Servers that have something to do."""
        return len(self._names) - len(self._free)

    def has_work(self, name: bytes) -> bool:
        """Whether anything of it is queued or in flight, or it is being worked on."""
        return name in self._slots

    def open(self, name: bytes) -> LiveServer:
        """The server; one that was never heard of has an empty record."""
        live = self._loaded.get(name)
        if live is None:
            value = self._state.get(SERVERS, name)
            live = self._install(name, value)
        return live

    def prefetch(self, names: Iterable[bytes]) -> None:
        """Load these with one read, in the order in which they stand in the state."""
        missing = sorted([name for name in names if name not in self._loaded])
        if missing:
            for name, value in zip(missing, self._state.get_many(SERVERS, missing), strict=True):
                self._install(name, value)

    def _install(self, name: bytes, value: bytes | None) -> LiveServer:
        record = ServerRecord() if value is None else decode_server(value)
        live = LiveServer(self._slot(name), name, record)
        self._loaded[name] = live
        return live

    def touch(self, live: LiveServer) -> None:
        """To be called before the first change after a checkpoint."""
        if not live.touched:
            live.touched = True
            self._touched[live.name] = live

    def place(self, live: LiveServer, now_ms: int) -> None:
        """Put the server where its record says that it belongs."""
        self._place(live.slot, live.name, live.record, now_ms)

    def _place(self, slot: int, name: bytes, record: ServerRecord, now_ms: int) -> None:
        if not record.queued or record.in_flight >= self._most or self._is_paused(name):
            self._due[slot] = self._rank[slot] = _NEVER
        elif record.next_ms > now_ms:
            self._rank[slot] = _NEVER
            self._ahead[slot] = self._ahead_of(record.head)
            if self._due[slot] != record.next_ms:
                self._due[slot] = record.next_ms
                heappush(self._waiting, record.next_ms << _BITS | slot)
        else:
            self._due[slot] = _NEVER
            rank = max(record.since_ms, record.next_ms) + self._ahead_of(record.head)
            if self._rank[slot] != rank:
                self._rank[slot] = rank
                heappush(self._ready, rank << _BITS | slot)

    def _is_paused(self, name: bytes) -> bool:
        return bool(self._paused) and name.decode() in self._paused

    def wake(self, now_ms: int) -> None:
        """Servers whose time has come become ready."""
        waiting, due, rank = self._waiting, self._due, self._rank
        while waiting and waiting[0] >> _BITS <= now_ms:
            entry = heappop(waiting)
            slot, when = entry & _MASK, entry >> _BITS
            if due[slot] == when:
                due[slot] = _NEVER
                rank[slot] = when + self._ahead[slot]
                heappush(self._ready, rank[slot] << _BITS | slot)

    def take_ready(self, count: int) -> list[LiveServer]:
        """The servers whose turn it is, at most ``count``; they are taken out, and each one has to be placed again."""
        ready, rank = self._ready, self._rank
        names: list[bytes] = []
        while ready and len(names) < count:
            entry = heappop(ready)
            slot = entry & _MASK
            if rank[slot] == entry >> _BITS:
                rank[slot] = _NEVER
                names.append(self._names[slot])
        self.prefetch(names)
        return [self._loaded[name] for name in names]

    @property
    def any_ready(self) -> bool:
        """Whether a server may be asked now."""
        ready, rank = self._ready, self._rank
        while ready and rank[ready[0] & _MASK] != ready[0] >> _BITS:
            heappop(ready)
        return bool(ready)

    @property
    def next_due_ms(self) -> int | None:
        """When the next waiting server becomes ready."""
        waiting, due = self._waiting, self._due
        while waiting and due[waiting[0] & _MASK] != waiting[0] >> _BITS:
            heappop(waiting)
        return waiting[0] >> _BITS if waiting else None

    def mutations(self) -> Iterator[Mutation]:
        # In key order, which RocksDB takes in faster.
        for _, live in sorted(self._touched.items()):
            yield from pack_server(live.name, live.behind, live.removed, live.added, live.packed_operations())

    def committed(self) -> None:
        for live in self._touched.values():
            live.settle()
            if live.record.idle:
                self._release(live)
        self._touched = {}
        if len(self._loaded) > LOADED:
            for name in list(self._loaded)[: len(self._loaded) - LOADED // 2]:
                live = self._loaded.pop(name)
                if live.record.idle:
                    self._release(live)

    def recover(self, now_ms: int) -> None:
        """After an abort: touched servers are as of the last checkpoint again."""
        touched = list(self._touched)
        self._touched = {}
        for name, value in zip(touched, self._state.get_many(SERVERS, touched) if touched else (), strict=True):
            live = self._loaded.pop(name)
            record = ServerRecord() if value is None else decode_server(value)
            self._place(live.slot, name, record, now_ms)
            if record.idle:
                self._release(live)

    def repause(self, names: Iterable[str], now_ms: int) -> None:
        """Servers whose pause began or ended."""
        for name in names:
            if self.has_work(name.encode()):
                self.place(self.open(name.encode()), now_ms)

    def _slot(self, name: bytes) -> int:
        slot = self._slots.get(name)
        if slot is None:
            if self._free:
                slot = self._free.pop()
                self._names[slot] = name
            else:
                slot = len(self._names)
                self._names.append(name)
                self._due.append(_NEVER)
                self._rank.append(_NEVER)
                self._ahead.append(0)
            self._slots[name] = slot
        return slot

    def _release(self, live: LiveServer) -> None:
        """A server without work needs no slot; its record is in the state."""
        if self._slots.get(live.name) == live.slot:
            del self._slots[live.name]
            self._loaded.pop(live.name, None)
            self._due[live.slot] = self._rank[live.slot] = _NEVER
            self._names[live.slot] = b""
            self._free.append(live.slot)
