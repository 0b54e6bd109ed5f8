"""A server that misbehaves in another way with every request, and changes its mood every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections import deque
from collections.abc import Callable
from typing import Final, cast

import msgspec
from msgspec import Struct

from tests.chaos.soak.moods import Kind, draw_mood
from tests.hostile.around import Around, ByPath, path_of
from tests.hostile.servers import NeverAccepts, reset
from tests.hostile.web import Server
from tests.hostile.wire import BadHandshake

LONGEST_S: Final = 30.0
"""Beyond every time-out of the crawl: whoever is still connected has been forgotten."""
TURNS: Final = 4
"""From a request's arrival to the line about it there are up to so many turns of the loop ..."""
TURN_S: Final = 0.005
"""... which are at least so long."""
HANDSHAKE: Final = b"\x16"
"""First byte of TLS."""


class Asked(Struct, frozen=True):
    """One request, as its server saw it."""

    time: float
    """Seconds of the machine's monotonic clock; taken before anything is answered."""
    server: str
    path: str
    kind: str
    """How it was answered."""
    late_s: float
    """How long it may have waited to be read, because its server's process had no turn."""


class Journal:
    """Where requests are written down."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._turns = deque([time.monotonic()] * TURNS, maxlen=TURNS)

    async def keep(self) -> None:
        """Notes when this process had a turn."""
        while True:
            self._turns.append(time.monotonic())
            await asyncio.sleep(TURN_S)

    def note(self, server: str, path: str, kind: str) -> None:
        now = time.monotonic()
        self._write(msgspec.json.encode(Asked(now, server, path, kind, now - self._turns[0])) + b"\n")


class _Next(Exception):
    """The next request on a connection has come."""


class _OneRequest:
    """What a misbehaviour may read: one request. The next is kept, and drawn for anew."""

    def __init__(self, reader: asyncio.StreamReader, head: bytes) -> None:
        self._reader = reader
        self._head = head
        self.following = b""

    async def readuntil(self, separator: bytes) -> bytes:
        head, self._head = self._head, b""
        if head:
            return head
        self.following = await self._reader.readuntil(separator)
        raise _Next


class Chameleon(Server):
    def __init__(self, host: str, around: Around, context: ssl.SSLContext | None, journal: Journal) -> None:
        super().__init__()
        self.host = host
        self._around = around
        self._context = context
        self._journal = journal
        self._random = around.random
        self._mood = draw_mood(self._random)
        self._full: NeverAccepts | None = None

    def tls(self) -> ssl.SSLContext | None:
        return self._context

    async def live(self) -> None:
        """Change one's mood again and again; the port stays."""
        while True:
            await asyncio.sleep(self._mood.lasts_s)
            self._mood = draw_mood(self._random)
            await self._move(self._mood.door)

    async def _move(self, door: str) -> None:
        if self._full is not None:
            await self._full.close()
            self._full = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        with contextlib.suppress(OSError):
            # Somebody else may have the port by now; there is another mood in a while.
            if door in ("open", "slams"):
                await self.open(self.port)
            elif door == "full":
                self._full = NeverAccepts()
                self._full.host = self.host
                await self._full.open(self.port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(TimeoutError, ValueError, ssl.SSLError):
            async with asyncio.timeout(LONGEST_S):
                await self._serve(reader, writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mood.door == "slams":
            reset(writer)
            return
        first = await reader.readexactly(1)
        if first == HANDSHAKE and self._context is None:
            await BadHandshake(self._around).serve(reader, writer)
            return
        head = first + await reader.readuntil(b"\r\n\r\n")
        while head:
            kind = self._mood.kind_for(path_of(head), self._random)
            self._journal.note(self.name, path_of(head), kind.__name__)
            one = _OneRequest(reader, head)
            head = b""
            with contextlib.suppress(_Next):
                await self._made(kind).serve(cast(asyncio.StreamReader, one), writer)
            head = one.following

    def _made(self, kind: Kind) -> Server:
        return kind(self._around) if issubclass(kind, ByPath) else kind()


class Victim(Server):
    """Answers everybody, with a page that leads nowhere."""

    def __init__(self, host: str, journal: Journal) -> None:
        super().__init__()
        self.host = host
        self._journal = journal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = path_of(await self.request(reader))
            self._journal.note(self.name, path, "Victim")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
            await writer.drain()
