"""Serves a demo site on loopback addresses from a thread of its own, and writes down every request."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import msgspec
from aiohttp import web

from gregor.demo.answer import ROBOTS, Answer, HostedSite
from gregor.errors import EXIT_ENVIRONMENT, GregorError

_PORT_TRIES = 20


class LoggedRequest(msgspec.Struct, frozen=True):
    """One line of the server's log, in the order in which answers were begun."""

    time: float
    """Seconds since the epoch."""
    host: str
    """Address and port that the request arrived on."""
    path: str
    """Path and query as sent."""
    status: int


class DemoServer:
    """A site being served."""

    def __init__(self, site: HostedSite, latency_s: float, log_file: IO[bytes] | None) -> None:
        self.site = site
        self.port = site.port
        self.seeds = site.seeds
        self.log: list[LoggedRequest] = []
        self._asked: Counter[tuple[str, str]] = Counter()
        self.latency_s = latency_s
        """What each answer waits; may be changed meanwhile."""
        self._log_file = log_file

    def requested(self) -> Counter[str]:
        """How often each URL was asked for, robots.txt apart."""
        return requested(self.log)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client left before its request was read")
        address = str(transport.get_extra_info("sockname")[0])
        earlier = self._asked[address, request.raw_path]
        self._asked[address, request.raw_path] += 1
        answer = self.site.answer(address, request.raw_path, earlier)
        self._write_down(LoggedRequest(time.time(), f"{address}:{self.port}", request.raw_path, answer.status))
        if self.latency_s or answer.delay_s:
            await asyncio.sleep(self.latency_s + answer.delay_s)
        return _response(answer)

    def _write_down(self, line: LoggedRequest) -> None:
        self.log.append(line)
        if self._log_file is not None:
            self._log_file.write(msgspec.json.encode(line) + b"\n")


def requested(log: list[LoggedRequest]) -> Counter[str]:
    """How often each URL of a log was asked for, robots.txt apart."""
    return Counter(f"http://{line.host}{line.path}" for line in log if line.path != ROBOTS)


def read_log(path: Path) -> list[LoggedRequest]:
    """The log another process wrote; a line still being written is left out."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [msgspec.json.decode(line, type=LoggedRequest) for line in lines]


@contextmanager
def serve(site: HostedSite, *, latency_s: float = 0.0, log_file: Path | None = None) -> Iterator[DemoServer]:
    """Serve `site` until the block ends, on its port or, if that is 0, on a free one."""
    with ExitStack() as stack:
        sockets = _bind(site)
        for bound in sockets:
            stack.callback(bound.close)
        # Unbuffered, so that each line is in the file before its answer leaves.
        log = None if log_file is None else stack.enter_context(log_file.open("ab", buffering=0))
        port = int(sockets[0].getsockname()[1])
        server = DemoServer(site.at(port), latency_s, log)
        loop = asyncio.new_event_loop()
        stop, started = asyncio.Event(), threading.Event()
        thread = threading.Thread(
            target=_run, args=(loop, server, sockets, started, stop), name="gregor-demo", daemon=True
        )
        thread.start()
        started.wait()
        try:
            yield server
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()


def _run(
    loop: asyncio.AbstractEventLoop,
    server: DemoServer,
    sockets: list[socket.socket],
    started: threading.Event,
    stop: asyncio.Event,
) -> None:
    async def life() -> None:
        protocol = web.Server(server.handle, access_log=None)
        listeners = [await loop.create_server(protocol, sock=bound) for bound in sockets]
        started.set()
        await stop.wait()
        for listener in listeners:
            listener.close()
        await protocol.shutdown(timeout=0)

    try:
        loop.run_until_complete(life())
    finally:
        started.set()
        loop.close()


def _bind(site: HostedSite) -> list[socket.socket]:
    """One listening socket per host, all on one port."""
    for _ in range(1 if site.port else _PORT_TRIES):
        sockets: list[socket.socket] = []
        port = site.port
        try:
            for address in site.addresses():
                sockets.append(socket.create_server((address, port), backlog=1024))
                port = int(sockets[0].getsockname()[1])
        except OSError:
            for bound in sockets:
                bound.close()
        else:
            return sockets
    addresses = site.addresses()
    where = f"{addresses[0]} to {addresses[-1]}, port {site.port or 'any'}"
    raise GregorError(
        f"the demo site needs one port on each of {len(addresses)} loopback addresses; could not listen on {where}",
        exit_code=EXIT_ENVIRONMENT,
        remedy="choose another port or fewer hosts",
    )


def _response(answer: Answer) -> web.Response:
    response = web.Response(
        status=answer.status, body=answer.raw or answer.body.encode(), headers={"Content-Type": answer.content_type}
    )
    if answer.retry_after:
        response.headers["Retry-After"] = answer.retry_after
    if answer.location:
        response.headers["Location"] = answer.location
    return response
