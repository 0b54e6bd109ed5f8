"""The HTTP messages inside of WARC records, and back: what a header list becomes, and how the very same list is read again.

The body in ``pages`` is decoded, so that headers about its coding on the wire would lie. They are kept under another name:

    Content-Encoding: gzip      ->   X-Crawl-Content-Encoding: gzip
    X-Crawl-Anything: x         ->   X-Crawl-X-Crawl-Anything: x      a header of that name may come from anybody

so that reading is always one rule: a leading ``X-Crawl-`` goes away. A body whose coding could not be undone stands beside its
``Content-Encoding`` as both came.
"""

import re
from collections.abc import Sequence
from typing import Final

Headers = Sequence[tuple[str, str]]

PREFIX: Final = "X-Crawl-"
_PREFIX: Final = PREFIX.lower()
END: Final = b"\r\n\r\n"
_FRAMING: Final = frozenset(("transfer-encoding", "content-length"))
_CODING: Final = _FRAMING | {"content-encoding"}
_NAMES = re.compile(r"(?:[!-9;-~]++\n)*+")
_PROTOCOL = re.compile(r"HTTP/[0-9](?:\.[0-9])?")
_NOT_IN_NAME = re.compile(r"[^!-9;-~]")
_NOT_IN_VALUE = re.compile(r"[\r\n\0]|[^\x00-\xff]")
_NOT_IN_PATH = re.compile(rb"[^!-~]")


def header_lines(headers: Headers) -> tuple[bytes, bool]:
    """The lines, and whether ``parse_lines`` gives ``headers`` back; what would break a line is replaced, and then it does not."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    count = len(headers)
    clean = text.count("\n") == count == text.count("\r") and "\0" not in text
    if clean and _NAMES.fullmatch("".join([f"{name}\n" for name, _ in headers])):
        try:
            return text.encode("latin-1"), True
        except UnicodeEncodeError:
            pass
    lines = (f"{_NOT_IN_NAME.sub('-', name) or '-'}: {_NOT_IN_VALUE.sub('?', value)}\r\n" for name, value in headers)
    return "".join(lines).encode("latin-1"), False


def parse_lines(lines: bytes) -> tuple[tuple[str, str], ...]:
    """The headers of lines that were clean."""
    found = (line.partition(": ") for line in lines.decode("latin-1").split("\r\n") if line)
    return tuple((name, value) for name, _, value in found)


def renamed(headers: Headers, body_bytes: int, undecoded: bool = False) -> Headers:
    """The headers of a response as they stand beside its body, decoded or still as it came."""
    undone = _FRAMING if undecoded else _CODING
    lies = False
    for name, value in headers:
        lower = name.lower()
        if lower in undone:
            lies = lies or lower != "content-length" or value != str(body_bytes)
        elif lower.startswith(_PREFIX):
            lies = True
    if not lies:
        return headers
    return [
        (PREFIX + name, value) if (lower := name.lower()) in undone or lower.startswith(_PREFIX) else (name, value)
        for name, value in headers
    ]


def original(headers: Headers) -> tuple[tuple[str, str], ...]:
    """The inverse of ``renamed``."""
    return tuple((name[len(PREFIX) :] if name.lower().startswith(_PREFIX) else name, value) for name, value in headers)


def status_line(protocol: str, status: int, reason: str) -> bytes:
    spoken = protocol if _PROTOCOL.fullmatch(protocol) else "HTTP/1.1"
    return f"{spoken} {status} {_NOT_IN_VALUE.sub('?', reason)}\r\n".encode("latin-1")


def request_line(protocol: str, path: str) -> bytes:
    spoken = protocol if _PROTOCOL.fullmatch(protocol) else "HTTP/1.1"
    return b"GET %b %b\r\n" % (printable(path) or b"/", spoken.encode())


def printable(url: str) -> bytes:
    """A URL or path in one line: whatever is not printable ASCII is percent-encoded."""
    return _NOT_IN_PATH.sub(lambda found: b"%%%02X" % found[0][0], url.encode("utf-8", "replace"))
