"""What the frontier's state says of a URL: read without disturbing whoever owns it, in a bounded number of steps."""

from itertools import islice
from struct import Struct as Layout
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from gregor.pipeline.explain.story import Life, Standing
from gregor.state.store import StateReader
from gregor.url.canonical import Url
from gregor.url.fingerprint import fingerprint, server_hash
from streams.frontier.books import PartitionFacts
from streams.frontier.entry import path_of, scheme_of
from streams.frontier.families import LEASES, PARTITION, QUEUE, REVISIT, SERVERS
from streams.frontier.later import Later
from streams.frontier.leases import Lease, orders_out
from streams.frontier.server import LiveServer, Server, decode_server
from streams.frontier.uniqueness.engine import Engine
from streams.frontier.uniqueness.facts import COUNT_UNIT, Facts, UrlState

LOOKED_AT: Final = 200_000
"""Entries of a queue, or URLs that wait for a time, before the search is given up."""
_URL: Final = Layout(">QQ")
_DUE: Final = Layout(">Q")
_decode_lease = msgspec.msgpack.Decoder(Lease).decode
_LIVES: Final[dict[UrlState, Life]] = {
    UrlState.WAITING: "waiting",
    UrlState.ORDERED: "ordered",
    UrlState.FETCHED: "fetched",
    UrlState.FAILED: "failed",
    UrlState.REFUSED: "refused",
}


class Examined(Struct, frozen=True):
    """The standing, and the server's own record for those who judge by it."""

    standing: Standing
    server: LiveServer


def examine(state: StateReader, url: Url) -> Examined:
    """Of a URL and its server; one that was never heard of is unknown and its server empty."""
    name = url.server.encode()
    stored = state.get(SERVERS, name)
    record: Server = Server() if stored is None else decode_server(stored)
    server, print_ = server_hash(url.server), fingerprint(url.scheme, url.path)
    known, packed = Engine(state).look_up(np.array([server], np.uint64), np.array([print_], np.uint64))
    facts = Facts(packed)
    life: Life = _LIVES[UrlState(int(facts.state[0]))] if known[0] else "unknown"
    lease = _lease(state, name, url) if record.in_flight else None
    waits = life == "waiting"
    visit = Later(state, b"").visits(server, [print_])[0]
    standing = Standing(
        life=life,
        depth=int(facts.depth[0]) if known[0] else 0,
        priority=int(facts.priority[0]) if known[0] else 0,
        found_again=int(facts.count[0]) * COUNT_UNIT if known[0] else 0,
        ahead=_ahead(state, name, record, print_) if waits and record.queued and lease is None else -1,
        lease=lease.id if lease else "",
        returns_ms=lease.returns_ms if lease else 0,
        retry_ms=_retry_ms(state, server, print_) if waits and lease is None else 0,
        revisit_ms=visit.due_ms if visit else 0,
        visited_ms=visit.visited_ms if visit else 0,
        queued=record.queued,
        in_flight=orders_out(record.in_flight),
        admitted=record.admitted,
        server_next_ms=record.next_ms,
        server_delay_ms=record.delay_ms,
        failures=record.failures,
        dead_until_ms=record.dead_until_ms,
        robots={scheme: origin.verdict or "not fetched yet" for scheme, origin in record.origins.items()},
    )
    return Examined(standing, LiveServer(0, name, record))


def _ahead(state: StateReader, name: bytes, record: Server, print_: int) -> int:
    ending = print_.to_bytes(8, "big")
    entries = state.scan(QUEUE, name + b"\0" + record.head, name + b"\1")
    for place, (key, _) in enumerate(islice(entries, LOOKED_AT)):
        if key.endswith(ending):
            return place
    return -1


def _lease(state: StateReader, name: bytes, url: Url) -> Lease | None:
    """The order that holds the URL. All that are out are looked at, which are few: that is the back-pressure."""
    for _, value in state.scan(LEASES, _facts(state).leases_start):
        lease = _decode_lease(value)
        if lease.server == name:
            for _, entry in lease.entries:
                if scheme_of(entry) == url.scheme and path_of(entry) == url.path:
                    return lease
    return None


def _facts(state: StateReader) -> PartitionFacts:
    found = state.get(PARTITION, b"facts")
    return msgspec.msgpack.decode(found, type=PartitionFacts) if found else PartitionFacts()


def _retry_ms(state: StateReader, server: int, print_: int) -> int:
    ending = _URL.pack(server, print_)
    for key, _ in islice(state.scan(REVISIT, _facts(state).later_start), LOOKED_AT):
        if key.endswith(ending):
            return int(_DUE.unpack_from(key)[0])
    return 0
