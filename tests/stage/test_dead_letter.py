"""A dead letter is a record itself, whatever was in the one that nobody could read."""

import os

import pytest

from gregor.pipeline.operate.letters import refusal
from gregor.stage.decode import dead_letter
from gregor.transport.port import Record
from schemas.codec import LARGEST_RECORD
from schemas.dead_letters import LARGEST_LETTER, decode_dead_letter


@pytest.mark.parametrize("noise", [b"\x00", b"\xff", b'"', b"\\", "\U0001f41b".encode()])
def test_a_letter_fits_into_a_record_however_large_what_it_tells_of(noise: bytes) -> None:
    value = os.urandom(100) + bytes(LARGEST_RECORD)
    long = noise * 20_000
    letter = dead_letter(Record("pages", 3, 7, long, value, long, 0), "\x00" * 5_000, "archiver", 1)
    assert len(letter.value) + len(letter.header or b"") <= LARGEST_RECORD
    facts = decode_dead_letter(letter.header)
    assert (facts.topic, facts.partition, facts.offset, facts.size) == ("pages", 3, 7, len(value))
    assert letter.value == value[:LARGEST_LETTER]
    assert refusal(facts), "what is not whole is not put back"


def test_a_letter_keeps_a_value_of_an_ordinary_size_whole() -> None:
    value = os.urandom(4 * 1024 * 1024)
    letter = dead_letter(Record("pages", 0, 0, b"k", value, None, 0), "torn", "extractor", 1)
    assert letter.value == value
    assert not refusal(decode_dead_letter(letter.header))
