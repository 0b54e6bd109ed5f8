"""How fast, and with how many bytes, engines find out which URLs are new, as stores and batches grow.

Run: python bench/uniqueness.py [--stored 20e6,100e6] [--batch 1e3,1e4,1e5,1e6] [--engines gregor,drum] [--quick] [--json]

Every batch is a checkpoint: what it found is durable before the next one, that is, it survives the death of the process; engines with
+sync also wait for the disk. An engine has a process of its own, so that its memory can be told. ``read`` and ``written`` are the bytes
that the engine asked its storage for; ``file_read`` and ``file_written`` those that the process (or its server) moved by system calls,
write-ahead log and compaction included, its own cache's share left out.

DRUM answers a batch by one merge of its whole repository. It could let batches wait until they are worth one; then the answers are late
instead. VEUNIQ is fed by its scheduler, one repository's pages after the other, and lets stray URLs wait.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bench import report
from bench.engines.berkeleydb import berkeleydb
from bench.engines.catalogue import ENGINES, MOST_BATCH, MOST_STORED
from bench.engines.provision import run
from bench.measure import Row, measure_apart
from bench.workload import BETA

DISKS: Final = (100, 500)
"""MB/s"""
SMALL: Final = 100_000
"""Batches up to this many URLs count as small."""
HEAD: Final = (
    f"{'engine':17}{'stored':>13}{'batch':>11}{'URLs/s':>12}{'URLs/CPU s':>12}{'read/URL':>10}{'wrtn/URL':>10}"
    f"{'file read':>11}{'file written':>13}{'RSS MB':>8}"
)


def line(row: Row) -> str:
    return (
        f"{row.engine:17}{row.stored:>13,}{row.batch:>11,}{row.urls_per_s:>12,}{row.urls_per_cpu_s:>12,}"
        f"{row.read_bytes_per_url:>10,.0f}{row.written_bytes_per_url:>10,.0f}"
        f"{row.file_read_per_url:>11,.0f}{row.file_written_per_url:>13,.0f}{row.rss_mb:>8,}"
    )


def pairs(rows: Sequence[Row], ours: str = "gregor", theirs: str = "drum") -> list[tuple[Row, Row]]:
    """(ours, theirs) wherever both were measured at one size and batch."""
    other = {(row.stored, row.batch): row for row in rows if row.engine == theirs}
    return [
        (row, other[row.stored, row.batch]) for row in rows if row.engine == ours and (row.stored, row.batch) in other
    ]


def crossing(sizes: Sequence[float], ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The first size from which ours takes no longer than theirs, on straight lines between the sizes measured.

    0 when that is so from the smallest on, None when not even at the largest.
    """
    gaps = [mine - other for mine, other in zip(ours, theirs, strict=True)]
    if not gaps or gaps[-1] > 0:
        return None
    last_ahead = max((index for index, gap in enumerate(gaps) if gap > 0), default=-1)
    if last_ahead < 0:
        return 0.0
    low, high = sizes[last_ahead], sizes[last_ahead + 1]
    share = gaps[last_ahead] / (gaps[last_ahead] - gaps[last_ahead + 1])
    return low + (high - low) * share


def ratios(rows: Sequence[Row]) -> dict[str, Any]:
    """gregor against DRUM at the largest size that both have seen: bytes in the largest batches, time in the small ones."""
    found: dict[str, Any] = {}
    for suffix in ("", "+sync"):
        both = pairs(rows, f"gregor{suffix}", f"drum{suffix}")
        if not both:
            continue
        most = max(ours.stored for ours, _ in both)
        both = [(ours, drum) for ours, drum in both if ours.stored == most]
        ours, drum = max(both, key=lambda pair: pair[0].batch)
        key = suffix.replace("+", "_")
        found["ratio_stored"] = most
        if not suffix:
            found["ratio_bytes_drum"] = round(drum.bytes_per_url / max(ours.bytes_per_url, 0.1), 1)
            found["ratio_file_bytes_drum"] = round(drum.file_bytes_per_url / max(ours.file_bytes_per_url, 0.1), 1)
        fast = [pair for pair in both if pair[0].batch <= SMALL]
        small = {str(mine.batch): round(mine.urls_per_s / other.urls_per_s, 1) for mine, other in fast}
        found[f"small_batches_drum{key}"] = small
        found[f"small_batches_drum{key}_cpu"] = {
            str(mine.batch): round(mine.urls_per_cpu_s / other.urls_per_cpu_s, 1) for mine, other in fast
        }
        found[f"ratio_small_batch_drum{key}"] = min(small.values(), default=None)
        found[f"ratio_large_batch_drum{key}"] = round(ours.urls_per_s / drum.urls_per_s, 2)
    return found


