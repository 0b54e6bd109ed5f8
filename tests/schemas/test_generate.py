"""The JSON Schema files are those of the Structs, and describe every field."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import fetched
from schemas.generate import FOLDER, field_texts, main, schema_of, text_of
from schemas.registry import FORMATS


@pytest.mark.parametrize("topic", FORMATS)
def test_the_file_is_current(topic: str) -> None:
    found = (FOLDER / f"{topic}.json").read_text(encoding="utf-8")
    assert found == text_of(topic), "run: python -m schemas.generate"


def test_no_file_is_left_of_a_topic_that_is_gone() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FORMATS)


def test_generating_writes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schemas.generate.FOLDER", tmp_path / "json")
    main()
    assert {path.name for path in (tmp_path / "json").iterdir()} == {f"{topic}.json" for topic in FORMATS}


def fields(topic: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, component in schema_of(topic)["$defs"].items():
        for field, schema in component["properties"].items():
            yield f"{name}.{field}", schema


@pytest.mark.parametrize("topic", FORMATS)
def test_every_field_says_what_it_means(topic: str) -> None:
    for name, schema in fields(topic):
        assert schema["description"].endswith((".", "…")), name


@pytest.mark.parametrize("topic", FORMATS)
def test_every_time_says_its_unit(topic: str) -> None:
    for name, schema in fields(topic):
        if name.endswith("_ms"):
            assert "millisecond" in schema["description"].lower(), name


@pytest.mark.parametrize("topic", FORMATS)
def test_a_default_of_nothing_says_what_it_means(topic: str) -> None:
    for name, schema in fields(topic):
        default = schema.get("default")
        if default in ("", -1) or (default == 0 and schema.get("type") == "integer"):
            word = "empty" if default == "" else str(default)
            assert word in schema["description"], name


def test_a_text_of_several_lines_becomes_one() -> None:
    texts = field_texts(fetched, "FetchResult")
    assert texts["status"] == "HTTP status; 0: no response."
    assert all("\n" not in text for text in texts.values())
