"""Topic ``dead-letters``: a record nobody could read, whole, with where it stood and why."""

from msgspec import Struct

from schemas.codec import decoder


class DeadLetter(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The letter's facts, in the record's one header; the record's value is the unreadable value as it was."""

    topic: str
    """Without the crawl's prefix."""
    partition: int
    offset: int
    reason: str
    stage: str
    key: str = ""
    """The record's key; bytes that are not UTF-8 are escaped with backslashes."""
    header: str = ""
    """The record's facts header, escaped in the same way; empty: none."""
    size: int = 0
    """Length of the value; -1: the record had none."""
    found_ms: int = 0


decode_dead_letter = decoder(DeadLetter)
