"""Servers that misbehave, one small class for each way of doing so."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import ClassVar, Final

from tests.hostile.web import Server

MIB: Final = 1024 * 1024


def response(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Answers(Server):
    """Answers every request with the same bytes, and keeps the connection."""

    bytes_: ClassVar[bytes] = response(b"hello")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await self.request(reader)
            writer.write(self.bytes_)
            await writer.drain()


class AnswersAndCloses(Server):
    bytes_: ClassVar[bytes] = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(self.bytes_)


class NeverAccepts(Server):
    """Listens with a full backlog: the handshake is never finished."""

    async def open(self, port: int = 0) -> None:
        self._socket = socket.socket()
        self._socket.bind((self.host, port))
        self._socket.listen(0)
        self.port = self._socket.getsockname()[1]
        self._fillers = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((self.host, self.port))
            self._fillers.append(filler)

    async def close(self) -> None:
        for one in (*self._fillers, self._socket):
            one.close()


class NeverAnswers(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        await asyncio.Event().wait()


class SlowHeaders(Server):
    """One byte of the headers every 50 ms, without end."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.05)


class SlowBody(Server):
    """One byte of the body every 50 ms, without end."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.05)


class EndlessInformation(Server):
    """100 Continue, for ever."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)


class EndlessBody(Server):
    """No length, no end; ``sent`` says how much went out before the reader hung up."""

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(self.head)
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            self.sent += 65536


class EndlessHeaders(Server):
    """Short headers without end."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-More: and more\r\n" * 100)
            await writer.drain()


class EndlessHeader(Server):
    """One header without end."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while True:
            writer.write(b"a" * 65536)
            await writer.drain()


