"""Servers that send without end what is no body, and good ones that do a little of the same."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from tests.hostile.servers import Answers, AnswersAndCloses, response
from tests.hostile.web import Server


class Floods(Server):
    """Sends ``opening``, and then ``again`` without end and as fast as it is read."""

    opening: ClassVar[bytes] = b""
    again: ClassVar[bytes] = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(self.opening)
        block = self.again * (256 * 1024 // len(self.again))
        while True:
            writer.write(block)
            await writer.drain()


class FloodOfContinues(Floods):
    again = b"HTTP/1.1 100 Continue\r\n\r\n"


class FloodOfHints(Floods):
    again = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"


class FloodOfBareInformation(Floods):
    """Lines that end without CR, which the parser takes as well."""

    again = b"HTTP/1.1 102 P\n\n"


class FloodOfLongHeaders(Floods):
    """Each within its cap, in an interim answer that is never whole."""

    opening = b"HTTP/1.1 103 Early Hints\r\n"
    again = b"Link: " + b"l" * 10_000 + b"\r\n"


class FloodOfAnswers(Floods):
    """Answers that nobody asked for behind the one that somebody did."""

    opening = response(b"hello")
    again = response()


class FloodOfLateAnswers(Server):
    """Answers, and floods the idle connection once ``begin`` is set; ``sent`` says with how much before it was hung up on."""

    def __init__(self) -> None:
        super().__init__()
        self.begin, self.gone = asyncio.Event(), asyncio.Event()
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(response(b"hello"))
        await self.begin.wait()
        try:
            while True:
                writer.write(response() * 1000)
                await writer.drain()
                self.sent += len(response()) * 1000
        except OSError:
            self.gone.set()


class FloodOfLineEnds(Floods):
    """An answer, and empty lines behind it, which the parser passes over in search of the next."""

    opening = response(b"hello")
    again = b"\r\n"


class FloodBeforeTheAnswer(Floods):
    """Empty lines in place of an answer."""

    again = b"\r\n"


class FloodOfTrailers(Floods):
    opening = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    again = b"X-Trailer: t\r\n"


class FloodOfExtensions(Floods):
    """A chunk whose extension never ends."""

    opening = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5;a="
    again = b"extension"


class FloodOfZeros(Floods):
    """A chunk whose size never ends."""

    opening = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    again = b"0"


class FloodOfCrumbs(Floods):
    """Chunks of two bytes, each dressed up in an extension."""

    opening = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    again = b"2;name=value-of-an-extension\r\nab\r\n"


class HintsAndAnswers(Answers):
    bytes_ = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" * 3 + response(b"hello")


class HintsAndBadChunks(AnswersAndCloses):
    bytes_ = (
        b"HTTP/1.1 103 Early Hints\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\nmore\r\n0\r\n\r\n"
    )


class Crumbs(Answers):
    """A body in chunks of one byte."""

    bytes_ = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 60_000 + b"0\r\n\r\n"
