"""The cost models of paper 000 say what the paper printed, and their closed forms what their sums say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.veuniq_model import (
    GIB,
    MEMORIES,
    PRINTED_BUCKETS,
    PRINTED_DISKS,
    PRINTED_REPOSITORIES,
    SIZES,
    TABLE_COSTS,
    Costs,
    drum_buckets,
    drum_bytes,
    drum_bytes_step_by_step,
    drum_disk,
    drum_overhead,
    repositories_of_table,
    table2,
    veuniq_bytes_step_by_step,
    veuniq_overhead,
)


def equal_cells(method: str, beta: float) -> int:
    return sum(cell.agrees for cell in table2(beta) if cell.method == method)


def test_all_cells_of_veuniq_are_reproduced() -> None:
    assert equal_cells("VEUNIQ", 0.3002) == 20


def test_a_beta_of_30_percent_differs_in_two_cells_by_rounding_and_one_of_20_percent_in_all() -> None:
    assert equal_cells("VEUNIQ", 0.30) == 18
    assert equal_cells("VEUNIQ", 0.2) == 0


def test_all_cells_of_drum_but_one_are_reproduced() -> None:
    different = [cell for cell in table2() if cell.method == "DRUM" and not cell.agrees]
    assert [(cell.n, cell.memory, cell.printed) for cell in different] == [(3000, 8, 2.27)]
    assert different[0].computed == pytest.approx(2.2647, abs=5e-5)


def test_disks_buckets_and_repositories_are_those_of_the_table() -> None:
    assert [round(drum_disk(TABLE_COSTS, memory * GIB) / 1e12) for memory in MEMORIES] == list(PRINTED_DISKS)
    assert [int(drum_buckets(TABLE_COSTS, memory * GIB)) for memory in MEMORIES] == list(PRINTED_BUCKETS)
    assert repositories_of_table(TABLE_COSTS, 2 * GIB, SIZES) == list(PRINTED_REPOSITORIES)


def test_the_fair_ratio_of_the_table_is_three_and_a_third() -> None:
    drum = drum_overhead(TABLE_COSTS, 3e9, 2 * GIB, drum_disk(TABLE_COSTS, 2 * GIB))
    veuniq = veuniq_overhead(TABLE_COSTS, 3e9, 2 * GIB, PRINTED_REPOSITORIES[1], 0.3002)
    assert drum / veuniq == pytest.approx(3.3, abs=0.05)


COSTS = st.builds(
    Costs,
    unique=st.floats(0.01, 0.9),
    stored=st.floats(1e3, 1e9),
    url=st.floats(20, 200),
    pointer=st.sampled_from([4, 8]),
    hash=st.sampled_from([8, 12, 16]),
)


@given(COSTS, st.integers(1, 200), st.floats(1e5, 1e9))
def test_equation_1_is_the_sum_of_its_merges(costs: Costs, merges: int, buckets: float) -> None:
    n = merges * buckets / costs.hash
    assert drum_bytes(costs, n, buckets) == pytest.approx(drum_bytes_step_by_step(costs, n, buckets))


@given(COSTS, st.integers(1, 200), st.floats(1e6, 1e10))
def test_equation_2_is_equation_1_with_the_best_buckets(costs: Costs, merges: int, memory: float) -> None:
    disk = drum_disk(costs, memory)
    buckets = disk * costs.hash / (costs.hash + costs.url)
    n = merges * buckets / costs.hash
    assert drum_overhead(costs, n, memory, disk) == pytest.approx(drum_bytes(costs, n, buckets) / (n * costs.url))
    assert drum_overhead(costs, n, memory, 2 * disk) == pytest.approx(drum_overhead(costs, n, memory, disk))
    assert drum_overhead(costs, n, memory, disk / 2) > drum_overhead(costs, n, memory, disk)


@given(COSTS, st.integers(1, 100), st.integers(1, 5_000), st.floats(1e6, 1e9), st.floats(0, 1))
def test_equation_3_is_the_sum_of_its_cycles(
    costs: Costs, cycles: int, repositories: int, memory: float, beta: float
) -> None:
    n = cycles * repositories * memory / (costs.url + costs.pointer)
    closed = veuniq_overhead(costs, n, memory, repositories, beta) * n * costs.url
    assert closed == pytest.approx(veuniq_bytes_step_by_step(costs, n, memory, repositories, beta))
