"""Records as version 0.1 wrote them are read by every later version. The golden files are never written again, only added to."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from schemas.registry import FORMATS
from tests.schemas.golden_records import EXPECTED

FOLDER = Path(__file__).parent / "golden"


def lines(topic: str) -> list[bytes]:
    return (FOLDER / f"{topic}.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("topic", FORMATS)
def test_records_of_version_0_1_stay_readable(topic: str) -> None:
    assert [FORMATS[topic].decode(line) for line in lines(topic)] == list(EXPECTED[topic])


@pytest.mark.parametrize("topic", FORMATS)
def test_the_golden_records_of_each_type_set_every_field(topic: str) -> None:
    """Otherwise a field's old form could change without a golden file noticing. A field that came later has a record of its own."""
    for kind in FORMATS[topic].types:
        unset = [set(left_at_default(record)) for record in EXPECTED[topic] if isinstance(record, kind)]
        assert not set.intersection(*unset)


def left_at_default(record: Struct) -> Iterator[str]:
    for field in msgspec.structs.fields(type(record)):
        value = getattr(record, field.name)
        if not field.required:
            factory = field.default_factory
            if value == (field.default if factory is msgspec.NODEFAULT else factory()):
                yield f"{type(record).__name__}.{field.name}"
        for inner in (value if isinstance(value, tuple) else (value,))[:1]:
            if isinstance(inner, Struct):
                yield from left_at_default(inner)
