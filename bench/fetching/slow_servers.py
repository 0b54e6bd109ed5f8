"""As many servers as there are addresses in 127.0.0.0/8, each answering after a while. Run as a program: seconds as argument."""

import asyncio
import sys
from typing import Final, cast

import uvloop

from workers.fetcher.fd_limit import allow_open_files

MOST: Final = 12_000
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1024\r\n\r\n" + b"x" * 1024


class SlowServer(asyncio.Protocol):
    """One connection."""

    def __init__(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        self._seconds = seconds
        self._loop = loop
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._loop.call_later(self._seconds, self._transport.write, ANSWER)


async def main(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SlowServer(seconds, loop), "0.0.0.0", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    allow_open_files(MOST)
    uvloop.run(main(float(sys.argv[1])))
