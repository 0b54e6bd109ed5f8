"""What the external sort holds: keys that bring together what belongs together, and short values.

    table   key                                                     value
    L       lease 12, "o" or "r", partition 4, offset 8             Ordered, Answered        an order and its results
    U       URL 16, "d"                                                                      it was discovered
            URL 16, "o", created 8, lease 12                        UrlOrdered
            URL 16, "r", lease 12, offset 8                         UrlAnswered
    P       lease 12, URL 16, "a", "p", "r" or "s", partition 4, offset 8, file              Response; "s": result, pages read before
    T       server 16, started 8, lease 12, number 4                Request                  requests to a server in time
    S       site 16, "d", partition 4, offset 8, number 4           Row                      a row of it in discovered
            site 16, "b" or "s"                                     Row                      in sites, before or after discovered was read
            site 16, "w" or "q", partition 4                        Row                      a server with URLs there; or it was asked for
            site 16, "t"                                            Row                      the coordinator was told of it

A lease is "PARTITION-NUMBER"; as bytes it sorts by both. URLs, servers and sites are xxh3_128 hashes, their text stands in the values.
"""

import re
from struct import Struct as Layout
from typing import Final

import msgspec
from msgspec import Struct
from xxhash import xxh3_128_digest

LEASES: Final = b"L"
URLS: Final = b"U"
RESPONSES: Final = b"P"
REQUESTS: Final = b"T"
SITES: Final = b"S"
ROW: Final = b"d"
TABLE_BEFORE: Final = b"b"
TABLE_AFTER: Final = b"s"
WORKED: Final = b"w"
ASKED: Final = b"q"
TOLD: Final = b"t"
HASH: Final = 16

_LEASE_TEXT: Final = re.compile(r"([0-9]{1,10})-([0-9]{1,20})")
_LEASE: Final = Layout(">IQ")
LEASE: Final = _LEASE.size
PLACE: Final = Layout(">IQ")
TIME: Final = Layout(">Q")
NUMBER: Final = Layout(">I")
PARTITION: Final = Layout(">I")
ROW_PLACE: Final = Layout(">IQI")


class OrderEntry(Struct, frozen=True, array_like=True, gc=False):
    server: str
    kind: str
    urls: int
    digest: bytes
    delay_ms: int
    connections: int


class Answered(Struct, frozen=True, array_like=True, gc=False):
    server: str
    digest: bytes
    started_ms: tuple[int, ...]


class UrlOrdered(Struct, frozen=True, array_like=True, gc=False):
    url: str
    visit: int
    deadline_ms: int


class UrlAnswered(Struct, frozen=True, array_like=True, gc=False):
    url: str
    visit: int
    outcome: str
    status: int
    finished_ms: int


class ResponseEntry(Struct, frozen=True, array_like=True, gc=False):
    url: str
    robots: bool


class RequestEntry(Struct, frozen=True, array_like=True, gc=False):
    server: str
    delay_ms: int
    connections: int


class RowEntry(Struct, frozen=True, array_like=True, gc=False):
    site: str
    """Or a server of it."""
    slot: int
    state: str
    version: int


pack: Final = msgspec.msgpack.Encoder().encode
ordered: Final = msgspec.msgpack.Decoder(OrderEntry).decode
answered: Final = msgspec.msgpack.Decoder(Answered).decode
url_ordered: Final = msgspec.msgpack.Decoder(UrlOrdered).decode
url_answered: Final = msgspec.msgpack.Decoder(UrlAnswered).decode
response: Final = msgspec.msgpack.Decoder(ResponseEntry).decode
request: Final = msgspec.msgpack.Decoder(RequestEntry).decode

site_row: Final = msgspec.msgpack.Decoder(RowEntry).decode


def lease_bytes(lease: str) -> bytes | None:
    """None: it is not a lease that a frontier gave."""
    found = _LEASE_TEXT.fullmatch(lease)
    if found is None:
        return None
    partition, number = int(found[1]), int(found[2])
    return _LEASE.pack(partition, number) if partition < 2**32 and number < 2**64 else None


def lease_numbers(lease: bytes) -> tuple[int, int]:
    """Partition of the frontier, and the order's number in it."""
    partition, number = _LEASE.unpack(lease)
    return partition, number


def lease_text(lease: bytes) -> str:
    return "{}-{}".format(*lease_numbers(lease))


def hashed(text: str) -> bytes:
    return xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
