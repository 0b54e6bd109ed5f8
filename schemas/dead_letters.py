"""Topic ``dead-letters``: a record nobody could read, whole, with where it stood and why."""

from typing import Final

from msgspec import Struct

from schemas.codec import LARGEST_RECORD, Integer, decoder

LARGEST_LETTER: Final = LARGEST_RECORD - 192 * 1024
"""Bytes of a value that a letter keeps: with its facts, of which key and header can each take 60,000, it has to be a record itself."""


class DeadLetter(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The letter's facts, in the record's one header; the record's value is the unreadable value as it was."""

    topic: str
    """Where the record stood, without the crawl's prefix."""
    partition: Integer
    """Partition in which it stood."""
    offset: Integer
    """Offset at which it stood."""
    reason: str
    """Why it could not be read, for people."""
    stage: str
    """The stage that could not read it."""
    key: str = ""
    """The record's key; bytes that are not UTF-8 are escaped with backslashes; empty: none."""
    header: str = ""
    """The record's facts header, escaped in the same way; empty: none."""
    size: Integer = 0
    """Bytes of the value, of which ``LARGEST_LETTER`` are kept, 1,000 of a changelog's; 0: it was empty; -1: the record had none."""
    found_ms: Integer = 0
    """When it was met, milliseconds since 1970; 0: not known."""
    receipt_of: Integer = -1
    """Offset in this topic of a letter that was put back: this record is its receipt, without a value; -1: a letter."""


decode_dead_letter = decoder(DeadLetter)
