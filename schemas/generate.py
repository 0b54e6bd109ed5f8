"""Writes the JSON Schema of every topic's record into schemas/json: `python -m schemas.generate`.

Types and defaults come from the Structs, descriptions from the text below each field, which only the source has.
"""

import ast
import sys
from inspect import getsource
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec

from schemas.registry import FORMATS, Format
from schemas.topics import BY_NAME

FOLDER: Final = Path(__file__).parent / "json"
_TAG: Final = "Which of the topic's records this is."
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_of(topic: str) -> dict[str, Any]:
    """The JSON Schema of one topic's record."""
    form = FORMATS[topic]
    references, components = msgspec.json.schema_components(form.types, ref_template="#/$defs/{name}")
    for name, component in components.items():
        _describe(name, component)
    top = references[0] if len(references) == 1 else {"oneOf": list(references)}
    return {
        "$schema": _DIALECT,
        "title": topic,
        "description": _sentence(topic, form),
        **top,
        "$defs": {name: _plain_integers(component) for name, component in sorted(components.items())},
    }


def text_of(topic: str) -> str:
    """The file's content."""
    return msgspec.json.format(msgspec.json.encode(schema_of(topic)), indent=2).decode() + "\n"


def field_texts(module: ModuleType, struct: str) -> dict[str, str]:
    """The text below each field of a Struct, as one line."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(getsource(module))):
        if not isinstance(node, ast.ClassDef) or node.name != struct:
            continue
        for field, after in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                found[field.target.id] = " ".join(after.value.value.split())
    return found


def _describe(name: str, component: dict[str, Any]) -> None:
    for module in _modules():
        if name in vars(module) and getattr(module, name).__module__ == module.__name__:
            texts = field_texts(module, name)
            for field, schema in component.get("properties", {}).items():
                schema["description"] = texts.get(field, _TAG if field == "type" else "")
            return


def _modules() -> list[ModuleType]:
    return [sys.modules[kind.__module__] for form in FORMATS.values() for kind in form.types]


def _sentence(topic: str, form: Format) -> str:
    where = "the record's one header" if form.part == "header" else "the record's value"
    if topic.endswith("-changelog"):
        where = "the value of a checkpoint record, behind its first byte C"
    return f"{BY_NAME[topic].carries}: {where}"


def _plain_integers(schema: Any) -> Any:
    """Bounds that only say "64 bits" are said as a format."""
    if isinstance(schema, list):
        return [_plain_integers(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain_integers(value) for key, value in schema.items()}
    if plain.get("minimum") == -(2**63) and plain.get("maximum") == 2**63 - 1:
        del plain["minimum"], plain["maximum"]
        plain["format"] = "int64"
    return plain


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for topic in FORMATS:
        (FOLDER / f"{topic}.json").write_text(text_of(topic), encoding="utf-8")


if __name__ == "__main__":
    main()
