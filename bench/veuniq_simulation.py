"""The crawling simulation behind Table 3 of paper 000: time and bytes of a cycle as the store grows; sweeps over N and over memory.

Run: python bench/veuniq_simulation.py [--stored 1e6,20e6,100e6] [--plot docs/img] [--quick] [--json]

A cycle is 1,000,000 URLs: 100,000 pages of one repository that were crawled and 900,000 links found on them, of which a share beta leaves
the repository and a share p = 1/9 is new. Repositories take turns. Every engine has a process of its own; it is filled, runs a whole round
of cycles so that as many stray URLs come back as leave (VEUNIQ only), and then the cycles that are measured. Nothing is synced to disk:
the seconds are those of processor and page cache, the bytes are what a disk would see.

The paper's cycles are samples at these sizes, on disks of 2009, and its DRUM is a C++ program that merges through Berkeley DB.
"""

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec

from bench import report
from bench.engines.blocks import Blocks
from bench.engines.drum import Drum
from bench.engines.interface import Settling, UniquenessEngine
from bench.engines.provision import run
from bench.engines.text import URL_BYTES, with_texts
from bench.engines.veuniq import Veuniq
from bench.measure import Meter, Row, fill, memory_mb, warm_up
from bench.plot import Axes, lines
from bench.uniqueness import crossing, numbers
from bench.workload import BETA, P_NEW, Web

PAPER: Final[dict[str, dict[int, float]]] = {
    "drum": {1: 16.28, 50: 26.39, 100: 35.62, 150: 44.70, 200: 53.99, 250: 64.46, 300: 73.18, 350: 82.85},
    "veuniq": {1: 1.38, 50: 2.78, 100: 3.62, 150: 4.50, 200: 5.47, 250: 7.20, 300: 7.44, 350: 9.26},
}
"""Table 3: seconds of a cycle, by millions of URLs stored."""
ENGINES: Final = ("gregor", "drum", "veuniq", "veuniq-text")
REPOSITORIES: Final = 16
CYCLE: Final = 1_000_000
MEASURED: Final = 3
POINTER: Final = 4
MOST_TEXT: Final = 20_000_000
"""VEUNIQ with texts of 110 bytes is filled no further."""


class Setting(msgspec.Struct, frozen=True):
    """One cell of a table."""

    engine: str
    stored: int
    cycle: int = CYCLE
    repositories: int = REPOSITORIES

    @property
    def memory(self) -> int:
        """R: bytes for the URLs of a cycle, as the model of VEUNIQ counts them."""
        return self.cycle * (URL_BYTES + POINTER)


def model_bytes(setting: Setting, beta: float) -> float | None:
    """Bytes a URL that the models of paper 000 expect of one cycle; None for engines they do not describe."""
    cycle, b, h = setting.cycle, URL_BYTES, 8
    if setting.engine == "drum":
        return 2 * b + 2 * h + 2 * setting.stored * h / cycle + P_NEW * h + P_NEW * b
    if setting.engine == "veuniq-text":
        return P_NEW * b + 2 * setting.stored / setting.repositories * b / cycle + 2 * beta * b
    return None


def simulate(settings: Sequence[Setting], folder: str, beta: float) -> list[Row]:
    """Fill one store, and for each setting, which differ in their cycles only, warm up and measure."""
    engine = _engine(settings[0])
    engine.open(Path(folder))
    web = Web(settings[0].stored, beta=beta)
    peak = fill(engine, web)
    if isinstance(engine, Settling):
        warm_up(engine, web)
        engine.settle()
    rows = []
    for setting in settings:
        for _ in range(setting.repositories if isinstance(engine, Veuniq) else 1):
            _run_cycle(engine, web, setting, Meter(engine))
        meter = Meter(engine)
        for _ in range(MEASURED):
            _run_cycle(engine, web, setting, meter)
            peak = max(peak, memory_mb(engine))
        rows.append(meter.row(setting.stored, setting.cycle, peak))
    engine.close()
    return rows


