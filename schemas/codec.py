"""How a record becomes bytes and comes back: JSON through msgspec, with one error for everything that cannot be read."""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

LARGEST_RECORD: Final = 6 * 1024 * 1024
"""Bytes; what a topic, a producer and a decoder accept at the most."""


class Undecodable(ValueError):
    """A record's bytes do not form the record that its topic carries; the text says why."""


_encoder = msgspec.json.Encoder()
encode: Final = _encoder.encode


def decoder(record: type[T], name: str = "") -> Callable[[bytes | None], T]:
    """A function from bytes to ``record``, raising Undecodable and nothing else; ``name`` is for a union, which has none."""
    decode = msgspec.json.Decoder(record).decode
    name = name or record.__name__

    def read(value: bytes | None) -> T:
        if value is None:
            raise Undecodable(f"expected a {name} record, found no value")
        if len(value) > LARGEST_RECORD:
            raise Undecodable(f"expected at most {LARGEST_RECORD} bytes, found {len(value)}")
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Undecodable(f"not a {name} record: {error}") from error

    return read
