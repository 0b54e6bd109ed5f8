"""WARC 1.1 records as bytes: functions of a page and its place in the topic, and of nothing else.

    warcinfo                      one, at the beginning of each file
    response | revisit            one a page: the response as it came, or only its head where the body is archived already
    metadata                      only after a response whose facts are too long for a field: these
    request                       one a page whose request headers are known, concurrent to the response

Beside the standard's fields a response or revisit has two:

    X-Crawl-Position: 3/1234      partition and offset in ``pages``
    X-Crawl-Facts: {"server"...   the page's facts as JSON, without the headers that the HTTP blocks hold
"""

import json
import re
import time
from collections.abc import Mapping
from hashlib import sha1
from typing import Final, Literal
from uuid import NAMESPACE_URL

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from schemas.codec import encode
from schemas.pages import PageFacts
from workers.archiver.http_block import header_lines, printable, renamed, request_line, status_line

LONGEST_FIELD: Final = 4000
"""Bytes of facts in X-Crawl-Facts; some readers refuse a file with more than 32 KiB of fields in a record."""
LONGEST_URI: Final = 16_384
"""The same for WARC-Target-URI; a URL that is cut there is whole in the facts."""
LAST_MS: Final = 253_402_300_799_999
_NO_BODY_SHA1: Final = sha1(b"")
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = tuple((one + other).encode() for one in _LETTERS for other in _LETTERS)
_HTTP: Final = b"application/http; msgtype=%b"
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}")
_PROFILE: Final = "http://netpreserve.org/warc/1.1/revisit/"

Profile = Literal["identical-payload-digest", "server-not-modified"]


class PagePlace(Struct, frozen=True):
    """Where a page stands."""

    topic: str
    """With the crawl's prefix."""
    partition: int
    offset: int
    time_ms: int
    """When the record was written."""


def identifier(topic: str, partition: int, offset: int, kind: str) -> bytes:
    """WARC-Record-ID of a page's record; the same whenever and by whomever it is written."""
    return _uuid5(f"gregor:{topic}/{partition}/{offset}/{kind}")


def file_identifier(topic: str, file: str) -> bytes:
    """WARC-Record-ID of a file's warcinfo."""
    return _uuid5(f"gregor:{topic}/{file}")


