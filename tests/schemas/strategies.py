"""Records of any type, made from the type itself."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from schemas.discovered import Discovered
from schemas.pages import PageFacts

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def records(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Any record of that type, each optional field present or not."""
    return _of(inspect.type_info(kind))


def _of(kind: inspect.Type) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.StructType():
            return _struct(kind)
        case inspect.IntType(ge=int() as low, le=int() as high):
            return st.integers(low, high)
        case inspect.NoneType():
            return st.none()
        case inspect.UnionType():
            return st.one_of(*map(_of, kind.types))
        case inspect.StrType():
            return st.text(max_size=20)
        case inspect.BytesType():
            return st.binary(max_size=20)
        case inspect.BoolType():
            return st.booleans()
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.VarTupleType():
            return st.lists(_of(kind.item_type), max_size=3).map(tuple)
        case inspect.TupleType():
            return st.tuples(*map(_of, kind.item_types))
        case inspect.DictType():
            return st.dictionaries(_of(kind.key_type), _of(kind.value_type), max_size=3)
        case inspect.AnyType():
            return JSON
    raise AssertionError(f"a record holds a {kind}, for which there is no strategy")


def _struct(kind: inspect.StructType) -> st.SearchStrategy[Any]:
    fields = {field.name: _of(field.type) for field in kind.fields}
    if kind.cls is Discovered:
        return st.integers(0, 3).flatmap(lambda length: _discovered(fields, length))
    if kind.cls is PageFacts:
        fields["path"] = fields["path"].map(lambda text: f"/{text}")
    required = {field.name: fields[field.name] for field in kind.fields if field.required}
    optional = {name: strategy for name, strategy in fields.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda values: kind.cls(**values))


def _discovered(fields: dict[str, st.SearchStrategy[Any]], length: int) -> st.SearchStrategy[Discovered]:
    def parallel(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(entry, min_size=length, max_size=length).map(tuple)

    numbers = st.just(()) | parallel(st.integers(-(2**63), 2**63 - 1))
    fixed = {"paths": parallel(st.text(max_size=20)), "flags": numbers, "counts": numbers, "lastmods_ms": numbers}
    return st.fixed_dictionaries({**fields, **fixed}).map(lambda values: Discovered(**values))
