"""More servers that misbehave on the wire: bodies without end, nonsense in heads, connections cut anywhere."""

from __future__ import annotations

import asyncio
import os
from typing import ClassVar

from tests.hostile.around import ByPath
from tests.hostile.servers import Answers, AnswersAndCloses, reset, response
from tests.hostile.web import Server

PAGE = response(b"<!doctype html><title>A page</title>" + b"<p>words " * 500, "Content-Type: text/html")


class Endless(Server):
    """A body of the same bytes without end, as fast as they are taken."""

    first: ClassVar[bytes] = b""
    then: ClassVar[bytes] = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(self.first)
        while True:
            writer.write(self.then)
            await writer.drain()


class EndlessCrumbs(Endless):
    """A body in chunks of one byte."""

    first = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    then = b"1\r\nx\r\n" * 10_000


class EndlessNoise(Endless):
    first = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    then = os.urandom(65536)


class OddChunks(ByPath):
    """Sizes of chunks as nobody should write them."""

    sizes = (b"-1", b"+5", b"0x5", b"5 5", b" 5", b"", b"5;", b"\x00", b"5\n", b"\xb2", b"5" * 17)

    def answer(self, path: str) -> bytes:
        size = self.around.random.choice(self.sizes)
        return EndlessCrumbs.first + size + b"\r\nhello\r\n0\r\n\r\n"


class CutAnywhere(ByPath):
    """A page that ends after any number of bytes, with a reset or without one."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(PAGE[: self.around.random.randrange(len(PAGE))])
        await writer.drain()
        if self.around.random.random() < 0.5:
            await asyncio.sleep(0.02)
            reset(writer)


class SlowPage(Server):
    """A whole page, but a few bytes at a time: it is done before anybody loses patience, or it is not."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await self.request(reader)
            for at in range(0, len(PAGE), 100):
                writer.write(PAGE[at : at + 100])
                await writer.drain()
                await asyncio.sleep(0.05)


class HugeCookies(ByPath):
    """A redirect to itself that sets more cookies than anybody keeps."""

    def answer(self, path: str) -> bytes:
        cookies = [f"Set-Cookie: c{number}={'v' * 900}; Path=/" for number in range(60)]
        return response(b"", *cookies, f"Location: {path}", status="302 Found")


class ControlCharacters(ByPath):
    """Escapes for terminals, and what else no header should hold."""

    oddities = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\x08" * 40, "\x7f", "\t\x0b\x0c", "\xa0\xad\xff", "\r", "\0")

    def answer(self, path: str) -> bytes:
        odd = self.around.random.choice(self.oddities)
        if self.around.random.random() < 0.5:
            return response(b"", f"Location: /{odd}/to{odd}", status="302 Found")
        headers = (
            f"Content-Type: text/html{odd}; charset={odd}",
            f"Last-Modified: {odd}",
            f'ETag: "{odd}"',
            f"X{odd}: {odd}",
        )
        return response(b"<title>\x1b[31m</title>", *headers)


class OddStatus(ByPath):
    """Answers that nothing in the request gives reason for."""

    statuses = (
        "204 No Content", "205 Reset Content", "206 Partial Content", "226 IM Used", "300 Multiple Choices", "304 Not Modified",
        "305 Use Proxy", "402 Payment Required", "407 Proxy Authentication Required", "408 Request Timeout", "412 Precondition Failed",
        "416 Range Not Satisfiable", "421 Misdirected Request", "451 ", "500 ", "505 ", "511 ", "599 ",
    )  # fmt: skip

    def answer(self, path: str) -> bytes:
        status = self.around.random.choice(self.statuses)
        return response(b"hello", "Content-Range: bytes 7-3/1", "Content-Type: text/html", status=status)


class EmptyPage(Answers):
    bytes_ = response(b"", "Content-Type: text/html")


class OneByte(AnswersAndCloses):
    bytes_ = b"H"


class OldHttp(AnswersAndCloses):
    """HTTP/0.9: a page without a head."""

    bytes_ = b"<html><a href=/old>old</a></html>"


class Http2Preface(AnswersAndCloses):
    bytes_ = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x04\x00\x00\xff\xff"


class BusyAtRandom(ByPath):
    """Says "later" in many ways, several of them at once."""

    def answer(self, path: str) -> bytes:
        random = self.around.random
        times = (
            "0",
            "1",
            "2",
            "3",
            "-1",
            "1e9",
            "1.5",
            "999999999999999999999",
            "soon",
            "",
            "\xff",
            "Thu, 01 Jan 1970 00:00:00 GMT",
        )
        headers = [f"Retry-After: {random.choice(times)}" for _ in range(random.choice((1, 1, 1, 2, 50)))]
        return response(b"later", *headers, status=random.choice(("429 Too Many Requests", "503 Service Unavailable")))


class BadHandshake(ByPath):
    """Whatever a handshake is answered with by somebody who does not know TLS, or not well."""

    answers = (
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x03\xff\xff" + bytes(65535),
        b"\x16\x03\x03\x00\x04\x02\x00\x00\x00",
        b"\x17\x03\x03\x00\x05hello",
        b"",
    )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        random = self.around.random
        answer = random.choice((*self.answers, random.randbytes(500)))
        writer.write(answer)
        await writer.drain()
        if random.random() < 0.3:
            await asyncio.sleep(20)
        elif random.random() < 0.3:
            reset(writer)
