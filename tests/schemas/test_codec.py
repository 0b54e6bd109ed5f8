"""Every record comes back as it was written, and any bytes at all are a record or Undecodable."""

import json
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from schemas.changelog import Checkpoint, encode_checkpoint
from schemas.codec import LARGEST_RECORD, Undecodable, Unencodable, encode
from schemas.discovered import Discovered, decode_discovered
from schemas.items import Item, decode_item
from schemas.registry import FORMATS, Format
from schemas.topics import TOPICS
from tests.schemas.strategies import JSON, records

TYPES = [(topic, kind) for topic, form in FORMATS.items() for kind in form.types]
every_type = pytest.mark.parametrize(("topic", "kind"), TYPES, ids=[kind.__name__ for _, kind in TYPES])
EXAMPLES = 30
"""For each of fourteen types."""
every_format = pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)


def written(record: Struct) -> bytes:
    return encode_checkpoint(record) if isinstance(record, Checkpoint) else encode(record)


def test_every_topic_has_a_format_and_every_format_a_topic() -> None:
    assert [topic.name for topic in TOPICS] == list(FORMATS)


@every_type
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_record_comes_back_as_it_was_written(topic: str, kind: type[Struct], data: st.DataObject) -> None:
    record = data.draw(records(kind))
    assert FORMATS[topic].decode(written(record)) == record


@every_type
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_fields_from_a_later_version_are_ignored(topic: str, kind: type[Struct], data: st.DataObject) -> None:
    record = data.draw(records(kind))
    value = written(record)
    start = value.index(b"{")
    later = json.dumps({"added_in_2": data.draw(JSON)}).encode()
    joined = value[:start] + later[:-1] + (b"," if value[start + 1 :] != b"}" else b"") + value[start + 1 :]
    assert FORMATS[topic].decode(joined) == record


@every_format
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=st.binary() | JSON.map(encode))
def test_any_bytes_are_a_record_or_undecodable(form: Format, value: bytes) -> None:
    read_or_refused(form, value)


@every_type
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_damaged_record_is_a_record_or_undecodable(topic: str, kind: type[Struct], data: st.DataObject) -> None:
    value = bytearray(written(data.draw(records(kind))))
    for at in data.draw(st.lists(st.integers(0, len(value) - 1), max_size=4)):
        value[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(value)))
    read_or_refused(FORMATS[topic], bytes(value))
    read_or_refused(FORMATS[topic], bytes(value[:cut]))


def read_or_refused(form: Format, value: bytes) -> None:
    try:
        record = form.decode(value)
    except Undecodable:
        return
    assert isinstance(record, form.types)


DEEP = 100_000
HOSTILE = {
    "nothing": b"",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "another kind of document": b"[1, 2]",
    "two documents": b"{} {}",
    "arrays without end": b'{"later":' + b"[" * DEEP,
    "objects in objects": b'{"later":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "nested values of any kind": b'{"url":"u","rule":"r","fields":{"a":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "a field of the wrong type": b'{"url":7,"rule":"r","fields":{}}',
    "an integer beyond 64 bits": b'{"url":"u","rule":"r","fields":{},"number":9223372036854775808}',
    "an integer of ten thousand digits": b'{"url":"u","rule":"r","fields":{"a":' + b"9" * 10_000 + b"}}",
    "a float beyond all floats": b'{"url":"u","rule":"r","fields":{"a":1e999999}}',
    "NaN": b'{"url":"u","rule":"r","fields":{"a":NaN}}',
    "bytes that are not UTF-8": b'{"url":"\xff","rule":"r","fields":{}}',
    "a key that is not UTF-8": b'{"url":"u","rule":"r","fields":{"\xff":1}}',
    "a surrogate in UTF-8": b'{"url":"\xed\xa0\x80","rule":"r","fields":{}}',
    "half of a surrogate pair": b'{"url":"\\ud800","rule":"r","fields":{}}',
    "more bytes than a record may have": b'{"url":"' + b"a" * LARGEST_RECORD + b'","rule":"r","fields":{}}',
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
def test_hostile_bytes_are_undecodable(value: bytes) -> None:
    for form in FORMATS.values():
        with pytest.raises(Undecodable):
            form.decode(value)
        with pytest.raises(Undecodable):
            form.decode(b"C" + value)


def test_a_record_without_a_value_is_undecodable() -> None:
    with pytest.raises(Undecodable, match="expected a record of type Item, found no value"):
        decode_item(None)


@pytest.mark.parametrize("name", ["flags", "counts", "lastmods_ms"])
def test_lists_that_do_not_run_parallel_to_the_paths_are_undecodable(name: str) -> None:
    with pytest.raises(Undecodable, match="found 1 for 2 paths"):
        decode_discovered(json.dumps({"server": "a", "paths": ["/", "/b"], name: [1]}).encode())
    with pytest.raises(ValueError, match="found 1 for 2 paths"):
        Discovered(server="a", paths=("/", "/b"), **{name: (1,)})  # type: ignore[arg-type]


def test_a_lone_surrogate_is_written_as_a_replacement_character() -> None:
    item = Item(url="u\udc80", rule="r", fields={"\ud800k": ["a\udfff", {"b": ("\U0001f600", 1)}]})
    assert decode_item(encode(item)) == Item(
        url="u\ufffd", rule="r", fields={"\ufffdk": ["a\ufffd", {"b": ["\U0001f600", 1]}]}
    )


def nested(depth: int) -> Any:
    value: Any = "\ud800" if depth % 2 else "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [2 * sys.getrecursionlimit(), 2 * sys.getrecursionlimit() + 1])
def test_what_is_nested_too_deeply_is_unencodable(depth: int) -> None:
    with pytest.raises(Unencodable, match="recursion"):
        encode(Item(url="u", rule="r", fields={"a": nested(depth)}))


@pytest.mark.parametrize("value", [object(), {object(): 1}, {1: "\ud800", "2": object()}])
def test_a_foreign_object_is_unencodable(value: object) -> None:
    with pytest.raises(Unencodable, match="expected what JSON can hold"):
        encode(Item(url="u", rule="r", fields={"a": value}))


def test_a_float_that_is_not_a_number_is_written_as_null() -> None:
    item = Item(url="u", rule="r", fields={"a": float("nan"), "b": float("inf")})
    assert decode_item(encode(item)).fields == {"a": None, "b": None}
