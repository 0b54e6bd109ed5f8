"""One engine in a process of its own: filled, then fed batches of each size; time, processor, bytes and memory of it."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Final

import numpy as np
import psutil
from msgspec import Struct

from bench.engines.catalogue import DEFER, ENGINES, KEEP_TEXT
from bench.engines.interface import BulkLoading, Settling, Stats, UniquenessEngine, Urls
from bench.engines.postgres import Postgres
from bench.engines.text import with_texts
from bench.engines.veuniq import Veuniq
from bench.workload import Web

FILL: Final = 250_000
"""URLs of a checkpoint while a store is filled: all of them new, they change as much as a cycle of a million links does."""
WARM_UP: Final = 1_000_000
"""URLs that an engine with caches has seen before the first batch that counts."""
AT_LEAST: Final = 3
"""Batches of each size, after one that warms up, or for VEUNIQ a round of them, until as many strays come back as leave. Small ones are
repeated until they have seen as many URLs as ``SPAN``, but not more than ``AT_MOST`` times."""
SPAN: Final = 300_000
AT_MOST: Final = 30
LONG_SPAN: Final = 1_200_000
LONG_AT_MOST: Final = 300
"""The same for engines that put work off, so that what they put off is in the figures."""


class Row(Struct, frozen=True):
    """One engine at one size and batch."""

    engine: str
    stored: int
    batch: int
    urls_per_s: int
    urls_per_cpu_s: int
    """By the processor's time of all threads (and servers): what a busy machine takes away does not count."""
    read_bytes_per_url: float
    written_bytes_per_url: float
    file_read_per_url: float
    file_written_per_url: float
    rss_mb: int
    """The most seen after a batch, from filling the store on; with a server's memory where there is one."""
    peak_mb: int
    """The most at any moment, the batches' own arrays and texts included."""

    @property
    def wall_s(self) -> float:
        """Of one batch."""
        return self.batch / self.urls_per_s

    @property
    def cpu_s(self) -> float:
        """Of one batch."""
        return self.batch / self.urls_per_cpu_s

    @property
    def bytes_per_url(self) -> float:
        return self.read_bytes_per_url + self.written_bytes_per_url

    @property
    def file_bytes_per_url(self) -> float:
        return self.file_read_per_url + self.file_written_per_url

    def seconds_on_disk(self, bytes_per_s: float) -> float:
        """What one batch would take where every byte goes to a disk of this speed, and nothing is cached but by the engine."""
        return self.cpu_s + self.file_bytes_per_url * self.batch / bytes_per_s


class Meter:
    """Time and bytes since it was made."""

    def __init__(self, engine: UniquenessEngine) -> None:
        self._engine = engine
        self._stats: Stats = engine.stats()
        self._io = file_bytes(engine)
        self._wall = self._cpu = 0.0
        self._urls = 0
        self.turns = 0

    @contextmanager
    def turn(self, urls: int) -> Iterator[None]:
        """Whatever is done within counts, as a check of so many URLs."""
        wall, cpu = time.perf_counter(), cpu_s(self._engine)
        yield
        self._wall += time.perf_counter() - wall
        self._cpu += cpu_s(self._engine) - cpu
        self._urls += urls
        self.turns += 1

    def row(self, stored: int, batch: int, rss_mb: int) -> Row:
        stats, io, n = self._engine.stats(), file_bytes(self._engine), self._urls
        return Row(
            engine=self._engine.name,
            stored=stored,
            batch=batch,
            urls_per_s=round(n / self._wall),
            urls_per_cpu_s=round(n / max(self._cpu, 1e-3)),
            read_bytes_per_url=round((stats.read - self._stats.read) / n, 1),
            written_bytes_per_url=round((stats.written - self._stats.written) / n, 1),
            file_read_per_url=round((io.read - self._io.read) / n, 1),
            file_written_per_url=round((io.written - self._io.written) / n, 1),
            rss_mb=rss_mb,
            peak_mb=getrusage(RUSAGE_SELF).ru_maxrss >> 10,
        )


def file_bytes(engine: UniquenessEngine) -> Stats:
    """Bytes that went through system calls, of this process or of the server that does the work."""
    if isinstance(engine, Postgres):
        return engine.server.traffic()
    io = psutil.Process().io_counters()
    return Stats(io.read_chars, io.write_chars)


def cpu_s(engine: UniquenessEngine) -> float:
    return time.process_time() + (engine.server.cpu() if isinstance(engine, Postgres) else 0.0)


def memory_mb(engine: UniquenessEngine) -> int:
    server = engine.server.rss() if isinstance(engine, Postgres) else 0
    return int(psutil.Process().memory_info().rss + server) >> 20


def fill(engine: UniquenessEngine, web: Web) -> int:
    """Store everything the web knows; returns the most memory it took, in MB."""
    if isinstance(engine, BulkLoading):
        engine.load(web.fill(FILL))
        return memory_mb(engine)
    admitted = peak = 0
    for urls in web.fill(FILL):
        admitted += int(np.count_nonzero(engine.check(urls)))
        engine.checkpoint()
        peak = max(peak, memory_mb(engine))
    if engine.name not in DEFER and admitted != web.stored:
        raise SystemExit(f"{engine.name} admitted {admitted} of {web.stored} URLs, each of which was new")
    return peak


def measure(name: str, stored: int, batches: tuple[int, ...], beta: float, folder: str) -> list[Row]:
    """Fill one engine and measure it with batches of each size, the smallest first."""
    engine = ENGINES[name]()
    engine.open(Path(folder))
    web = Web(stored, beta=beta)
    peak = fill(engine, web)
    if isinstance(engine, Settling):
        warm_up(engine, web)
        engine.settle()
    rows = []
    for batch in batches:
        for _ in range(engine.repositories if isinstance(engine, Veuniq) else 1):
            _turn(engine, web, batch, Meter(engine))
        meter = Meter(engine)
        for _ in range(_turns(engine, batch)):
            _turn(engine, web, batch, meter)
            peak = max(peak, memory_mb(engine))
        rows.append(meter.row(stored, batch, peak))
    engine.close()
    return rows


def _turns(engine: UniquenessEngine, batch: int) -> int:
    span, most = (LONG_SPAN, LONG_AT_MOST) if isinstance(engine, Settling) else (SPAN, AT_MOST)
    return min(most, max(AT_LEAST, span // batch))


def warm_up(engine: UniquenessEngine, web: Web) -> None:
    size = min(WARM_UP, web.stored) // 10
    for _ in range(10):
        engine.check(web.batch(size))
        engine.checkpoint()


def _turn(engine: UniquenessEngine, web: Web, batch: int, meter: Meter) -> None:
    urls = _next(engine, web, batch)
    with meter.turn(batch):
        if isinstance(engine, Veuniq):
            engine.cycle(urls, batch // 10)
        else:
            engine.check(urls)
        engine.checkpoint()


def _next(engine: UniquenessEngine, web: Web, batch: int) -> Urls:
    """VEUNIQ gets what its scheduler would give it: a cycle of the repository whose turn it is."""
    urls = web.cycle(batch, engine.turn, engine.repositories) if isinstance(engine, Veuniq) else web.batch(batch)
    return with_texts(urls) if engine.name in KEEP_TEXT else urls


def measure_apart(name: str, stored: int, batches: tuple[int, ...], beta: float, root: Path) -> list[Row]:
    """``measure`` in a process of its own."""
    folder = root / f"{name}-{stored}"
    try:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(measure, name, stored, batches, beta, str(folder)).result()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
