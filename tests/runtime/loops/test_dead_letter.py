"""A dead letter is a record itself, whatever was in the one that nobody could read."""

import json
import os
from typing import Any

import pytest

from gregor.operate.dead_letters import refusal
from gregor.runtime.loops.decode import dead_letter, decode_all
from gregor.runtime.transport.port import Record
from schemas.codec import LARGEST_RECORD
from schemas.dead_letters import LARGEST_LETTER, decode_dead_letter
from workers.archiver.stage import ArchiverStage
from workers.extractor.stage import ExtractorStage


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


@pytest.mark.parametrize("stage", [ExtractorStage, ArchiverStage])
@pytest.mark.parametrize(
    "forged",
    [
        {"path": "a"},
        {"path": ""},
        {"path": "http://h.example/"},
        {"path": "/", "scheme": "\x1b[2J\nftp"},
        {"path": "/", "depth": 2**70},
    ],
)
def test_a_forged_page_is_a_letter_and_a_line(
    stage: type[ExtractorStage | ArchiverStage], forged: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    header = json.dumps({"server": "h.example", "lease": "0-1", "status": 200, **forged}).encode()
    record = Record("pages", 0, 7, b"h.example", b"<a href=/b>b</a>", header, 0)
    received, letters = decode_all([record] * 3, stage.decoders, "x", 1)
    assert (received, len(letters)) == ([], 3)
    (line,) = caplog.records
    assert line.exc_info is None
    assert line.getMessage().startswith("pages[0] at offset 7 cannot be read and goes to dead-letters, with 2 more: ")
    assert line.getMessage().isprintable()
