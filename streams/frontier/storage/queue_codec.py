"""A URL that waits to be fetched, as bytes: its place in its server's queue, and what the fetch needs.

    place    | depth 2 | priority 1 | fingerprint 8 |        order "depth-first-key": the paper's depth ⊕ priority ⊕ hash
             | priority 1 | depth 2 | fingerprint 8 |        order "priority-first-key"; both big-endian, so that bytes sort as numbers
    value    | flags 1 | priority 1 | depth 2 | hops 2 | off-site 2 | redirects 1 | attempts 1 | seed 4 | path |
             with flag EXTRA: ... | path length 2 | path | MessagePack of Extra |        both little-endian

The value repeats depth and priority, so that it can be read whatever order was configured when it was written.
"""

from collections.abc import Callable
from struct import Struct as Layout
from typing import Final, Literal

import msgspec
from msgspec import Struct

from schemas.discovered import Discovered
from schemas.schedule import OrderUrl

PLACE_BYTES: Final = 11
HTTP: Final = 1
EXTRA: Final = 2
MOST_ATTEMPTS: Final = 255
"""As far as they are counted."""

_HEAD: Final = Layout("<BBHHHBBI")
_ATTEMPTS_AT: Final = 9
_PRIORITY_AT: Final = 1
_LENGTH: Final = Layout("<H")
_DEPTH_FIRST: Final = Layout(">HB")
_PRIORITY_FIRST: Final = Layout(">BH")
_CLIP16: Final = 0xFFFF

Order = Literal["depth-first-key", "priority-first-key"]
Scheme = Literal["http", "https"]


class Extra(Struct, frozen=True, array_like=True, gc=False):
    """What only URLs have that were fetched before."""

    visit: int = 0
    etag: str = ""
    last_modified: str = ""
    digest: str = ""
    """Of the content that the last visit brought which brought any."""
    interval_s: int = 0
    """The interval of re-crawl that led to this visit; 0: none."""
    misses: int = 0
    """Visits in a row that were answered 404 or 410."""
    content_ms: int = 0
    """When the content of ``digest`` was asked for; 0: there is none."""
    looped: bool = False
    """Whether this visit was redirected to itself, and is being repeated for that."""
    cookies: str = ""
    """What that redirect wanted to be told when it is asked again."""
    text_digest: str = ""
    """Of that content's text, if a change is judged by it."""


NO_EXTRA: Final = Extra()
_pack_extra = msgspec.msgpack.Encoder().encode
_unpack_extra = msgspec.msgpack.Decoder(Extra).decode


def place_prefix(order: Order) -> Callable[[int, int], bytes]:
    """From depth and priority to the first three bytes of a place."""
    if order == "depth-first-key":
        return lambda depth, priority: _DEPTH_FIRST.pack(min(max(depth, 0), _CLIP16), min(max(priority, 0), 255))
    return lambda depth, priority: _PRIORITY_FIRST.pack(min(max(priority, 0), 255), min(max(depth, 0), _CLIP16))


def head_of(found: Discovered, priority: int) -> bytes:
    """What the URLs of one record with one priority have in common: their values without the path."""
    return _HEAD.pack(
        HTTP if found.scheme == "http" else 0,
        min(max(priority, 0), 255),
        min(max(found.depth, 0), _CLIP16),
        min(max(found.hops, 0), _CLIP16),
        min(max(found.off_site, 0), _CLIP16),
        min(max(found.redirects, 0), 255),
        0,
        min(max(found.seed, 0), 0xFFFFFFFF),
    )


def scheme_of(value: bytes) -> Scheme:
    return "http" if value[0] & HTTP else "https"


def path_of(value: bytes) -> str:
    return _path_bytes(value).decode()


def attempts_of(value: bytes) -> int:
    return value[_ATTEMPTS_AT]


def extra_of(value: bytes) -> Extra:
    if not value[0] & EXTRA:
        return NO_EXTRA
    at = _HEAD.size + _LENGTH.size
    extra: Extra = _unpack_extra(value[at + _LENGTH.unpack_from(value, _HEAD.size)[0] :])
    return extra


def with_attempts(value: bytes, attempts: int) -> bytes:
    return b"".join((value[:_ATTEMPTS_AT], bytes((min(attempts, MOST_ATTEMPTS),)), value[_ATTEMPTS_AT + 1 :]))


def with_priority(value: bytes, priority: int) -> bytes:
    return b"".join((value[:_PRIORITY_AT], bytes((min(max(priority, 0), 255),)), value[_PRIORITY_AT + 1 :]))


def with_extra(value: bytes, extra: Extra) -> bytes:
    """The same URL with other facts of its past."""
    path = _path_bytes(value)
    flags = bytes((value[0] | EXTRA,))
    return b"".join((flags, value[1 : _HEAD.size], _LENGTH.pack(len(path)), path, _pack_extra(extra)))


def order_url(value: bytes) -> OrderUrl:
    """As an order carries it."""
    flags, priority, depth, hops, off_site, redirects, _, seed = _HEAD.unpack_from(value)
    scheme: Scheme = "http" if flags & HTTP else "https"
    if not flags & EXTRA:
        return OrderUrl(
            path=value[_HEAD.size :].decode(),
            scheme=scheme,
            depth=depth,
            hops=hops,
            off_site=off_site,
            redirects=redirects,
            seed=seed,
            priority=priority,
        )
    extra = extra_of(value)
    return OrderUrl(
        path=_path_bytes(value).decode(),
        scheme=scheme,
        depth=depth,
        hops=hops,
        off_site=off_site,
        redirects=redirects,
        seed=seed,
        priority=priority,
        visit=extra.visit,
        etag=extra.etag,
        last_modified=extra.last_modified,
        digest=extra.digest,
        previous_ms=extra.content_ms,
        cookies=extra.cookies,
    )


def _path_bytes(value: bytes) -> bytes:
    if not value[0] & EXTRA:
        return value[_HEAD.size :]
    at = _HEAD.size + _LENGTH.size
    return value[at : at + _LENGTH.unpack_from(value, _HEAD.size)[0]]