def _uuid5(name: str) -> bytes:
    """As RFC 9562 has it, in the namespace of URLs; what uuid.uuid5 makes, without an object in between."""
    raw = bytearray(sha1(NAMESPACE_URL.bytes + name.encode()).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex().encode()
    return b"<urn:uuid:%b-%b-%b-%b-%b>" % (text[:8], text[8:12], text[12:16], text[16:20], text[20:])


def _base32(digest: bytes) -> bytes:
    """Of the 20 bytes of a SHA-1, two characters at a time."""
    number = int.from_bytes(digest, "big")
    return b"".join([_PAIRS[number >> shift & 0x3FF] for shift in range(150, -1, -10)])


def date(ms: int) -> bytes:
    """As WARC 1.1 writes it, to the millisecond."""
    seconds, rest = divmod(ms, 1000)
    return b"%b.%03dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), rest)


def fetch_ms(facts: PageFacts, source: PagePlace) -> int:
    """When the page was asked for; what is not known, or no time at all, is the time of its record."""
    return facts.fetched_ms if 0 < facts.fetched_ms <= LAST_MS else min(max(source.time_ms, 0), LAST_MS)


def warcinfo(topic: str, file: str, opened_ms: int, fields: Mapping[str, str]) -> list[bytes]:
    block = b"".join(b"%b: %b\r\n" % (name.encode(), _in_line(value)) for name, value in fields.items())
    head = (
        b"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: %b\r\nWARC-Date: %b\r\nWARC-Filename: %b\r\n"
        b"WARC-Block-Digest: sha1:%b\r\nContent-Type: application/warc-fields\r\nContent-Length: %d\r\n\r\n"
    ) % (
        file_identifier(topic, file),
        date(min(max(opened_ms, 0), LAST_MS)),
        file.encode(),
        _base32(sha1(block).digest()),
        len(block),
    )
    return [head, block, b"\r\n\r\n"]


def page_records(
    facts: PageFacts, body: bytes, source: PagePlace, warcinfo_id: bytes, profile: Profile | None
) -> list[list[bytes]]:
    """The records of one page, each as its parts; ``profile`` makes it a revisit, without the body."""
    when, target = date(fetch_ms(facts, source)), printable(facts.url)[:LONGEST_URI]
    lines, clean = header_lines(renamed(facts.response_headers, len(body), facts.undecoded))
    asked_lines, asked_clean = header_lines(facts.request_headers)
    head = b"%b%b\r\n" % (status_line(facts.protocol, facts.status, facts.reason), lines)
    own = identifier(source.topic, source.partition, source.offset, "response")
    common = b"WARC-Warcinfo-ID: %b\r\nWARC-Target-URI: %b\r\nWARC-Date: %b\r\n%b" % (
        warcinfo_id,
        target,
        when,
        b"WARC-IP-Address: %b\r\n" % facts.address.encode() if _ADDRESS.fullmatch(facts.address) else b"",
    )
    kept = replace(
        facts,
        response_headers=() if clean else facts.response_headers,
        request_headers=() if asked_clean else facts.request_headers,
    )
    fields = [_kind(facts, body, target, profile), common]
    if facts.truncated:
        fields.append(b"WARC-Truncated: %b\r\n" % facts.truncated.encode())
    fields.append(b"X-Crawl-Position: %d/%d\r\n" % (source.partition, source.offset))
    known = _json(kept)
    short = len(known) <= LONGEST_FIELD
    if short:
        fields.append(b"X-Crawl-Facts: %b\r\n" % known)
    written = b"" if profile else body
    records = [_record(b"revisit" if profile else b"response", own, fields, _HTTP % b"response", head, written)]
    if not short:
        aside = identifier(source.topic, source.partition, source.offset, "metadata")
        fields = [common, b"WARC-Concurrent-To: %b\r\n" % own]
        records.append(_record(b"metadata", aside, fields, b"application/json", b"", known))
    if facts.request_headers:
        block = b"%b%b\r\n" % (request_line(facts.protocol, facts.path), asked_lines)
        asked = identifier(source.topic, source.partition, source.offset, "request")
        fields = [common, b"WARC-Concurrent-To: %b\r\n" % own]
        records.append(_record(b"request", asked, fields, _HTTP % b"request", block, b""))
    return records


def _kind(facts: PageFacts, body: bytes, target: bytes, profile: Profile | None) -> bytes:
    payload = b"WARC-Payload-Digest: sha1:%b\r\n" % _base32((sha1(body) if body else _NO_BODY_SHA1).digest())
    if profile is None:
        return payload
    # Of a 304 the payload is the earlier one, and nobody hands its SHA-1 down to here.
    known = payload if profile == "identical-payload-digest" else b""
    earlier = b""
    if 0 < facts.previous_ms <= LAST_MS:
        earlier = b"WARC-Refers-To-Date: %b\r\n" % date(facts.previous_ms)
    return b"WARC-Profile: %b\r\nWARC-Refers-To-Target-URI: %b\r\n%b%b" % (
        (_PROFILE + profile).encode(),
        target,
        earlier,
        known,
    )


def _record(kind: bytes, own: bytes, fields: list[bytes], media_type: bytes, head: bytes, body: bytes) -> list[bytes]:
    digest = sha1(head)
    digest.update(body)
    begin = b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %b\r\n" % (kind, own)
    end = b"WARC-Block-Digest: sha1:%b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (
        _base32(digest.digest()),
        media_type,
        len(head) + len(body),
    )
    return [begin, *fields, end, head, body, b"\r\n\r\n"]


def _json(facts: PageFacts) -> bytes:
    """In ASCII, so that it is one line for whoever has other ideas of lines."""
    text = encode(facts)
    return text if text.isascii() else json.dumps(to_builtins(facts), separators=(",", ":")).encode()


def _in_line(value: str) -> bytes:
    return " ".join(value.split()).encode("utf-8", "replace")
