"""Items of the log as files: JSONL as the topic has them, Parquet with a table for each rule."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from xxhash import xxh3_64_hexdigest

from gregor.outputs.archive.parquet import GROUP, pyarrow
from gregor.outputs.archive.places import require_folder, whole_file
from gregor.runtime.transport.port import LogReader
from schemas.codec import Undecodable, encode
from schemas.items import Item, decode_item

Kind = str
"""How a field is written: bool, int, float, text, "list of" one of these, or json for everything else."""


def items_of(log: LogReader) -> Iterator[Item]:
    """All items that are committed; what is no item is left out."""
    for partition in log.ends("items"):
        for record in log.read("items", partition, 0):
            try:
                yield decode_item(record.value)
            except Undecodable:
                continue


def write_jsonl(read: Callable[[], Iterator[Item]], path: Path) -> int:
    """One line an item; how many there were."""
    count = 0
    with whole_file(path) as file:
        for item in read():
            file.write(encode(item) + b"\n")
            count += 1
    return count


def write_parquet(read: Callable[[], Iterator[Item]], folder: Path) -> int:
    """``folder/RULE.parquet``: the item's facts, ``fields`` as a structure of the rule's own names, and the same as JSON in ``json``.

    The items are read twice, for the types and for the values; an item that has come since and does not fit has them in ``json`` alone.
    """
    require_folder(folder)
    arrow = pyarrow()
    kinds: dict[str, dict[str, set[Kind]]] = {}
    for item in read():
        of_rule = kinds.setdefault(item.rule, {})
        for name, value in item.fields.items():
            of_rule.setdefault(name, set()).add(kind_of(value))
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with ExitStack() as stack:
        tables = {
            rule: _Table(
                arrow, folder / f"{_safe(rule)}.parquet", {name: joined(seen) for name, seen in fields.items()}, stack
            )
            for rule, fields in kinds.items()
        }
        for item in read():
            if item.rule in tables:
                tables[item.rule].add(item)
                count += 1
        for table in tables.values():
            table.flush()
    return count


class _Table:
    """The items of one rule."""

    def __init__(self, arrow: Any, path: Path, fields: dict[str, Kind], stack: ExitStack) -> None:
        self._arrow = arrow
        self._fields = fields
        text = arrow.string()
        columns = [
            ("url", text), ("rule", text), ("number", arrow.int64()), ("lease", text),
            ("fetched", arrow.timestamp("ms", tz="UTC")), ("json", text),
        ]  # fmt: skip
        if fields:
            columns.append(
                ("fields", arrow.struct([(name, _type(arrow, kind)) for name, kind in sorted(fields.items())]))
            )
        self._schema = arrow.schema(columns)
        self._writer = stack.enter_context(arrow.parquet.ParquetWriter(path, self._schema, compression="zstd"))
        self._items: list[Item] = []

    def add(self, item: Item) -> None:
        self._items.append(item)
        if len(self._items) >= GROUP:
            self.flush()

    def flush(self) -> None:
        if self._items:
            self._writer.write_table(
                self._arrow.Table.from_pylist([self._row(one) for one in self._items], self._schema)
            )
            self._items = []

    def _row(self, item: Item) -> dict[str, Any]:
        fields = {name: _fitting(item.fields.get(name), kind) for name, kind in self._fields.items()}
        return {
            "url": item.url,
            "rule": item.rule,
            "number": item.number,
            "lease": item.lease,
            "fetched": item.fetched_ms,
            "json": _json(item.fields),
            "fields": fields,
        }


def kind_of(value: Any) -> Kind:
    match value:
        case None:
            return "none"
        case bool():
            return "bool"
        case int():
            return "int" if -(2**63) <= value < 2**63 else "json"
        case float():
            return "float"
        case str():
            return "text"
        case list():
            inner = joined({kind_of(one) for one in value})
            return "json" if inner == "json" or inner.startswith("list") else f"list of {inner}"
        case _:
            return "json"


def joined(kinds: set[Kind]) -> Kind:
    """One kind that holds them all."""
    some = kinds - {"none"}
    if any(one.startswith("list of ") for one in some) and all(one.startswith("list of ") for one in some):
        inner = joined({one.removeprefix("list of ") for one in some})
        return "json" if inner == "json" else f"list of {inner}"
    if some == {"int", "float"}:
        return "float"
    return some.pop() if len(some) == 1 else "json" if some else "none"


def _fitting(value: Any, kind: Kind) -> Any:
    """The value as its column holds it; None when it does not."""
    if value is None or kind == "none":
        return None
    if kind == "json":
        return _json(value)
    return value if joined({kind_of(value), kind}) == kind else None


def _type(arrow: Any, kind: Kind) -> Any:
    if kind.startswith("list of "):
        return arrow.list_(_type(arrow, kind.removeprefix("list of ")))
    simple = {"bool": arrow.bool_(), "int": arrow.int64(), "float": arrow.float64()}
    return simple.get(kind, arrow.string())


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _safe(rule: str) -> str:
    """Records come from anybody: a name from one is not a path. One that had to be changed stays different from others."""
    cleaned = "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in rule)[:64]
    return cleaned if cleaned == rule and rule else f"{cleaned}-{xxh3_64_hexdigest(rule.encode())}"
