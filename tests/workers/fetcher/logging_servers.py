"""Many servers on addresses of their own, in a process of their own, that log when each request came.

Run as a program: how late it is to look at a request, then addresses as arguments, one port for all; prints the port,
and when its input is closed the log as JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence

import uvloop

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


class Logging(asyncio.Protocol):
    """One connection."""

    def __init__(self, log: dict[str, list[float]], lateness_s: float) -> None:
        self._log = log
        self._lateness_s = lateness_s
        self._host = ""
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._host = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        if not self._log[self._host]:
            # As a machine does that is busy with something else; the first request alone.
            time.sleep(self._lateness_s)
        now = time.monotonic()
        *requests, self._rest = (self._rest + data).split(b"\r\n\r\n")
        for _ in requests:
            self._log[self._host].append(now)
            assert self._transport is not None
            self._transport.write(ANSWER)


class LoggingServers:
    """The servers' process, for a test."""

    def __init__(self, addresses: Sequence[str], lateness_s: float = 0.0) -> None:
        command = [sys.executable, "-m", "tests.workers.fetcher.logging_servers", str(lateness_s), *addresses]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def log(self) -> dict[str, list[float]]:
        """When each address was asked, in monotonic seconds; the servers are gone afterwards."""
        output, _ = self._process.communicate()
        return json.loads(output)  # type: ignore[no-any-return]


async def main(lateness_s: float, addresses: list[str]) -> None:
    log: dict[str, list[float]] = defaultdict(list)
    loop = asyncio.get_running_loop()
    port = 0
    for address in addresses:
        server = await loop.create_server(lambda: Logging(log, lateness_s), address, port, backlog=16)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(json.dumps(log), flush=True)


if __name__ == "__main__":
    uvloop.run(main(float(sys.argv[1]), sys.argv[2:]))
