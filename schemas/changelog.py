"""Topic ``frontier-changelog``: packed deltas, pieces of the rolling snapshot, and one checkpoint record a commit.

The first byte of a value tells them apart: ``D`` delta, ``S`` snapshot piece, ``C`` checkpoint (JSON follows). Formats of the first
two: gregor/runtime/state/packed.py. A delta's key is the server it touches, a piece's key the family, a checkpoint's key "checkpoint".
The second byte of a delta or a piece is a small number, that of a checkpoint an opening brace: by these two a record of ours is told from
text, JSON and whatever else somebody may have written into the topic.
"""

from typing import Final

from msgspec import Struct

from schemas.codec import Integer, Undecodable, decoder, encode

DELTA: Final = 0x44
SNAPSHOT: Final = 0x53
CHECKPOINT: Final = 0x43
CHECKPOINT_KEY: Final = b"checkpoint"


class Checkpoint(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The last record of every commit in each changelog partition of which it changes anything."""

    sequence: Integer
    """Grows by one with each commit of the partition, from 1."""
    positions: dict[str, Integer]
    """Input topic (without prefix) to the position committed with it."""
    now_ms: Integer = 0
    """When the commit was made, milliseconds since 1970; 0: not known."""
    config_version: str = ""
    """Version of the configuration that was in force; empty: not recorded."""
    counters: dict[str, Integer] = {}
    """Exact totals since the partition began, so that audit can add up; a name that is missing counts 0."""
    member: str = ""
    """Who wrote it; empty: not recorded."""
    cursor_family: Integer = 0
    """Number of the family in which the next snapshot piece begins; 0 with an empty key: a new cycle begins."""
    cursor_key: bytes = b""
    """Key at which the next snapshot piece begins (base64 in JSON); empty: at the family's first."""
    cycle_start: Integer = -1
    """Offset before the first piece of the running snapshot cycle; -1: none is running."""
    restorable_from: Integer = -1
    """Offset before the first piece of the last finished cycle: what is older is not needed to restore; -1: none has finished."""


_decode = decoder(Checkpoint)


def could_be_ours(value: bytes | None) -> bool:
    """Whether a record begins as those of a changelog do. One that does not was written by another program."""
    if not value:
        return False
    if value[0] == CHECKPOINT:
        return value[1:2] == b"{"
    return value[0] in (DELTA, SNAPSHOT) and value[1:2] < b" "


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    return b"C" + encode(checkpoint)


def decode_checkpoint(value: bytes) -> Checkpoint:
    if value[:1] != b"C":
        raise Undecodable("not a checkpoint record: the first byte is not C")
    return _decode(value[1:])
