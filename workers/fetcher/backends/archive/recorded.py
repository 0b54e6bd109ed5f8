"""An answer as a WARC record holds it: status, headers, body as on the wire; and how gregor's own records are read.

gregor archives decoded bodies, and gives headers that would lie about them other names (``workers/archiver/http_block.py``). Others
archive what came: chunks and content codings are undone here, with the caps of every request.
"""

import re
from typing import Final, get_args

import msgspec
from msgspec import Struct

from schemas.fetched import Truncation
from schemas.pages import PageFacts
from workers.archiver.http_block import original
from workers.fetcher.backends.archive.warc_file import WarcRecord
from workers.fetcher.backends.backend import Headers

_STATUS: Final = re.compile(rb"(HTTP/[0-9](?:\.[0-9])?) ([0-9]{3})(?: ([^\r\n]*))?")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_SIZE: Final = re.compile(rb"\r?\n?0*([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]{0,1000})?\r\n")
_facts = msgspec.json.Decoder(PageFacts).decode


class Recorded(Struct, frozen=True, kw_only=True):
    """One answer."""

    status: int
    reason: str = ""
    protocol: str = "HTTP/1.1"
    headers: Headers
    """As the server sent them."""
    coding: str = ""
    """The content coding that the body still has."""
    body: bytes
    wire_bytes: int
    truncated: Truncation = ""
    target: str
    refers_to: str = ""
    """The URL of the answer whose body this one had as well; empty: the body is its own."""


def recorded(record: WarcRecord) -> Recorded | None:
    """Of a response or revisit; None: it is no HTTP answer."""
    fields = record.fields
    head, body = _split(record.block)
    line = _STATUS.match(head)
    if line is None:
        return None
    headers = _headers(head)
    facts = _facts_of(fields)
    coding = _first(headers, "content-encoding")
    if facts is None and "chunked" in _first(headers, "transfer-encoding").lower():
        body = _unchunked(body)
    truncated = fields.get("warc-truncated", "")
    return Recorded(
        status=int(line[2]),
        reason=(line[3] or b"").decode("latin-1"),
        protocol=line[1].decode(),
        headers=headers if facts is None else facts.response_headers or original(headers),
        coding=coding,
        body=body,
        wire_bytes=len(body) if facts is None else facts.wire_bytes,
        truncated=next((one for one in get_args(Truncation) if one == truncated), ""),
        target=fields.get("warc-target-uri", "").strip("<>"),
        refers_to=_refers_to(fields),
    )


def _refers_to(fields: dict[str, str]) -> str:
    if fields.get("warc-type") != "revisit" or fields.get("warc-profile", "").endswith("server-not-modified"):
        return ""
    return (fields.get("warc-refers-to-target-uri") or fields.get("warc-target-uri", "")).strip("<>")


def _facts_of(fields: dict[str, str]) -> PageFacts | None:
    """What gregor knew of the page; None: it is not gregor's record. Facts too long for a field are beside it, and not needed."""
    if "x-crawl-position" not in fields:
        return None
    try:
        return _facts(fields["x-crawl-facts"])
    except (KeyError, msgspec.MsgspecError):
        return PageFacts(server="", path="", lease="", status=0)


def _split(block: bytes) -> tuple[bytes, bytes]:
    end = _HEAD_END.search(block)
    return (block, b"") if end is None else (block[: end.start()], block[end.end() :])


def _headers(head: bytes) -> Headers:
    lines = head.decode("latin-1").replace("\r\n", "\n").split("\n")[1:]
    found = (line.partition(":") for line in lines if not line.startswith((" ", "\t")))
    return tuple((name.strip(), value.strip()) for name, colon, value in found if colon)


def _first(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _unchunked(body: bytes) -> bytes:
    """The body without the frames of its chunks; as it is, if it has none: some programs take them off and leave the header."""
    parts: list[bytes] = []
    at = 0
    while (size := _SIZE.match(body, at)) is not None:
        count = int(size[1], 16)
        parts.append(body[size.end() : size.end() + count])
        at = size.end() + count
        if not count or at >= len(body):
            return b"".join(parts)
    return b"".join(parts) if parts and at >= len(body) else body
