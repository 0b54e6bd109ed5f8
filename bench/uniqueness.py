"""How fast, and with how many bytes, engines find out which URLs are new, as stores and batches grow.

Every batch is a checkpoint: what it found is durable before the next one. An engine has a process of its own, so that its memory can be
told. ``read`` and ``written`` are the bytes that the engine asked its storage for; ``file_read`` and ``file_written`` those that the
process moved by system calls, write-ahead log and compaction included, the cache's share left out.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import psutil
from msgspec import Struct

from bench import report
from bench.engines.blocks import Blocks
from bench.engines.blocks_tmp import BlocksWithTmp
from bench.engines.interface import Stats, UniquenessEngine
from bench.workload import BETA, Web

ENGINES: Final[dict[str, Callable[[], UniquenessEngine]]] = {"gregor": Blocks, "gregor+tmp": BlocksWithTmp}
FILL: Final = 1_000_000
AT_LEAST: Final = 3
"""Batches of each size, after one that warms up; small ones are repeated until they have seen as many URLs as ``_SPAN``."""
SPAN: Final = 300_000


class Row(Struct, frozen=True):
    """One engine at one size and batch."""

    engine: str
    stored: int
    batch: int
    urls_per_s: int
    urls_per_cpu_s: int
    """By the processor's time of all threads: what a busy machine takes away does not count."""
    read_bytes_per_url: float
    written_bytes_per_url: float
    file_read_per_url: float
    file_written_per_url: float
    rss_mb: int
    """The most so far in this process, which began with filling the store."""


class _Meter:
    """Time and bytes since it was made."""

    def __init__(self, engine: UniquenessEngine) -> None:
        self._engine = engine
        self._process = psutil.Process()
        self._stats: Stats = engine.stats()
        self._io = self._process.io_counters()
        self.wall = self.cpu = 0.0
        self.urls = 0

    def row(self, stored: int, batch: int, rss_mb: int) -> Row:
        stats, io, n = self._engine.stats(), self._process.io_counters(), self.urls
        return Row(
            engine=self._engine.name,
            stored=stored,
            batch=batch,
            urls_per_s=round(n / self.wall),
            urls_per_cpu_s=round(n / self.cpu),
            read_bytes_per_url=round((stats.read - self._stats.read) / n, 1),
            written_bytes_per_url=round((stats.written - self._stats.written) / n, 1),
            file_read_per_url=round((io.read_chars - self._io.read_chars) / n, 1),
            file_written_per_url=round((io.write_chars - self._io.write_chars) / n, 1),
            rss_mb=rss_mb,
        )


def measure(name: str, stored: int, batches: tuple[int, ...], beta: float, folder: str) -> list[Row]:
    """Fill one engine and measure it with batches of each size, the smallest first."""
    engine = ENGINES[name]()
    engine.open(Path(folder))
    web = Web(stored, beta=beta)
    process, peak = psutil.Process(), 0
    admitted = 0
    for urls in web.fill(FILL):
        admitted += int(np.count_nonzero(engine.check(urls)))
        engine.checkpoint()
        peak = max(peak, process.memory_info().rss)
    if name == "gregor" and admitted != stored:
        raise SystemExit(f"{name} admitted {admitted} of {stored} URLs, each of which was new")
    rows = []
    for batch in batches:
        _turn(engine, web, batch, None)
        meter = _Meter(engine)
        for _ in range(max(AT_LEAST, SPAN // batch)):
            _turn(engine, web, batch, meter)
            peak = max(peak, process.memory_info().rss)
        rows.append(meter.row(stored, batch, peak >> 20))
    engine.close()
    return rows


def _turn(engine: UniquenessEngine, web: Web, batch: int, meter: _Meter | None) -> None:
    urls = web.batch(batch)
    wall, cpu = time.perf_counter(), time.process_time()
    engine.check(urls)
    engine.checkpoint()
    if meter is not None:
        meter.wall += time.perf_counter() - wall
        meter.cpu += time.process_time() - cpu
        meter.urls += batch


def measure_apart(name: str, stored: int, batches: tuple[int, ...], beta: float, root: Path) -> list[Row]:
    """``measure`` in a process of its own."""
    folder = root / f"{name}-{stored}"
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(measure, name, stored, batches, beta, str(folder)).result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _print(row: Row) -> None:
    print(
        f"{row.engine:12}{row.stored:>13,}{row.batch:>11,}{row.urls_per_s:>12,}{row.urls_per_cpu_s:>12,}"
        f"{row.read_bytes_per_url:>10,.0f}{row.written_bytes_per_url:>10,.0f}"
        f"{row.file_read_per_url:>11,.0f}{row.file_written_per_url:>13,.0f}{row.rss_mb:>8,}",
        flush=True,
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(float(part)) for part in text.split(","))


def main() -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--stored", type=_numbers, help="sizes of the store, as 20e6,100e6")
    parser.add_argument("--batch", type=_numbers, help="sizes of batches, as 1e4,1e5,1e6")
    parser.add_argument("--beta", type=float, default=BETA, help="share of stray links")
    parser.add_argument("--engines", default=",".join(ENGINES), help="any of " + ", ".join(ENGINES))
    parser.add_argument("--folder", type=Path, help="where stores are made; default: the system's temporary folder")
    given = parser.parse_args()
    sizes: tuple[int, ...] = given.stored or ((2_000_000,) if given.quick else (20_000_000,))
    batches: tuple[int, ...] = given.batch or (10_000, 100_000, 1_000_000)
    names = given.engines.split(",")
    unknown = [name for name in names if name not in ENGINES]
    if unknown:
        parser.error(f"no engine is named {unknown[0]}; there are {', '.join(ENGINES)}")
    print(report.machine("numpy", "rocksdict"))
    print(
        f"{'engine':12}{'stored':>13}{'batch':>11}{'URLs/s':>12}{'URLs/CPU s':>12}{'read/URL':>10}{'wrtn/URL':>10}"
        f"{'file read':>11}{'file written':>13}{'RSS MB':>8}"
    )
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=given.folder) as root:
        for stored in sizes:
            for name in names:
                measured = measure_apart(name, stored, batches, given.beta, Path(root))
                for row in measured:
                    _print(row)
                rows += measured
    figures: dict[str, Any] = {"engines": [msgspec.to_builtins(row) for row in rows]}
    report.finish(figures, given.json)


if __name__ == "__main__":
    main()
