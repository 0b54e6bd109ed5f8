"""A site of any number of tiny pages, made up as they are asked for, served on loopback by a process of its own.

Run: python -m bench.crawling.tree_site PAGES

Its first line of output is its port; at the end of its input it prints how many requests for pages it had, and for how many of them.
The pages of a host are a tree: every page leads to ``CHILDREN`` others, and to its parent and the entrance, which are known.
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import Final, cast

import uvloop

from gregor.demo.answer import loopback

HOSTS: Final = 8
CHILDREN: Final = 20


def pages_of(pages: int, host: int) -> int:
    """How many of all pages are this host's."""
    return pages // HOSTS + (host < pages % HOSTS)


def links(number: int, pages: int) -> Iterator[int]:
    first = number * CHILDREN + 1
    yield from range(first, min(first + CHILDREN, pages))
    yield (number - 1) // CHILDREN if number else 0
    yield 0


class Generated(asyncio.Protocol):
    """One connection; requests without bodies, one after the other."""

    def __init__(self, pages: int, asked: bytearray) -> None:
        self._pages = pages
        self._asked = asked
        self._host = 0
        self._transport: asyncio.Transport | None = None
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._host = int(transport.get_extra_info("sockname")[0].rpartition(".")[2]) - 1

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        *requests, self._unread = (self._unread + data).split(b"\r\n\r\n")
        for request in requests:
            self._transport.write(self._answer(request.split(b" ", 2)[1]))

    def _answer(self, path: bytes) -> bytes:
        number = path.removeprefix(b"/p")
        pages = pages_of(self._pages, self._host)
        if not number.isdigit() or int(number) >= pages:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        at = int(number) * HOSTS + self._host
        self._asked[at] = min(255, self._asked[at] + 1)
        body = b"<title>%b</title>" % number + b"".join(b"<a href=/p%d>" % one for one in links(int(number), pages))
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def main(pages: int) -> None:
    loop = asyncio.get_running_loop()
    asked = bytearray(pages + HOSTS)
    port = 0
    for host in range(HOSTS):
        server = await loop.create_server(lambda: Generated(pages, asked), loopback(host), port)
        port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(sum(asked), len(asked) - asked.count(0), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
