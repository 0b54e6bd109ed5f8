"""Dead letters: records that nobody could read, listed, shown, and put back where they stood.

A letter is named by its number, its offset in ``dead-letters``. Putting one back writes the record again, to its old topic and
partition, together with a receipt in ``dead-letters`` that names the letter, so that a letter is put back once however often it is
asked for. A record that is still unreadable becomes a new letter.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.transport.port import LogReader, Output, Record, Transport
from schemas.codec import Undecodable, encode
from schemas.dead_letters import DeadLetter, decode_dead_letter
from schemas.topics import BY_NAME

TOPIC = "dead-letters"
_ESCAPE = re.compile(r"\\x([89a-f][0-9a-f])")
_SHORTENED = 10_000
"""Bytes of a key or header from which on a letter keeps its beginning only."""


class Letter(Struct, frozen=True):
    """One letter as it stands in the topic."""

    number: int
    facts: DeadLetter
    put_back: bool
    """Whether a receipt says so."""


def letters(reader: LogReader) -> Iterator[Letter]:
    """All letters, the oldest first. The topic is read twice, so that only the receipts are held in memory."""
    receipts = _receipts(reader)
    for record in _records(reader):
        facts = _facts(record)
        if facts is not None and facts.receipt_of < 0:
            yield Letter(record.offset, facts, record.offset in receipts)


def letter_at(reader: LogReader, number: int) -> tuple[Letter, bytes]:
    """One letter and the value that could not be read; UsageError when there is none of that number."""
    first, end = reader.ends(TOPIC)[0]
    found = next(reader.read(TOPIC, 0, number, number + 1), None) if first <= number < end else None
    facts = _facts(found) if found is not None and found.offset == number else None
    if found is None or facts is None or facts.receipt_of >= 0:
        raise UsageError(f"expected the number of a dead letter, found {number}; `gregor dead-letters` lists them")
    return Letter(number, facts, number in _receipts(reader)), found.value or b""


def refusal(facts: DeadLetter) -> str:
    """Why a letter cannot be put back; empty: it can."""
    if facts.topic not in BY_NAME:
        return f"its topic {facts.topic!r} is none of ours"
    if facts.size < 0:
        return "the record had no value, and a record without one deletes in some topics"
    if len(facts.key) >= _SHORTENED or len(facts.header) >= _SHORTENED:
        return "its key or header was shortened"
    return ""


def put_back(transport: Transport, numbers: Sequence[int], now_ms: int) -> list[int]:
    """Write these letters' records again, except those that were put back before; gives the numbers of those written.

    Raises UsageError when a number names no letter or one that cannot be put back; nothing is written then.
    """
    outputs: list[Output] = []
    done: list[int] = []
    for number in dict.fromkeys(numbers):
        letter, value = letter_at(transport, number)
        if letter.put_back:
            continue
        reason = refusal(letter.facts)
        if reason:
            raise UsageError(f"letter {number} cannot be put back: {reason}")
        outputs += _written_again(letter, value, now_ms)
        done.append(number)
    if outputs:
        transport.append(outputs)
    return done


def _written_again(letter: Letter, value: bytes, now_ms: int) -> tuple[Output, Output]:
    facts = letter.facts
    header = original(facts.header) if facts.header else None
    receipt = replace(facts, header="", receipt_of=letter.number, stage="cli", found_ms=now_ms)
    return (
        Output(facts.topic, facts.partition, original(facts.key), value, header),
        Output(TOPIC, 0, facts.topic.encode(), b"", encode(receipt)),
    )


def original(text: str) -> bytes:
    """The bytes that a letter spells: those that are not UTF-8 stand as \\xNN."""
    parts = _ESCAPE.split(text)
    return b"".join(bytes.fromhex(part) if n % 2 else part.encode("utf-8", "replace") for n, part in enumerate(parts))


def _receipts(reader: LogReader) -> frozenset[int]:
    facts = (_facts(record) for record in _records(reader))
    return frozenset(one.receipt_of for one in facts if one is not None and one.receipt_of >= 0)


def _records(reader: LogReader) -> Iterator[Record]:
    return reader.read(TOPIC, 0, reader.ends(TOPIC)[0][0])


def _facts(record: Record) -> DeadLetter | None:
    try:
        return decode_dead_letter(record.header)
    except Undecodable:
        return None