def _run_cycle(engine: UniquenessEngine, web: Web, setting: Setting, meter: Meter) -> None:
    """The others than VEUNIQ keep no count of turns; for them any repository will do."""
    turn = engine.turn if isinstance(engine, Veuniq) else meter.turns % setting.repositories
    urls = web.cycle(setting.cycle, turn, setting.repositories)
    if not isinstance(engine, Blocks):
        urls = with_texts(urls)
    with meter.turn(setting.cycle):
        if isinstance(engine, Veuniq):
            engine.cycle(urls, setting.cycle // 10)
        else:
            engine.check(urls)
        engine.checkpoint()


def _engine(setting: Setting) -> UniquenessEngine:
    match setting.engine:
        case "gregor":
            return Blocks()
        case "drum":
            return Drum()
        case "veuniq":
            return Veuniq(setting.repositories)
        case "veuniq-text":
            return Veuniq(setting.repositories, "text")
    raise ValueError(f"expected one of {', '.join(ENGINES)}, found {setting.engine}")


def simulate_apart(wanted: Iterable[Setting], beta: float, root: Path) -> dict[Setting, Row]:
    """All settings, those of one store together, every store in a process of its own."""
    results: dict[Setting, Row] = {}
    stores: dict[tuple[str, int, int], list[Setting]] = {}
    for setting in dict.fromkeys(wanted):
        stores.setdefault((setting.engine, setting.stored, setting.repositories), []).append(setting)
    for same in stores.values():
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                rows = pool.submit(simulate, same, str(root / "store"), beta).result()
        finally:
            shutil.rmtree(root / "store", ignore_errors=True)
        for setting, row in zip(same, rows, strict=True):
            results[setting] = row
            print(describe(setting, row, beta), flush=True)
    return results


def describe(setting: Setting, row: Row, beta: float) -> str:
    expected = model_bytes(setting, beta)
    paper = PAPER.get(setting.engine, {}).get(setting.stored // 1_000_000) if setting.cycle == CYCLE else None
    return (
        f"{setting.engine:12}{setting.stored:>13,}{setting.cycle:>11,}{setting.repositories:>6}{setting.memory >> 20:>8,}"
        f"{row.wall_s:>9.2f}{row.cpu_s:>9.2f}{row.bytes_per_url:>9,.0f}{row.file_bytes_per_url:>11,.0f}"
        f"{'' if expected is None else f'{expected:,.0f}':>9}{row.seconds_on_disk(100e6):>12.2f}{row.rss_mb:>8,}"
        f"{'' if paper is None else f'{paper:.2f}':>10}"
    )


HEAD: Final = (
    f"{'engine':12}{'stored':>13}{'cycle':>11}{'N':>6}{'R MiB':>8}{'s':>9}{'CPU s':>9}{'B/URL':>9}{'file B/URL':>11}"
    f"{'model':>9}{'s, 100 MB/s':>12}{'RSS MB':>8}{'paper s':>10}"
)


def settings(sizes: Sequence[int], quick: bool) -> dict[str, list[Setting]]:
    """Three tables: the store grows; the number of repositories grows; the memory of a cycle grows."""
    cycle, middle = (100_000, sizes[-1]) if quick else (CYCLE, 20_000_000)
    growth = [Setting(name, size, cycle) for size in sizes for name in ENGINES]
    counts = (4, 16) if quick else (4, 16, 64)
    cycles = (cycle // 10, cycle) if quick else (100_000, 300_000, 1_000_000, 3_000_000)
    tables = {
        "the store grows (Table 3)": growth,
        "sweep over N": [Setting(name, middle, cycle, n) for n in counts for name in ("veuniq", "veuniq-text")],
        "sweep over R": [Setting(name, middle, size) for size in cycles for name in ("gregor", "drum", "veuniq")],
    }
    return {
        title: [one for one in table if one.engine != "veuniq-text" or one.stored <= MOST_TEXT]
        for title, table in tables.items()
    }


def draw(folder: Path, results: Mapping[Setting, Row]) -> None:
    """Time on a disk of 100 MB/s, and bytes, as the store grows."""
    names = [name for name in ENGINES if any(setting.engine == name for setting in results)]
    grown = {name: [(one.stored / 1e6, row) for one, row in results.items() if one.engine == name] for name in names}
    x = "URLs stored (millions)"
    time_of = {name: [(size, row.wall_s) for size, row in points] for name, points in grown.items()}
    lines(folder / "veuniq-time.svg", Axes(title="A cycle here, in page cache", x=x, y="seconds"), time_of)
    slow = {name: [(size, row.seconds_on_disk(100e6)) for size, row in points] for name, points in grown.items()}
    slow |= {f"{name} (paper)": [(float(m), s) for m, s in table.items() if m <= 100] for name, table in PAPER.items()}
    lines(folder / "veuniq-disk.svg", Axes(title="A cycle on a disk of 100 MB/s", x=x, y="seconds"), slow)
    moved = {name: [(size, row.bytes_per_url) for size, row in points] for name, points in grown.items()}
    lines(folder / "veuniq-bytes.svg", Axes(title="Bytes read and written", x=x, y="bytes a URL"), moved)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--stored", type=numbers, help="sizes of the store, as 1e6,20e6,100e6")
    parser.add_argument("--beta", type=float, default=BETA, help="share of stray links")
    parser.add_argument("--no-sweeps", action="store_true", help="only the table that grows")
    parser.add_argument("--plot", type=Path, help="a folder for plots")
    parser.add_argument("--folder", type=Path, help="where stores are made; default: the system's temporary folder")
    given = parser.parse_args(arguments)
    sizes = given.stored or ((300_000, 1_000_000) if given.quick else (1_000_000, 20_000_000, 50_000_000))
    tables = settings(sizes, given.quick)
    if given.no_sweeps:
        tables = dict(list(tables.items())[:1])
    print(report.machine("numpy", "rocksdict"))
    print(HEAD)
    root = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        results = simulate_apart((one for table in tables.values() for one in table), given.beta, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for title, table in tables.items():
        print(f"\n{title}\n{HEAD}", *(describe(one, results[one], given.beta) for one in table), sep="\n")
    growth = {one: results[one] for one in next(iter(tables.values()))}
    if given.plot is not None:
        draw(given.plot, growth)
    report.finish(summary(sizes, growth), given.json)


def summary(sizes: Sequence[int], growth: Mapping[Setting, Row]) -> dict[str, object]:
    """Where gregor passes DRUM, and all rows."""
    by = {(setting.engine, setting.stored): row for setting, row in growth.items()}
    figures: dict[str, object] = {}
    here = [[by[engine, size].wall_s for size in sizes] for engine in ("gregor", "drum")]
    slow = [[by[engine, size].seconds_on_disk(100e6) for size in sizes] for engine in ("gregor", "drum")]
    figures["crossing_here"] = crossing(sizes, *here)
    figures["crossing_100_mb_s"] = crossing(sizes, *slow)
    most = sizes[-1]
    figures["ratio_bytes_drum_veuniq"] = round(by["drum", most].bytes_per_url / by["veuniq", most].bytes_per_url, 2)
    figures["ratio_bytes_drum_gregor"] = round(by["drum", most].bytes_per_url / by["gregor", most].bytes_per_url, 2)
    figures["cycles"] = [msgspec.to_builtins(row) for row in growth.values()]
    return figures


if __name__ == "__main__":
    run(main)
