"""Records on their way to another partition of ``discovered``, as they came; a header counts how often.

A record that was sent by an old table goes home and from there to its slot: twice. More often it comes by only where rows were forged,
such as a pointer to a partition that was granted nothing, and then it would go round for ever.
"""

from typing import Final

import msgspec
from msgspec import Struct

from gregor.runtime.transport.port import Output

MOST: Final = 4


class Forwarded(Struct, frozen=True):
    """The header of a forwarded record."""

    forwarded: int
    """How often."""


_decode = msgspec.json.Decoder(Forwarded).decode
_encode = msgspec.json.Encoder().encode
_ONCE: Final = _encode(Forwarded(1))


def times_forwarded(header: bytes | None) -> int:
    if header is None:
        return 0
    try:
        return max(0, _decode(header).forwarded)
    except msgspec.MsgspecError:
        return 0


def forward(partition: int, server: str, value: bytes, times: int = 0) -> Output:
    """``times``: how often it was before."""
    return Output("discovered", partition, server.encode(), value, _encode(Forwarded(times + 1)) if times else _ONCE)
