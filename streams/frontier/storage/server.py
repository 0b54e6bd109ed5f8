"""One server: what is durable of it, and what is pending while it is being worked on."""

from typing import Final

import msgspec
from msgspec import Struct

from gregor.runtime.state.packed import Operation
from gregor.url.fingerprint import server_hash
from streams.frontier.storage.families import NUMBERS, SERVERS
from streams.frontier.storage.queue_codec import Scheme

IN_SCOPE: Final = 1
"""Flag of a server that came into the scope by a seed or by a seed's redirect."""

_NUMBER: Final = NUMBERS[SERVERS]


class RobotsOrigin(Struct, array_like=True, gc=False):
    """What is known of the robots.txt of one scheme of a server; the rules themselves stand in the family ``robots``."""

    verdict: str = ""
    """``rules``, ``allow-all``, ``refuse-all``, ``unreachable`` (refused after vain attempts), or empty: not known."""
    expires_ms: int = 0
    fetched_ms: int = 0
    """When the copy in force was fetched; names the rules in caches."""
    attempts: int = 0
    """Vain attempts in a row."""
    delay_ms: int = 0
    """Crawl-delay."""


class ServerRecord(Struct, array_like=True, gc=False):
    """The durable record. Times are milliseconds since 1970."""

    queued: int = 0
    head: bytes = b""
    """No queued URL has a smaller place; empty: nothing is queued."""
    next_ms: int = 0
    """No request before."""
    since_ms: int = 0
    """Since when it waits for its turn."""
    in_flight: int = 0
    """Orders that are out, by weight (dispatch/leases.py)."""
    admitted: int = 0
    flags: int = 0
    failures: int = 0
    """Orders in a row that did not reach it, or were answered by "too many requests" alone."""
    dead_until_ms: int = 0
    response_ms: int = 0
    """How long the last response took."""
    popped: int = 0
    """URLs taken from the queue since what is behind its head was deleted by range."""
    origins: dict[str, RobotsOrigin] = {}
    variants: dict[int, int] = {}
    """Hash of a path to the URLs that differ in its query only (admit/traps.py)."""
    directories: dict[int, list[int]] = {}
    """Hash of a directory to what is known of its pages' contents (admit/traps.py)."""

    @property
    def delay_ms(self) -> int:
        """What its robots.txt asks for."""
        return max((origin.delay_ms for origin in self.origins.values()), default=0)

    @property
    def idle(self) -> bool:
        return not self.queued and not self.in_flight


encode_server = msgspec.msgpack.Encoder().encode
decode_server = msgspec.msgpack.Decoder(ServerRecord).decode


class ServerSummary(Struct, array_like=True, gc=False):
    """The first fields of a server's record: all that has to be known of the many that wait."""

    queued: int
    head: bytes
    next_ms: int
    since_ms: int
    in_flight: int


decode_standing = msgspec.msgpack.Decoder(ServerSummary).decode


class LiveServer:
    """A server in memory, with the changes that wait for the checkpoint.

    Its queue is what the state holds without ``removed``, together with ``added``.
    """

    __slots__ = (
        "_hash",
        "added",
        "ahead",
        "behind",
        "name",
        "operations",
        "record",
        "removed",
        "slot",
        "text",
        "touched",
    )

    def __init__(self, slot: int, name: bytes, record: ServerRecord) -> None:
        self.slot = slot
        self.name = name
        self.text = name.decode()
        self.record = record
        self.added: dict[bytes, bytes] = {}
        self.removed: set[bytes] = set()
        self.ahead: list[tuple[bytes, bytes]] = []
        """The first stored entries, if they were read for the visit that comes next."""
        self.behind = b""
        self.operations: dict[tuple[int, bytes], bytes | None] = {}
        self.touched = False
        self._hash: int | None = None

    @property
    def hash(self) -> int:
        if self._hash is None:
            self._hash = server_hash(self.text)
        return self._hash

    def origin(self, scheme: Scheme) -> RobotsOrigin:
        return self.record.origins.setdefault(scheme, RobotsOrigin())

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self.operations[NUMBERS[family], key] = value

    def delete(self, family: str, key: bytes) -> None:
        self.operations[NUMBERS[family], key] = None

    def packed_operations(self) -> list[Operation]:
        """The changes of all families but the queue's, the server's own record among them."""
        changes: list[Operation] = [(family, key, value) for (family, key), value in self.operations.items()]
        changes.append((_NUMBER, self.name, encode_server(self.record)))
        return changes

    def settle(self) -> None:
        """What was pending is in the state."""
        if self.added:
            self.added = {}
        if self.removed:
            self.removed = set()
        self.behind = b""
        self.operations = {}
        self.touched = False
