"""How a record becomes bytes and comes back: JSON through msgspec, with one error for each direction.

What is read may come from anybody, so that every value is bounded: a record by LARGEST_RECORD, an integer by 64 bits, nesting by
the interpreter's stack. What is written may hold a page's text: a lone surrogate, which UTF-8 has no bytes for, becomes U+FFFD, and a
float that is not a number becomes null.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

T = TypeVar("T")

LARGEST_RECORD: Final = 6 * 1024 * 1024
"""Bytes; what a topic, a producer and a decoder accept at the most."""

Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer that fits into 64 bits, as everything that packs or adds it expects."""


class Undecodable(ValueError):
    """A record's bytes do not form the record that its topic carries; the text says why."""


class Unencodable(ValueError):
    """A record holds what JSON cannot: it is nested too deeply, or an object of a foreign type; the text says what."""


_encoder: Final = msgspec.json.Encoder()


def encode(record: Any) -> bytes:
    """The record as JSON, raising Unencodable and nothing else."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(record))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unencodable(f"expected what JSON can hold: {error}") from error


def _without_surrogates(record: Any) -> Any:
    try:
        return _cleaned(msgspec.to_builtins(record, str_keys=True))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unencodable(f"expected what JSON can hold: {error}") from error


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(entry) for entry in value]
    return value


def decoder(record: type[T], name: str = "") -> Callable[[bytes | None], T]:
    """A function from bytes to ``record``, raising Undecodable and nothing else; ``name`` is for a union, which has none."""
    decode = msgspec.json.Decoder(record).decode
    name = name or record.__name__

    def read(value: bytes | None) -> T:
        if value is None:
            raise Undecodable(f"expected a record of type {name}, found no value")
        if len(value) > LARGEST_RECORD:
            raise Undecodable(f"expected at most {LARGEST_RECORD} bytes, found {len(value)}")
        try:
            return decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Undecodable(f"not a record of type {name}: {error}") from error

    return read
