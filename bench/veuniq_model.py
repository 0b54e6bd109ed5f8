"""The cost models of paper 000 (equations 1 to 3) and its Table 2, beside what the paper printed.

Run: python bench/veuniq_model.py [--beta 0.3002] [--quick] [--json]

A cell is the overhead alpha: how many times the bytes of all n URLs are read or written. The units that reproduce the printed table:
R in 2^30 bytes, n in 10^9 URLs, D = R^2 (H + b) / (8 M (H + P)) in 10^12 bytes, k = R / (4 M). The number of repositories starts at the k
of its column and grows from n = 3 on by N_j = N_(j-1) (1 + ln(n_j / 3)). The text's beta of "about 20%" reproduces no cell of VEUNIQ;
0.3002 reproduces all.
"""

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from bench.report import finish, parser

GIB: Final = 2**30
BETA_OF_TABLE: Final = 0.3002


class Costs(Struct, frozen=True, kw_only=True):
    """What both models assume of URLs and memory, in bytes; the defaults are those of Table 2."""

    unique: float = 1 / 9
    """p: the probability that a link is new."""
    stored: float = 1e9
    """U: URLs on disk at the start."""
    url: float = 110
    """b"""
    pointer: float = 4
    """P"""
    hash: float = 8
    """H"""
    buffer: float = 256_000
    """M: for each open file of DRUM."""


TABLE_COSTS: Final = Costs()


def drum_bytes(costs: Costs, n: float, disk_buckets: float) -> float:
    """Equation 1: bytes that DRUM moves for n URLs when all its KV-buckets together hold ``disk_buckets`` = k r bytes."""
    u, h, b, p = costs.stored, costs.hash, costs.url, costs.unique
    return n * b * ((2 * u * h + p * h * n) * h / (b * disk_buckets) + 2 + p + 2 * h / b)


def drum_bytes_step_by_step(costs: Costs, n: float, disk_buckets: float) -> float:
    """The sum that equation 1 solves: merge after merge."""
    u, h, b, p, kr = costs.stored, costs.hash, costs.url, costs.unique, disk_buckets
    merges = round(n * h / kr)
    each = (2 * u * h + 2 * kr * b / h + 2 * kr + 2 * kr * p * i - kr * p for i in range(1, merges + 1))
    return p * b * n + sum(each)


def drum_disk(costs: Costs, memory: float) -> float:
    """D, the disk space for buckets beyond which more is of no use."""
    return memory**2 * (costs.hash + costs.url) / (8 * costs.buffer * (costs.hash + costs.pointer))


def drum_buckets(costs: Costs, memory: float) -> float:
    """k"""
    return memory / (4 * costs.buffer)


def drum_overhead(costs: Costs, n: float, memory: float, disk: float) -> float:
    """Equation 2: alpha of DRUM, limited by memory or by disk."""
    h, b, m = costs.hash, costs.url, costs.buffer
    work = 2 * costs.stored * h + costs.unique * h * n
    fixed = 2 + costs.unique + 2 * h / b
    if memory**2 < 8 * m * disk * (h + costs.pointer) / (h + b):
        return 8 * m * (h + costs.pointer) * work / (b * memory**2) + fixed
    return (h + b) * work / (b * disk) + fixed


def veuniq_overhead(costs: Costs, n: float, memory: float, repositories: float, beta: float) -> float:
    """Equation 3: alpha of VEUNIQ."""
    b, pointer = costs.url, costs.pointer
    merged = b * n * costs.unique + n * costs.unique * pointer + 2 * b * costs.stored
    return (b + pointer) * (merged + 2 * repositories * memory * beta) / (b * repositories * memory)


def veuniq_bytes_step_by_step(costs: Costs, n: float, memory: float, repositories: int, beta: float) -> float:
    """The sum that equation 3 solves: cycle after cycle of every repository."""
    p, cycles = costs.unique, round(n / repositories * (costs.url + costs.pointer) / memory)
    held = costs.stored / repositories * costs.url
    each = (p * memory + 2 * (held + (c - 1) * p * memory) + 2 * beta * memory for c in range(1, cycles + 1))
    return repositories * sum(each)


