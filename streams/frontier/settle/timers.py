"""URLs that wait for a time: failed ones for their next attempt, fetched ones for their next visit.

One family by due time serves both, as Qc does in the paper. Reading begins behind what was taken last. Nothing is put in before what was
taken: a due time lies in the future of its partition's clock, and where a replay took a URL before its time, behind that one's. What was
put in since the last checkpoint is seen after it, and nothing that is due later is taken before: reading would begin behind it for ever.
"""

from collections.abc import Sequence
from struct import Struct as Layout
from typing import Final

import msgspec
from msgspec import Struct

from gregor.runtime.state.store import StateReader
from streams.frontier.storage.families import REVISIT, VISITS
from streams.frontier.storage.queue_codec import PLACE_BYTES
from streams.frontier.storage.server import LiveServer

RETRY: Final = 0
VISIT: Final = 1

_KEY: Final = Layout(">QQQ")
_URL: Final = Layout(">QQ")
_TIME: Final = Layout(">Q")


class Waiting(Struct, frozen=True, array_like=True, gc=False):
    """One URL that waits."""

    kind: int
    """RETRY or VISIT."""
    server: bytes
    place: bytes
    """Where in the queue it goes."""
    value: bytes


class Visit(Struct, frozen=True, array_like=True, gc=False):
    """When a URL was and will be visited; stands under the URL, so that a sitemap can bring it forward."""

    due_ms: int
    visited_ms: int


_encode = msgspec.msgpack.Encoder().encode
decode_waiting = msgspec.msgpack.Decoder(Waiting).decode
_decode_visit = msgspec.msgpack.Decoder(Visit).decode


class TimerQueue:
    """The waiting URLs of a partition."""

    def __init__(self, state: StateReader, start: bytes) -> None:
        self._state = state
        self.start = self._committed_start = start
        self._pending_ms: int | None = None
        self._moved: dict[bytes, Visit] = {}
        self._gone: set[bytes] = set()
        self.next_due_ms: int | None = None
        """Of what the state holds."""
        self.look()

    def look(self) -> None:
        """Read when the first one is due."""
        first = next(iter(self._state.scan(REVISIT, self.start)), None)
        self.next_due_ms = None if first is None else _KEY.unpack(first[0])[0]

    @property
    def earliest_ms(self) -> int:
        """When the first URL is due, those of this checkpoint included; 0: none waits."""
        return min((due for due in (self.next_due_ms, self._pending_ms) if due is not None), default=0)

    @property
    def _open_ms(self) -> int:
        """The first due time of which nothing was taken."""
        return _TIME.unpack_from(self.start)[0] + 1 if self.start else 0

    def put(self, live: LiveServer, due_ms: int, waiting: Waiting) -> None:
        due_ms = max(due_ms, self._open_ms)
        fingerprint = int.from_bytes(waiting.place[PLACE_BYTES - 8 :], "big")
        live.put(REVISIT, _KEY.pack(due_ms, live.hash, fingerprint), _encode(waiting))
        self._note(due_ms)

    def put_visit(self, live: LiveServer, waiting: Waiting, visit: Visit) -> None:
        visit = Visit(max(visit.due_ms, self._open_ms), visit.visited_ms)
        self.put(live, visit.due_ms, waiting)
        url = _URL.pack(live.hash, int.from_bytes(waiting.place[PLACE_BYTES - 8 :], "big"))
        self._moved[url] = visit
        live.put(VISITS, url, _encode(visit))

    def _note(self, due_ms: int) -> None:
        self._pending_ms = due_ms if self._pending_ms is None else min(self._pending_ms, due_ms)

    def due(self, now_ms: int, count: int) -> list[tuple[bytes, Waiting]]:
        """The keys and URLs whose time has come, at most ``count``; each has to be taken."""
        if self.next_due_ms is None or self.next_due_ms > now_ms:
            return []
        found: list[tuple[bytes, Waiting]] = []
        latest = now_ms if self._pending_ms is None else min(now_ms, self._pending_ms - 1)
        for key, value in self._state.scan(REVISIT, self.start):
            when = _KEY.unpack(key)[0]
            if when > latest or len(found) >= count:
                self.next_due_ms = when
                break
            self.start = key + b"\0"
            if key not in self._gone:
                found.append((key, decode_waiting(value)))
        else:
            self.next_due_ms = None
        return found

    def take(self, live: LiveServer, key: bytes, waiting: Waiting) -> None:
        live.delete(REVISIT, key)
        if waiting.kind == VISIT:
            self._forget(live, _URL.pack(*_KEY.unpack(key)[1:]))

    def _forget(self, live: LiveServer, url: bytes) -> None:
        live.delete(VISITS, url)
        self._moved.pop(url, None)

    def visits(self, server_hash: int, fingerprints: Sequence[int]) -> list[Visit | None]:
        """What is known of URLs of one server that may wait to be visited again."""
        urls = [_URL.pack(server_hash, fingerprint) for fingerprint in fingerprints]
        stored = self._state.get_many(VISITS, urls)
        return [
            self._moved.get(url) or (None if value is None else _decode_visit(value))
            for url, value in zip(urls, stored, strict=True)
        ]

    def bring_forward(self, live: LiveServer, fingerprint: int, visit: Visit, due_ms: int) -> bool:
        """Let a visit be due at once; False when it was put in since the last checkpoint, or was just taken."""
        old = _KEY.pack(visit.due_ms, live.hash, fingerprint)
        value = self._state.get(REVISIT, old)
        if value is None or old in self._gone or old < self.start:
            return False
        self._gone.add(old)
        live.delete(REVISIT, old)
        self.put_visit(live, decode_waiting(value), Visit(due_ms, visit.visited_ms))
        return True

    def committed(self) -> None:
        if self._pending_ms is not None and (self.next_due_ms is None or self._pending_ms < self.next_due_ms):
            self.next_due_ms = self._pending_ms
        self._forget_pending()
        self._committed_start = self.start

    def dropped(self) -> None:
        self._forget_pending()
        self.start = self._committed_start

    def _forget_pending(self) -> None:
        self._pending_ms = None
        self._moved = {}
        self._gone = set()
