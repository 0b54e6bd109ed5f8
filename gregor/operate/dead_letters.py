"""Dead letters: records that nobody could read, listed, shown, and put back where they stood.

A letter is named by its number, its offset in ``dead-letters``. Putting one back writes the record again, to its old topic and
partition, together with a receipt in ``dead-letters`` for each letter of that record. A record is put back once, however often it is
asked for and however many letters it made: one of ``pages`` has two readers, and what is written again comes to both. A record that
is still unreadable becomes a new letter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gregor.errors import UsageError
from gregor.run.topology import ROLES
from gregor.runtime.transport.port import LogReader, Output, Record, Transport
from schemas.codec import Undecodable, encode
from schemas.dead_letters import LARGEST_LETTER, DeadLetter, decode_dead_letter
from schemas.topics import BY_NAME

TOPIC = "dead-letters"
CHANGELOGS = frozenset(role.spec.changelog for role in ROLES.values() if role.spec.changelog)
_ESCAPE = re.compile(r"\\x([89a-f][0-9a-f])")
_SHORTENED = 10_000
"""Bytes of a key or header from which on a letter keeps its beginning only."""
BATCH_BYTES = 16 * 1024 * 1024
BATCH_LETTERS = 1000
Place = tuple[str, int, int]
"""Topic, partition and offset at which a record could not be read."""


class Letter(Struct, frozen=True):
    """One letter as it stands in the topic."""

    number: int
    facts: DeadLetter
    put_back: bool
    """Whether a receipt says so, of this letter or of another one of the same record."""


def read_dead_letters(reader: LogReader) -> Iterator[Letter]:
    """All letters, the oldest first. The topic is read twice, so that only the receipts are held in memory."""
    receipts = _receipts(reader)
    for record in reader.read(TOPIC, 0, *reader.ends(TOPIC)[0]):
        facts = _facts(record)
        if facts is not None and facts.receipt_of < 0:
            yield Letter(record.offset, facts, place_of(facts) in receipts)


def letter_at(reader: LogReader, number: int) -> tuple[Letter, bytes]:
    """One letter and the value that could not be read; UsageError when there is none of that number."""
    return next(chosen(reader, [number]))


def chosen(reader: LogReader, numbers: Sequence[int]) -> Iterator[tuple[Letter, bytes]]:
    """These letters with their values, the oldest first, in one pass; UsageError, at the end, when a number names none."""
    wanted = set(numbers)
    receipts = _receipts(reader)
    first, end = reader.ends(TOPIC)[0]
    for record in reader.read(TOPIC, 0, max(first, min(wanted)), min(end, max(wanted) + 1)) if wanted else ():
        facts = _facts(record) if record.offset in wanted else None
        if facts is not None and facts.receipt_of < 0:
            wanted.discard(record.offset)
            yield Letter(record.offset, facts, place_of(facts) in receipts), record.value or b""
    if wanted:
        raise UsageError(f"expected the number of a dead letter, found {min(wanted)}; `gregor dead-letters` lists them")


def refusal(facts: DeadLetter) -> str:
    """Why a letter cannot be put back; empty: it can."""
    if facts.topic not in BY_NAME:
        return f"its topic {facts.topic!r} is none of ours"
    if facts.topic in CHANGELOGS:
        return "it was in a changelog, which takes records of its owner alone"
    if facts.size < 0:
        return "the record had no value, and a record without one deletes in some topics"
    if facts.size > LARGEST_LETTER:
        return f"the record had {facts.size:,} bytes, of which the letter keeps {LARGEST_LETTER:,}"
    if len(facts.key) >= _SHORTENED or len(facts.header) >= _SHORTENED:
        return "its key or header was shortened"
    return ""


def put_back(transport: Transport, numbers: Sequence[int], now_ms: int) -> list[int]:
    """Write these letters' records again, except those that were put back before; gives the numbers of the letters that this settled.

    Raises UsageError when a number names no letter or one that cannot be put back; nothing is written then.
    """
    outputs: list[Output] = []
    done: list[int] = []
    back: set[Place] = set()
    for letter, value in chosen(transport, numbers):
        if letter.put_back:
            continue
        reason = refusal(letter.facts)
        if reason:
            raise UsageError(f"letter {letter.number} cannot be put back: {reason}")
        if place_of(letter.facts) not in back:
            outputs.append(_written_again(letter.facts, value))
            back.add(place_of(letter.facts))
        done.append(letter.number)
    if outputs:
        settled = (
            letter for letter in read_dead_letters(transport) if not letter.put_back and place_of(letter.facts) in back
        )
        transport.append([*outputs, *(_receipt(letter, now_ms) for letter in settled)])
    return done


def batches(found: Iterable[Letter]) -> Iterator[list[int]]:
    """Numbers of letters in parts that can be put back at once, each small enough to be held in memory."""
    part: list[int] = []
    size = 0
    for letter in found:
        part.append(letter.number)
        size += letter.facts.size
        if size >= BATCH_BYTES or len(part) >= BATCH_LETTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _written_again(facts: DeadLetter, value: bytes) -> Output:
    header = original(facts.header) if facts.header else None
    return Output(facts.topic, facts.partition, original(facts.key), value, header)


def _receipt(letter: Letter, now_ms: int) -> Output:
    receipt = replace(letter.facts, header="", receipt_of=letter.number, stage="cli", found_ms=now_ms)
    return Output(TOPIC, 0, receipt.topic.encode(), b"", encode(receipt))


def original(text: str) -> bytes:
    """The bytes that a letter spells: those that are not UTF-8 stand as \\xNN."""
    parts = _ESCAPE.split(text)
    return b"".join(bytes.fromhex(part) if n % 2 else part.encode("utf-8", "replace") for n, part in enumerate(parts))


def facts_of(reader: LogReader, start: int, end: int) -> Iterator[DeadLetter]:
    """Letters and receipts between two offsets; what is neither is left out."""
    for record in reader.read(TOPIC, 0, start, end) if start < end else ():
        facts = _facts(record)
        if facts is not None:
            yield facts


def _receipts(reader: LogReader) -> frozenset[Place]:
    """Where the records stood that were put back."""
    return frozenset(place_of(facts) for facts in facts_of(reader, *reader.ends(TOPIC)[0]) if facts.receipt_of >= 0)


def place_of(facts: DeadLetter) -> Place:
    """Of the record that a letter or a receipt is about."""
    return facts.topic, facts.partition, facts.offset


def _facts(record: Record) -> DeadLetter | None:
    try:
        return decode_dead_letter(record.header)
    except Undecodable:
        return None