def repositories_of_table(costs: Costs, memory: float, sizes: Sequence[float]) -> list[int]:
    """The column N of Table 2 for URLs in 10^9."""
    counts: list[float] = []
    for n in sizes:
        counts.append(drum_buckets(costs, memory) if n <= 3 else counts[-1] * (1 + math.log(n / 3)))
    return [round(count) for count in counts]


SIZES: Final = (0.3, 3, 30, 300, 3000)
"""n in 10^9 URLs."""
MEMORIES: Final = (2, 4, 8, 16)
"""R in GiB."""
PRINTED_DISKS: Final = (22, 89, 354, 1417)
"""D in 10^12 bytes."""
PRINTED_BUCKETS: Final = (2097, 4194, 8388, 16777)
PRINTED_REPOSITORIES: Final = (2097, 2097, 6926, 38822, 306991)
PRINTED_DRUM: Final = (
    (2.26, 2.26, 2.26, 2.26),
    (2.26, 2.26, 2.26, 2.26),
    (2.26, 2.26, 2.26, 2.26),
    (2.27, 2.26, 2.26, 2.26),
    (2.39, 2.29, 2.27, 2.26),
)
PRINTED_VEUNIQ: Final = (
    (0.67, 0.64, 0.63, 0.62),
    (0.68, 0.64, 0.63, 0.62),
    (0.66, 0.63, 0.62, 0.62),
    (0.67, 0.63, 0.63, 0.62),
    (0.68, 0.64, 0.63, 0.62),
)


class Cell(Struct, frozen=True):
    """One cell of Table 2."""

    method: str
    n: float
    memory: int
    printed: float
    computed: float

    @property
    def agrees(self) -> bool:
        return round(self.computed, 2) == self.printed


def table2(beta: float = BETA_OF_TABLE, costs: Costs = TABLE_COSTS) -> list[Cell]:
    """All forty cells, computed and as printed."""
    cells = []
    for column, memory in enumerate(MEMORIES):
        size = memory * GIB
        counts = repositories_of_table(costs, size, SIZES)
        for row, n in enumerate(SIZES):
            drum = drum_overhead(costs, n * 1e9, size, drum_disk(costs, size))
            veuniq = veuniq_overhead(costs, n * 1e9, size, counts[row], beta)
            cells.append(Cell("DRUM", n, memory, PRINTED_DRUM[row][column], drum))
            cells.append(Cell("VEUNIQ", n, memory, PRINTED_VEUNIQ[row][column], veuniq))
    return cells


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument(
        "--beta", type=float, default=BETA_OF_TABLE, help="share of links out of the current repository"
    )
    chosen = options.parse_args(arguments)
    cells = table2(chosen.beta)
    for column, memory in enumerate(MEMORIES):
        disk = drum_disk(TABLE_COSTS, memory * GIB) / 1e12
        print(
            f"R = {memory:2} GiB: D = {disk:7.1f} TB (printed {PRINTED_DISKS[column]:,}), "
            f"k = {drum_buckets(TABLE_COSTS, memory * GIB):8,.1f} (printed {PRINTED_BUCKETS[column]:,})"
        )
    counts = repositories_of_table(TABLE_COSTS, 2 * GIB, SIZES)
    print(
        "N for R = 2 GiB: "
        + ", ".join(f"{ours:,} ({paper:,})" for ours, paper in zip(counts, PRINTED_REPOSITORIES, strict=True))
    )
    for method in ("DRUM", "VEUNIQ"):
        print(f"\n{method}, alpha computed / printed" + (f", beta = {chosen.beta}" if method == "VEUNIQ" else ""))
        print(f"{'n (1e9)':>8}" + "".join(f"{f'R = {memory}':>20}" for memory in MEMORIES))
        for n in SIZES:
            row = [cell for cell in cells if cell.method == method and cell.n == n]
            marked = (f"{cell.computed:.4f} / {cell.printed}{'' if cell.agrees else ' *'}" for cell in row)
            print(f"{n:>8}" + "".join(f"{text:>20}" for text in marked))
    print("\n* differs from the printed cell")
    figures = {
        "drum_cells_equal": sum(cell.agrees for cell in cells if cell.method == "DRUM"),
        "veuniq_cells_equal": sum(cell.agrees for cell in cells if cell.method == "VEUNIQ"),
        "cells_each": len(cells) // 2,
        "beta": chosen.beta,
    }
    finish(figures, chosen.json)


if __name__ == "__main__":
    main()
