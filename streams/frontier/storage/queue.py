"""The queue of one server: URLs by their place, the first ones taken, others added or put back.

What is taken leaves a tombstone in RocksDB. Reading begins at the server's ``head``, behind the tombstones, and a long run of them is
deleted by range, so that a URL that comes back before them does not make the next reader pass through them all.
"""

from collections.abc import Sequence
from heapq import nsmallest
from itertools import islice
from typing import Final

from gregor.errors import CorruptState
from gregor.runtime.state.store import StateReader
from streams.frontier.storage.families import QUEUE
from streams.frontier.storage.server import LiveServer

DELETE_BEHIND: Final = 4096
"""URLs taken from one server before what is behind its head is deleted by range."""

Entry = tuple[bytes, bytes]
"""A place and its value."""


def read_ahead(wanted: Sequence[tuple[LiveServer, int]], state: StateReader) -> None:
    """Read the first stored URLs of many servers, so many of each, in the order in which they stand in the state."""
    wanted = sorted(wanted, key=lambda one: one[0].name)
    ranges = [
        (live.name + b"\0", live.record.head, min(count, live.record.queued - len(live.added)))
        for live, count in wanted
    ]
    for (live, _), entries in zip(wanted, state.first_of_each(QUEUE, ranges), strict=True):
        live.ahead = entries


def first_entries(live: LiveServer, state: StateReader, count: int) -> list[Entry]:
    """The first URLs of the queue, at most ``count``; they stay in it."""
    added = live.added
    stored = live.record.queued - len(added)
    pending = [(place, added[place]) for place in nsmallest(count, added)] if added else []
    if not stored:
        return pending
    wanted = min(count, stored)
    entries = _stored(live, state, wanted)
    if len(entries) < wanted:
        # The server would be visited for ever.
        raise CorruptState(f"expected {wanted} URLs or more in the queue of {live.text}, found {len(entries)}")
    return sorted(entries + pending)[:count] if pending else entries


def _stored(live: LiveServer, state: StateReader, count: int) -> list[Entry]:
    cut = len(live.name) + 1
    removed = live.removed
    if not removed and len(live.ahead) >= count:
        return live.ahead[:count]
    stored = state.scan(QUEUE, live.name + b"\0" + live.record.head, live.name + b"\1")
    if not removed:
        return [(key[cut:], value) for key, value in islice(stored, count)]
    return list(islice(((key[cut:], value) for key, value in stored if key[cut:] not in removed), count))


def take(live: LiveServer, entries: list[Entry], following: bytes) -> None:
    """Take out the first entries, after which ``following`` is the first place (empty: none)."""
    record = live.record
    places = [place for place, _ in entries]
    if live.added:
        for place in places:
            live.added.pop(place, None)
    live.removed.update(places)
    live.ahead = []
    record.queued -= len(entries)
    record.head = following
    record.popped += len(entries)
    if record.popped >= DELETE_BEHIND:
        record.popped = 0
        live.behind = following or entries[-1][0] + b"\0"


def pick(live: LiveServer, places: Sequence[bytes]) -> None:
    """Take queued URLs out from any places. The head stays: no URL has a smaller place."""
    for place in places:
        live.added.pop(place, None)
    live.removed.update(places)
    live.ahead = []
    live.record.queued -= len(places)
    if not live.record.queued:
        live.record.head = b""


def add(live: LiveServer, place: bytes, value: bytes) -> None:
    """A URL that is not in the queue. The caller looks after ``since_ms`` and the server's place."""
    record = live.record
    live.added[place] = value
    record.queued += 1
    if not record.head or place < record.head:
        record.head = place


def move(live: LiveServer, state: StateReader, old: bytes, new: bytes, value: bytes) -> bool:
    """Give a queued URL another place; False when it is not at the old one."""
    if old in live.added:
        del live.added[old]
    elif old in live.removed or state.get(QUEUE, live.name + b"\0" + old) is None:
        return False
    live.removed.add(old)
    live.record.queued -= 1
    if old == live.record.head and not live.record.queued:
        live.record.head = b""
    add(live, new, value)
    return True


def value_at(live: LiveServer, state: StateReader, place: bytes) -> bytes | None:
    """What is queued at a place."""
    pending = live.added.get(place)
    if pending is not None or place in live.removed:
        return pending
    return state.get(QUEUE, live.name + b"\0" + place)
