"""The cost model of paper 004: what it computes beside what the paper prints."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from gregor.plan.fitting import by_least_squares, by_neighbours
from gregor.plan.paper import (
    DAY_S,
    MEASURED_SEVEN,
    PAPER,
    SINGLE_MACHINE,
    best_agents,
    most_agents,
    overhead,
    seconds,
    speed,
)

PAGES = 30e9
MILLIONS = 30_000
FIGURE_10 = {
    # m to: site URLs, site partition information, page URLs; setting up is 0.45 + 3.59 for each.
    1: (0.54, 4.72, 24.97),
    2: (0.88, 6.31, 30.47),
    4: (1.23, 7.74, 35.15),
    8: (1.59, 9.16, 40.06),
}


@pytest.mark.parametrize(
    ("agents", "unit_s", "computed", "printed"),
    [(31, DAY_S, 7.35, 7.4), (180, 3600, 55.90, 55.8), (7, DAY_S, 30.32, 29)],
)
def test_how_long_thirty_thousand_million_pages_take(agents: int, unit_s: int, computed: float, printed: float) -> None:
    found = seconds(PAGES, agents) / unit_s
    assert found == pytest.approx(computed, abs=0.005)
    assert found == pytest.approx(printed, rel=0.05)


def test_from_the_measured_speed_seven_agents_take_four_weeks() -> None:
    assert pytest.approx(28.34, abs=0.005) == PAGES / MEASURED_SEVEN / DAY_S


def test_the_fastest_number_of_agents_is_one_less_than_the_paper_reads_off_its_figure() -> None:
    best = best_agents(MILLIONS)
    assert best == 179
    assert best == max(range(1, 400), key=lambda agents: speed(agents, MILLIONS))
    assert speed(180, MILLIONS) == pytest.approx(speed(179, MILLIONS), rel=1e-4)


def test_a_line_of_ten_gigabits_feeds_31_agents_and_one_of_a_hundred_313() -> None:
    assert (most_agents(10_000), most_agents(100_000)) == (31, 313)


def test_seven_agents_are_seven_times_as_fast_as_one_less_the_overhead() -> None:
    """Figure 8: 12,252 pages a second, 6.91 times one agent, 6.87 times the single machine; one agent loses 0.58%."""
    assert speed(7, 1) == pytest.approx(MEASURED_SEVEN, rel=0.002)
    assert speed(7, 1) / speed(1, 1) == pytest.approx(6.91, abs=0.03)
    assert speed(7, 1) / SINGLE_MACHINE == pytest.approx(6.87, abs=0.03)
    assert 1 - speed(1, 1) / SINGLE_MACHINE == pytest.approx(0.0058, abs=0.0007)


@pytest.mark.parametrize(
    ("part", "coefficient"), [(0, PAPER.site_log), (1, PAPER.partition_log), (2, PAPER.exchange_log)]
)
def test_the_papers_coefficients_are_the_greatest_differences_of_figure_10(part: int, coefficient: float) -> None:
    logs = [math.log2(m) for m in FIGURE_10]
    values = [parts[part] for parts in FIGURE_10.values()]
    theirs, ours = by_neighbours(logs, values), by_least_squares(logs, values)
    assert theirs.slope == pytest.approx(coefficient, abs=0.005)
    assert theirs.at(0) == pytest.approx(values[0])
    assert ours.slope <= theirs.slope
    assert ours.worst < theirs.worst + 1e-9, "it is nearer to the points"


@pytest.mark.parametrize("m", FIGURE_10)
def test_the_model_is_never_more_hopeful_than_figure_10_and_less_by_little(m: int) -> None:
    """Its first terms are taken from one agent, where they are greatest."""
    printed = 0.45 + 3.59 + sum(FIGURE_10[m])
    model = overhead(7, m).total
    assert printed <= model <= printed + 6
    assert PAPER.setup == pytest.approx(0.45 + 3.59)


def test_more_agents_are_faster_until_the_overhead_takes_more_than_one_brings() -> None:
    rates = [speed(agents, MILLIONS) for agents in range(1, 400)]
    best = best_agents(MILLIONS) - 1
    assert all(one < more for one, more in pairwise(rates[: best + 1]))
    assert all(one > more for one, more in pairwise(rates[best:350]))
    assert speed(400, MILLIONS) == 0
    assert seconds(PAGES, 400) == math.inf


def test_a_line_needs_two_points() -> None:
    for fit in (by_neighbours, by_least_squares):
        with pytest.raises(ValueError, match="two different points"):
            fit([1, 1], [2, 3])