def cycles(rows: Sequence[Row]) -> list[str]:
    """Time of one batch, as measured and on slower disks, and from which size on gregor takes less than DRUM."""
    text = []
    for suffix in ("", "+sync"):
        both = pairs(rows, f"gregor{suffix}", f"drum{suffix}")
        for batch in sorted({ours.batch for ours, _ in both}):
            same = sorted((pair for pair in both if pair[0].batch == batch), key=lambda pair: pair[0].stored)
            text += _cycle_table(suffix, batch, same)
    return text


def _cycle_table(suffix: str, batch: int, same: Sequence[tuple[Row, Row]]) -> list[str]:
    title = f"\nbatch of {batch:,} URLs{', synced' if suffix else ''}: seconds of gregor / DRUM"
    names = ["here", "processor", *(f"{disk} MB/s disk" for disk in DISKS)]
    text = [title, f"{'stored':>13}" + "".join(f"{name:>20}" for name in names)]
    columns: list[list[tuple[float, float]]] = [[] for _ in names]
    for ours, drum in same:
        times = [(ours.wall_s, drum.wall_s), (ours.cpu_s, drum.cpu_s)]
        times += [(ours.seconds_on_disk(disk * 1e6), drum.seconds_on_disk(disk * 1e6)) for disk in DISKS]
        for column, pair in zip(columns, times, strict=True):
            column.append(pair)
        text.append(f"{ours.stored:>13,}" + "".join(f"{f'{mine:.3f} / {other:.3f}':>20}" for mine, other in times))
    sizes = [ours.stored for ours, _ in same]
    points = [crossing(sizes, [pair[0] for pair in column], [pair[1] for pair in column]) for column in columns]
    text.append(f"{'gregor ahead':>13}" + "".join(f"{_from(point, sizes):>20}" for point in points))
    return text


def _from(point: float | None, sizes: Sequence[int]) -> str:
    if point is None:
        return f"not up to {max(sizes) / 1e6:g}M"
    return f"from {point / 1e6:.0f}M" if point else "everywhere"


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(float(part)) for part in text.split(","))


def plan(stored: Sequence[int], batches: Sequence[int], names: Sequence[str]) -> list[tuple[str, int, tuple[int, ...]]]:
    """What is measured: every engine at every size, the slow ones no further than they can go."""
    return [
        (name, size, tuple(sorted({min(batch, MOST_BATCH.get(name, batch)) for batch in batches})))
        for size in stored
        for name in names
        if size <= MOST_STORED.get(name, size)
    ]


QUICK: Final = [
    *plan((1_000_000,), (10_000, 100_000), ("gregor", "drum", "veuniq", "set")),
    *plan((200_000,), (10_000,), ("rocksdb", "berkeleydb", "postgres-batched")),
    *plan((200_000,), (1_000,), ("postgres-single",)),
    *plan((3_000_000,), (1_000, 10_000, 100_000, 1_000_000), ("gregor", "drum")),
]


def main() -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--stored", type=numbers, help="sizes of the store, as 20e6,100e6")
    parser.add_argument("--batch", type=numbers, help="sizes of batches, as 1e3,1e4,1e5,1e6")
    parser.add_argument("--beta", type=float, default=BETA, help="share of stray links")
    parser.add_argument("--engines", help="any of " + ", ".join(ENGINES))
    parser.add_argument("--folder", type=Path, help="where stores are made; default: the system's temporary folder")
    given = parser.parse_args()
    names = given.engines.split(",") if given.engines else list(ENGINES)
    unknown = [name for name in names if name not in ENGINES]
    if unknown:
        parser.error(f"no engine is named {unknown[0]}; there are {', '.join(ENGINES)}")
    work = plan(given.stored or (4_000_000, 20_000_000), given.batch or (1_000, 10_000, 100_000, 1_000_000), names)
    if given.quick and not (given.stored or given.batch or given.engines):
        work = QUICK
    if any(name == "berkeleydb" for name, _, _ in work):
        berkeleydb()
        print(report.machine("numpy", "rocksdict", "berkeleydb", "psycopg"))
    else:
        print(report.machine("numpy", "rocksdict"))
    print(HEAD)
    rows: list[Row] = []
    root = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        for name, size, batches in work:
            measured = measure_apart(name, size, batches, given.beta, root)
            print(*map(line, measured), sep="\n", flush=True)
            rows += measured
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(*cycles(rows), "", sep="\n")
    report.finish({"engines": [msgspec.to_builtins(row) for row in rows], **ratios(rows)}, given.json)


if __name__ == "__main__":
    run(main)
