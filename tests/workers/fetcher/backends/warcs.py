"""WARC files as another tool writes them: warcio, from the bytes of whole answers."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from warcio.warcwriter import WARCWriter

DATE = "2026-01-02T03:04:05Z"


class Answered(NamedTuple):
    url: str
    answer: bytes
    """As it came over the wire, head and body."""
    date: str = DATE
    fields: tuple[tuple[str, str], ...] = ()
    """Further fields of the record."""
    kind: str = "response"


def write_warc(path: Path, answers: Sequence[Answered], *, compressed: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=compressed)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "another"}))
        for one in answers:
            # warcio would parse the head and write another: the record is made by hand from here on.
            head = [
                "WARC/1.0", f"WARC-Type: {one.kind}", f"WARC-Target-URI: {one.url}", f"WARC-Date: {one.date}",
                "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>",
                *(f"{name}: {value}" for name, value in one.fields),
                "Content-Type: application/http; msgtype=response", f"Content-Length: {len(one.answer)}", "", "",
            ]  # fmt: skip
            data = "\r\n".join(head).encode() + one.answer + b"\r\n\r\n"
            file.write(gzip.compress(data) if compressed else data)
    return path


def parsed_warc(path: Path, answers: Sequence[tuple[str, str, list[tuple[str, str]], bytes]]) -> Path:
    """Written by warcio alone: URL, status, headers, body."""
    from warcio.statusandheaders import StatusAndHeaders

    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, status, headers, body in answers:
            head = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=head))
    return path
