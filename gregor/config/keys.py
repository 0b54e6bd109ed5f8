"""The table of known keys, made from the sections: what each expects, its default, its meaning, and the nearest one."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from gregor.config.sections import ItemRule, ServerRule, Settings

ARRAYS: Final[Mapping[str, type[Struct]]] = {"server": ServerRule, "item": ItemRule}
"""Sections that are written as many tables, [[server]], each of the same keys."""
SECURITY: Final = "kafka.security"


class Key(Struct, frozen=True):
    """One setting. The path of a key of [[server]] is written `server[].key`, whichever table it stands in; so for [[item]]."""

    path: str
    type: Any
    default: Any
    description: str
    expected: str

    @property
    def takes_text(self) -> bool:
        bare = _bare(self.type)
        return bare is str or get_origin(bare) is Literal


def _bare(annotation: Any) -> Any:
    return _bare(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _metas(annotation: Any) -> Iterator[Meta]:
    if get_origin(annotation) is Annotated:
        inner, *metas = get_args(annotation)
        yield from _metas(inner)
        yield from metas
    else:
        for part in get_args(annotation):
            if get_origin(part) is Annotated and get_origin(annotation) is not tuple:
                yield from _metas(part)


def expectation(annotation: Any) -> str:
    """What a value must be, in words: "a whole number from 1 to 1000"."""
    bare = _bare(annotation)
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(f'"{choice}"' for choice in get_args(bare))
    if get_origin(bare) is tuple:
        inner = _bare(get_args(bare)[0])
        return "a list of strings" if inner is str else f"a list of {expectation(inner)}"
    if get_origin(bare) is dict:
        strings = get_args(bare)[1] is str
        return (
            "a table of strings" if strings else 'a table of fields such as title = {css = "h1::text", required = true}'
        )
    kinds = [_bare(part) for part in get_args(bare)] or [bare]
    if bool in kinds:
        return "true or false"
    metas = list(_metas(annotation))
    if str in kinds:
        return "a string" + _text_bounds(metas)
    return ("a whole number" if int in kinds else "a number") + _number_bounds(metas)


def _first(metas: list[Meta], name: str) -> Any:
    return next((value for meta in metas if (value := getattr(meta, name)) is not None), None)


def _text_bounds(metas: list[Meta]) -> str:
    shortest, longest, pattern = (_first(metas, name) for name in ("min_length", "max_length", "pattern"))
    if pattern is not None:
        return f" matching {pattern}"
    if longest is None:
        return ""
    return f" of {shortest} to {longest} characters" if shortest else f" of at most {longest} characters"


def _number_bounds(metas: list[Meta]) -> str:
    least, above, most = (_first(metas, name) for name in ("ge", "gt", "le"))
    if above is not None:
        return f" above {above} and at most {most}"
    return f" from {least} to {most}"


def _keys_of(section: type[Struct], prefix: str) -> Iterator[Key]:
    for field in msgspec.structs.fields(section):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        description = next(meta.description for meta in _metas(field.type) if meta.description)
        path = f"{prefix}.{field.name}"
        yield Key(path, field.type, default, description, expectation(field.type))


def _known() -> Iterator[Key]:
    for section in msgspec.structs.fields(Settings):
        if section.name in ARRAYS:
            yield from _keys_of(ARRAYS[section.name], f"{section.name}[]")
        else:
            yield from _keys_of(section.type, section.name)


KEYS: Final[Mapping[str, Key]] = {key.path: key for key in _known()}
SECTIONS: Final[Mapping[str, type[Struct]]] = {
    field.name: ARRAYS.get(field.name, field.type) for field in msgspec.structs.fields(Settings)
}


def generic(path: str) -> str:
    """`server[3].match` is the key `server[].match`."""
    return re.sub(r"^(\w+)\[\d+\]\.", r"\1[].", path)


def nearest_key(path: str) -> str:
    """The known key whose name is most like that of `path`; among equals, one of the same section."""
    section, _, name = generic(path)[:200].rpartition(".")
    return max(
        KEYS, key=lambda known: _likeness(known.rpartition(".")[2], name) + 0.3 * known.startswith(f"{section}.")
    )


def nearest_section(name: str) -> str:
    return max(SECTIONS, key=lambda known: _likeness(known, name[:200]))


def _likeness(known: str, found: str) -> float:
    # Only a mistake needs difflib, and it takes a while to import.
    from difflib import SequenceMatcher

    return SequenceMatcher(None, found, known).ratio()