class EndlessStatusLine(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 ")
        while True:
            writer.write(b"a" * 65536)
            await writer.drain()


class ManyLongHeaders(Answers):
    """Each header within its cap, all of them together not."""

    bytes_ = response(b"", *(f"X-{number}: {'v' * 1900}" for number in range(20)))


class TooManyHeaders(Answers):
    bytes_ = response(b"", *(f"X-{number}: v" for number in range(200)))


class ShortBody(AnswersAndCloses):
    """Promises more than it sends."""

    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"


class LongBody(Answers):
    """Sends more than it promises, on a connection that goes on."""

    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more"


class NegativeLength(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"


class HugeLength(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\nhello"


class LargeLength(AnswersAndCloses):
    """A terabyte is announced."""

    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nhello"


class WordyLength(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello"


class TwoLengths(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"


class BadChunks(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\nmore\r\n0\r\n\r\n"


class HugeChunk(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\nhello"


class UnfinishedChunks(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


class EndlessTrailers(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
        while True:
            writer.write(b"X-Trailer: " + b"t" * 1000 + b"\r\n")
            await writer.drain()


class RedirectLoop(Answers):
    bytes_ = response(b"", "Location: /", status="302 Found")


class RedirectToFile(Answers):
    bytes_ = response(b"", "Location: file:///etc/passwd", status="302 Found")


class RedirectNowhere(Answers):
    bytes_ = response(b"", status="302 Found")


class ResetsOnConnect(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reset(writer)


class ResetsAfterRequest(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        reset(writer)


class ResetsInHeaders(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-")
        await writer.drain()
        await asyncio.sleep(0.02)
        reset(writer)


class ResetsInBody(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        await writer.drain()
        await asyncio.sleep(0.02)
        reset(writer)


class ClosesOnConnect(Server):
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return


class ClosesAfterRequest(AnswersAndCloses):
    bytes_ = b""


class ClosesIdle(Server):
    """Answers one request, and closes the kept-alive connection when the next one arrives."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.request(reader)
        writer.write(response(b"hello"))
        await writer.drain()
        await self.request(reader)


class SpeaksUnasked(Server):
    """Answers, and then sends another answer that nobody asked for."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await self.request(reader)
            writer.write(response(b"true"))
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(response(b"false"))
            await writer.drain()


class NoContentWithBody(Answers):
    bytes_ = b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"


class NotModifiedWithBody(Answers):
    bytes_ = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"


class NotHttp(AnswersAndCloses):
    bytes_ = b"220 mail.example.org ESMTP\r\n"


class BinaryNoise(AnswersAndCloses):
    bytes_ = bytes(range(256)) * 8


class StatusOutOfRange(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 999 Go away\r\nContent-Length: 0\r\n\r\n"


class Upgrades(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"


class NulInHeaders(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\r\nX-Nul: a\0b\r\nContent-Length: 5\r\n\r\nhello"


class InvalidBytes(Answers):
    """Bytes that are no UTF-8 in the reason, in headers and in the body."""

    bytes_ = (
        b'HTTP/1.1 200 \xff\xfe\r\nX-Bad: \xff\xfe\xed\xa0\x80\r\nETag: "\xff"\r\n'
        b"Content-Type: text/html; charset=\xff\r\nContent-Length: 4\r\n\r\n\xff\x00\xfe\xed"
    )


class SpeaksToTerminals(Answers):
    """Escape sequences, C1 controls, bells and bidirectional overrides in everything it says: reason, headers, redirects, title, links,
    robots.txt."""

    spoken: ClassVar[str] = "\x1b]0;mine\x07\x1b[31m\x7f\u202egnp.exe\u2066\u200b\u0085\u009b31m"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken = self.spoken.encode()
        while True:
            path = (await self.request(reader)).split(b" ")[1]
            if path == b"/robots.txt":
                head, body = b"200 OK", b"User-agent: *\nAllow: /\nSitemap: /%b\nDisallow: /no%b\n" % (spoken, spoken)
            elif path == b"/to":
                head, body = b"302 " + spoken + b"\r\nLocation: /" + spoken, b""
            else:
                head = b"200 " + spoken + b"\r\nX-Said: \x9b2J" + spoken
                body = b"<title>%b</title><a href='/to'>%b</a><a href='/%b'>a</a><a href='http://%b/'>b</a>" % (
                    (spoken,) * 4
                )
            said = b'Content-Type: text/html;%b\x9b31m\r\nETag: "%b"\r\nContent-Length: %d' % (
                spoken,
                spoken,
                len(body),
            )
            writer.write(b"HTTP/1.1 " + head + b"\r\n" + said + b"\r\n\r\n" + body)
            await writer.drain()


class LoneCarriageReturns(AnswersAndCloses):
    bytes_ = b"HTTP/1.1 200 OK\rX-A: b\r\nContent-Length: 0\r\n\r\n"


class FoldedHeader(AnswersAndCloses):
    """A header whose value goes on in the next line."""

    bytes_ = b"HTTP/1.1 200 OK\r\nX-Folded: a\r\n Set-Cookie: b=c\r\nContent-Length: 5\r\n\r\nhello"


class Image(Answers):
    bytes_ = response(b"\x89PNG", "Content-Type: image/png")


class Busy(Answers):
    bytes_ = response(b"", "Retry-After: 120", status="429 Too Many Requests")


class BusyUntil(Answers):
    bytes_ = response(b"", "Retry-After: Wed, 21 Oct 2065 07:28:00 GMT", status="429 Too Many Requests")


class BusyNonsense(Answers):
    bytes_ = response(b"", "Retry-After: when hell freezes over \xff", status="429 Too Many Requests")


class Unavailable(Answers):
    bytes_ = response(b"", "Retry-After: 5", status="503 Service Unavailable")


class HtmlRobots(Answers):
    bytes_ = response(b"<!doctype html><html><body>Page not found</body></html>", "Content-Type: text/html")


class HugeRobots(Answers):
    """10 MB, of which the first lines matter."""

    bytes_ = response(b"User-agent: *\nDisallow: /private\n" + b"Disallow: /x\n" * 800_000)


class BinaryRobots(Answers):
    bytes_ = response(bytes(range(256)) * 100 + b"\nUser-agent: *\nDisallow: /secret\0\xff\n")
