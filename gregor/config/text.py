"""A configuration as TOML: what differs from the defaults, without secrets, to be kept with a crawl and read back later."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from gregor.config.load import Config, load_text
from gregor.config.secrets import is_reference, is_secret

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml(config: Config) -> str:
    """Read back by ``from_toml`` it decides as ``config`` does; only headers that hold a secret in plain text are left out."""
    return "\n".join(_lines(config))


def from_toml(text: str) -> Config:
    """Raises ConfigError when this version of gregor cannot obey it."""
    return load_text(text, "the crawl's own configuration")


def _lines(config: Config) -> Iterator[str]:
    for section in config.__struct_fields__:
        value = getattr(config, section)
        if isinstance(value, tuple):
            for table in value:
                yield f"[[{section}]]"
                yield from _table(table)
        else:
            keys = list(_table(value))
            if keys:
                yield f"[{section}]"
                yield from keys


def _table(table: Struct) -> Iterator[str]:
    for field in msgspec.structs.fields(type(table)):
        value = getattr(table, field.name)
        if field.name in ("headers", "security"):
            value = {name: text for name, text in value.items() if is_reference(text) or not is_secret(name)}
        if value is not None and (field.required or value != _default(field)):
            yield f"{field.name} = {_text(value)}"


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _text(value: Any) -> str:
    """One value; a string of JSON is one of TOML, except for DEL, which TOML wants escaped."""
    if isinstance(value, Struct):
        fields = msgspec.structs.fields(type(value))
        return _text({f.name: getattr(value, f.name) for f in fields if getattr(value, f.name) != _default(f)})
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_text(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)
