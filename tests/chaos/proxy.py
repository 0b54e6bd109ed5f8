"""A TCP proxy in front of a broker that can be slow, silent or cut, in a thread of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"


class Proxy:
    """Forwards ``port`` to ``target``. All methods may be called from any thread."""

    def __init__(self) -> None:
        self.target = 0
        self.port = 0
        self.delay_s = 0.0
        """What each piece of data waits, in both directions."""
        self.bytes_per_s = 0.0
        """How fast data passes on each connection; 0: as fast as it can."""
        self.mute = False
        """Connections stay open and new ones are taken, but nothing passes until it is false again."""
        self._cut = False
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._started.wait()

    def cut(self) -> None:
        """Every connection is reset and none is taken until ``heal``."""
        self._cut = True
        self._loop.call_soon_threadsafe(self._reset)

    def heal(self) -> None:
        self._cut = False

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, HOST, 0))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        self._reset()
        server.close()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    def _reset(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(HOST, self.target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        await asyncio.gather(self._ask(reader, back, writer), self._pass(there, writer))
        self._open -= {writer, back}

    async def _ask(
        self, client: asyncio.StreamReader, broker: asyncio.StreamWriter, answers: asyncio.StreamWriter
    ) -> None:
        """What the client says; ``answers`` is for a proxy that answers instead of the broker."""
        await self._pass(client, broker)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while data := await source.read(65_536):
                if self.delay_s or self.bytes_per_s:
                    await asyncio.sleep(self.delay_s + (len(data) / self.bytes_per_s if self.bytes_per_s else 0.0))
                while self.mute:  # noqa: ASYNC110  another thread changes it
                    await asyncio.sleep(0.02)
                sink.write(data)
                await sink.drain()
        sink.close()


@contextmanager
def proxy() -> Iterator[Proxy]:
    made = Proxy()
    made.start()
    try:
        yield made
    finally:
        made.close()
