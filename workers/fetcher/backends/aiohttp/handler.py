"""aiohttp's response handler with three gaps closed: no flood queues up, and a broken body loses neither its head nor its reader.

A connection carries one answer to one request. Under uvloop ``data_received`` is called for megabytes before whoever waits for the answer
has a turn, and a parsed message weighs ten times its bytes. So only the answer is queued. Interim answers (1xx) are counted and dropped, an
answer behind the answer ends the connection, and so do too many bytes that are neither head nor body: the parser passes over empty lines,
extensions of chunks and zeros in front of their sizes for ever.

The parser answers a piece of input as a whole: an error anywhere in it loses the messages before. Whether a response with a bad body has
a status would then depend on how the network cut it into packets. So heads are fed one by one, until the answer's was fed, unless nothing
can be wrong with what follows it. And an error in a later piece is told to who waits for the next head, but not to who is reading the body,
and would wait there until the time is over.
"""

from typing import Final

from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage
from aiohttp.streams import StreamReader

from workers.fetcher.backends.backend import Caps

READ_BUFFER: Final = 64 * 1024
HEADERS_TOGETHER: Final = 4
"""All headers of a response together may be this many times as long as one."""
MOST_INTERIM: Final = 16
"""Interim answers to one request; servers send one or two."""
HEADS_TOGETHER: Final = 2 * HEADERS_TOGETHER
"""Whatever stands before the end of the answer's headers may be this many times as long as one header; the same holds for what is
neither head nor body ..."""
FRAMING: Final = 8
"""... beside so many bytes of framing for each byte of a body: a chunk of one byte has five."""

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length:"
_CODED: Final = b"\r\ntransfer-encoding"
_DIGITS: Final = 12


class OneAnswerHandler(ResponseHandler):
    """One connection."""

    peer = ""
    """The address that the guard has judged; empty: it has not yet."""
    _answered = True
    """Whether the head of the answer was parsed; also when nothing was asked yet."""
    _interim = 0
    _received = 0
    """Bytes since the request."""
    _spare = HEADS_TOGETHER * READ_BUFFER
    """How many of them may be neither head nor body; before the first request aiohttp stops reading long before that."""
    _deaf = False
    _seam = b""
    """The last bytes that were fed before the answer: the end of a head may be cut in two."""

    def expect(self, caps: Caps) -> None:
        """A request is about to be sent: get ready for its answer."""
        self._answered = False
        self._interim = self._received = 0
        self._seam = b""
        self._spare = HEADS_TOGETHER * caps.header_bytes
        self.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            read_bufsize=READ_BUFFER,
            max_line_size=caps.header_bytes,
            max_field_size=caps.header_bytes,
            max_headers=caps.headers,
        )

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._received += len(data)
        heads = 0
        while not self._answered and heads <= MOST_INTERIM:
            found = (self._seam + data).find(_END_OF_HEAD)
            end = found + len(_END_OF_HEAD) - len(self._seam)
            if found < 0 or end >= len(data):
                break
            head = data[:end]
            if _harmless(head, len(data) - end):
                break
            super().data_received(head)
            if not self.is_connected():
                return
            data = data[end:]
            self._seam = b""
            heads += 1
        super().data_received(data)
        if not self._answered:
            self._seam = (self._seam + data)[1 - len(_END_OF_HEAD) :]
        if self._received > self._spare and not self._reading_paused:
            self._weigh()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """A message was parsed."""
        if self._answered:
            self._hang_up()
        elif 100 <= data[0].code < 200 and data[0].code != 101:
            self._interim += 1
            if self._interim > MOST_INTERIM and not self._deaf:
                self._refuse(f"more than {MOST_INTERIM} interim answers")
        else:
            self._answered = True
            super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, *cause)

    def _weigh(self) -> None:
        """More came than heads may be long: it has to be a body."""
        if not self._answered:
            self._refuse(f"more than {self._spare} bytes before the end of the headers")
            return
        body = self._payload
        used = body.total_bytes if body is not None else 0
        if self._received - used <= self._spare + FRAMING * used:
            return
        if body is None or body.is_eof():
            self._hang_up()
        else:
            self._refuse(f"{self._received} bytes for {used} of the body")

    def _refuse(self, why: str) -> None:
        self._hang_up()
        self.set_exception(HttpProcessingError(message=why))

    def _hang_up(self) -> None:
        """Hear no more of it; what was parsed until now can still be read."""
        self._deaf = True
        self.force_close()
        if self.transport is not None:
            self.transport.close()


def _harmless(head: bytes, size: int) -> bool:
    """Whether the ``size`` bytes behind the head are part of a body that the parser only counts."""
    if head[9:12] != b"200":
        return False
    head = head.lower()
    start = head.find(_LENGTH) + len(_LENGTH)
    if start < len(_LENGTH) or _CODED in head:
        return False
    length = head[start : head.find(b"\r", start)].strip()
    return len(length) < _DIGITS and length.isdigit() and size <= int(length)
