"""One page as the archive has it, read back from its records."""

from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import CorruptState
from gregor.outputs.archive.members import WarcMember
from schemas.pages import PageFacts
from workers.archiver.http_block import END, original, parse_lines

_decode_facts = msgspec.json.Decoder(PageFacts).decode
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"

Revisit = Literal["", "identical-payload-digest", "server-not-modified"]


class RecordPlace(Struct, frozen=True, gc=False):
    """Where the response's record stands."""

    file: str
    offset: int
    length: int


class ArchivedPage(Struct, frozen=True):
    """A response, with all that was known of it when it was fetched."""

    facts: PageFacts
    body: bytes
    """Content-decoded; empty in a revisit, whose body is that of an earlier page."""
    place: RecordPlace
    fetched_ms: int
    sha1: str
    """Of the body, base32; empty: not known, in the revisit of a 304."""
    revisit: Revisit = ""
    """Why the body was left out; empty: it was not."""
    partition: int = 0
    """Of the topic ``pages``."""
    offset: int = 0
    """In that partition."""

    @property
    def url(self) -> str:
        return self.facts.url

    @property
    def status(self) -> int:
        return self.facts.status

    def header(self, name: str) -> str:
        """The first response header of this name, in any case; empty: none."""
        wanted = name.lower()
        return next((value for key, value in self.facts.response_headers if key.lower() == wanted), "")


class WarcRecord(Struct, frozen=True):
    """A record of any kind, split."""

    fields: dict[str, str]
    """Lower-case names."""
    head: bytes
    """The lines of the HTTP message, without the empty one."""
    body: bytes

    @property
    def kind(self) -> str:
        return self.fields.get("warc-type", "")


def split_record(data: bytes, where: str) -> WarcRecord:
    """Raises CorruptState when it is not a record."""
    end = data.find(END)
    lines = data[:end].decode("utf-8", "replace").split("\r\n")
    if end < 0 or not lines[0].startswith("WARC/1."):
        raise CorruptState(f"{where}: expected a WARC record, found {data[:40]!r}")
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(": ")
        fields[name.lower()] = value
    start = end + len(END)
    try:
        stop = start + int(fields["content-length"])
    except (KeyError, ValueError):
        raise CorruptState(f"{where}: expected a Content-Length, found {fields.get('content-length')!r}") from None
    split = data.find(END, start, stop) if fields.get("content-type", "").startswith("application/http") else -1
    if split < 0:
        return WarcRecord(fields, b"", data[start:stop])
    return WarcRecord(fields, data[start:split], data[split + len(END) : stop])


def has_facts(record: WarcRecord) -> bool:
    """Whether a response has them itself; otherwise the record behind it does."""
    return "x-crawl-facts" in record.fields


def page_of(record: WarcRecord, aside: WarcRecord | None, file: Path, member: WarcMember) -> ArchivedPage:
    """Of a response or revisit that gregor wrote; ``aside`` has the facts if it does not."""
    fields = record.fields
    try:
        facts = _decode_facts(fields["x-crawl-facts"] if aside is None else aside.body)
        partition, _, offset = fields["x-crawl-position"].partition("/")
        revisit: Revisit = msgspec.convert(fields.get("warc-profile", "").removeprefix(_PROFILE), Revisit)
        page = ArchivedPage(
            facts=facts,
            body=record.body,
            place=RecordPlace(file.name, member.offset, member.length),
            fetched_ms=milliseconds(fields["warc-date"]),
            sha1=fields.get("warc-payload-digest", "").removeprefix("sha1:"),
            revisit=revisit,
            partition=int(partition),
            offset=int(offset),
        )
    except (KeyError, ValueError, msgspec.MsgspecError) as error:
        raise CorruptState(
            f"{file}: the record at {member.offset} is not a page that gregor wrote ({error!r})"
        ) from error
    if facts.response_headers:
        return page
    return replace(page, facts=replace(facts, response_headers=original(parse_lines(_lines(record.head)))))


def with_request(page: ArchivedPage, record: WarcRecord) -> ArchivedPage:
    """The page, knowing what was asked."""
    if page.facts.request_headers:
        return page
    return replace(page, facts=replace(page.facts, request_headers=parse_lines(_lines(record.head))))


def milliseconds(date: str) -> int:
    """From WARC's way of writing to the number."""
    return round(datetime.fromisoformat(date).timestamp() * 1000)


def _lines(head: bytes) -> bytes:
    """Without the first."""
    return head.partition(b"\r\n")[2]
