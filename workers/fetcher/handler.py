"""aiohttp's response handler with two gaps closed: a broken body loses neither the head in front of it nor its reader.

The parser answers a piece of input as a whole: an error anywhere in it loses the messages before. Whether a response with a bad body has
a status would then depend on how the network cut it into packets. So the head is fed by itself, unless nothing can be wrong with what
follows it. And an error in a later piece is told to who waits for the next head, but not to who is reading the body, and would wait there
until the time is over.
"""

from typing import Any, Final

from aiohttp.client_proto import ResponseHandler

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length:"
_CODED: Final = b"\r\ntransfer-encoding"
_DIGITS: Final = 12


class HeadFirstHandler(ResponseHandler):
    """One connection."""

    _head_pending = True
    peer = ""
    """The address that the guard has judged; empty: it has not yet."""

    def set_response_params(self, **params: Any) -> None:
        self._head_pending = True
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if self._head_pending:
            end = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
            if len(_END_OF_HEAD) <= end < len(data):
                self._head_pending = False
                head = data[:end]
                if not _harmless(head, len(data) - end):
                    super().data_received(head)
                    if not self.is_connected():
                        return
                    data = data[end:]
        super().data_received(data)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        super().set_exception(exc, *cause)
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(exc, *cause)


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
