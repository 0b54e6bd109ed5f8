"""Tables in Parquet; pyarrow is needed for these alone, and is imported when one is written."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.outputs.archive.content import Content
from gregor.outputs.archive.page import ArchivedPage

GROUP: Final = 20_000
"""Rows that are gathered before they are written."""

COLUMNS: Final = (
    "url", "server", "status", "type", "charset", "language", "title", "digest", "fetched", "depth", "file", "offset",
    "length", "body_bytes", "truncated", "revisit", "kind", "lease", "visit",
)  # fmt: skip


def has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


def pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise GregorError(
            "Parquet needs pyarrow, which is not installed",
            exit_code=EXIT_ENVIRONMENT,
            remedy="pip install 'gregor-crawl[parquet]', or leave Parquet out",
        ) from None
    return pyarrow


def page_row(page: ArchivedPage, content: Content) -> tuple[Any, ...]:
    """In the order of COLUMNS."""
    facts, place = page.facts, page.place
    return (
        page.url, facts.server, facts.status, content.type, content.charset, content.language, content.title, page.sha1,
        page.fetched_ms, facts.depth, place.file, place.offset, place.length, len(page.body), facts.truncated,
        page.revisit, facts.kind, facts.lease, facts.visit,
    )  # fmt: skip


class PageTable:
    """The pages of one file, row group by row group; nothing is at ``path`` before all of it is."""

    def __init__(self, path: Path, about: dict[str, str]) -> None:
        self._arrow = pyarrow()
        self._path = path
        self._new = path.with_suffix(".new")
        self._schema = _schema(self._arrow).with_metadata(about)
        self._writer = self._arrow.parquet.ParquetWriter(self._new, self._schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(_table(self._arrow, self._schema, self._rows))
            self._rows = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
        if kind is None:
            self._new.replace(self._path)
        else:
            self._new.unlink(missing_ok=True)


def _table(arrow: Any, schema: Any, rows: Sequence[tuple[Any, ...]]) -> Any:
    columns = zip(*rows, strict=True)
    arrays = [arrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    return arrow.Table.from_arrays(arrays, schema=schema)


def _schema(arrow: Any) -> Any:
    text = arrow.string()
    types = {
        "status": arrow.int32(),
        "fetched": arrow.timestamp("ms", tz="UTC"),
        "depth": arrow.int32(),
        "offset": arrow.int64(),
        "length": arrow.int64(),
        "body_bytes": arrow.int64(),
        "visit": arrow.int64(),
    }
    return arrow.schema([(name, types.get(name, text)) for name in COLUMNS])
