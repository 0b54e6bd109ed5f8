"""A small web of misbehaving servers on loopback, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Server:
    """One server; a subclass for each misbehaviour says in ``serve`` what it does with a connection.

    ``requests`` holds the request heads that were read, ``connections`` counts everybody who came.
    """

    host = "127.0.0.1"

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[bytes] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._listener: asyncio.Server | None = None

    @property
    def name(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def tls(self) -> ssl.SSLContext | None:
        return None

    async def open(self, port: int = 0) -> None:
        self._listener = await asyncio.start_server(self._connected, self.host, port, ssl=self.tls())
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        """The head of the next request."""
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head)
        return head

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self.serve(reader, writer)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()


class Web:
    """Where servers live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="web", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def call(self, what: Callable[[], None]) -> None:
        """In the servers' thread, soon."""
        self._loop.call_soon_threadsafe(what)

    @contextlib.contextmanager
    def serving(self, *servers: Server, port: int = 0) -> Iterator[None]:
        opened = []
        try:
            for server in servers:
                self.run(server.open(port))
                opened.append(server)
            yield
        finally:
            for server in opened:
                self.run(server.close())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
