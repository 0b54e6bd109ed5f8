"""The scaling benchmark: its window is that in which all fetchers worked, and its figures are the ratios that it says."""

import pytest

from bench.scaled.run import Fetch, Mode, ScalingRun, window
from bench.scaling import figures_of, main, model_of


def worked(worker: str, begin: int, end: int) -> list[Fetch]:
    return [Fetch(worker, 0, float(second)) for second in range(begin, end + 1)]


def test_the_window_is_when_every_fetcher_was_at_work_without_ramp_and_tail() -> None:
    assert window(worked("a", 0, 100) + worked("b", 50, 150)) == (60, 90)
    assert window(worked("a", 0, 100)) == (10, 90)


def test_fetchers_that_were_never_at_work_together_are_no_measurement() -> None:
    with pytest.raises(SystemExit, match="ask for more --pages"):
        window(worked("a", 0, 10) + worked("b", 20, 30))


def run(mode: Mode, agents: int, rate: float, throttled: bool = True) -> ScalingRun:
    return ScalingRun(
        mode=mode, agents=agents, pages=1000, throttled=throttled, pages_per_s=rate, window_s=10.0, window_pages=100,
        cpu_share=0.5, cpu_ms={"fetcher": 0.3}, bytes_a_page={"pages": 12_000.0}, commits_per_s=10.0, partitions_of=(64,), covered=1.0,
    )  # fmt: skip


def test_figures_are_ratios_against_one_agent_and_the_other_modes() -> None:
    runs = [run("hash", 1, 84.0), run("full", 1, 83.5), run("full", 7, 570.0), run("two-level", 7, 575.0)]
    runs += [run("full", 1, 200.0, throttled=False), run("full", 7, 400.0, throttled=False)]
    figures = figures_of(runs, held_out=0)
    assert figures["speedup_of_7"] == round(570 / 83.5, 3)
    assert figures["speedup_unthrottled_of_7"] == 2.0
    assert figures["one_agent_loss"] == round(1 - 83.5 / 84, 4)
    assert figures["coverage_overhead"] == round(1 - 570 / 575, 4)
    assert figures["overheads"]["full-7-1000"]["bytes"]["pages"] == 12_000


def test_a_model_that_is_true_finds_what_was_held_out() -> None:
    """An agent loses 2 pages a second for each other one."""
    rates = {n: n * (84.0 - 2.0 * (n - 1)) for n in (1, 2, 3, 4, 5, 7)}
    model = model_of(rates, held_out=4)
    assert model["least_squares"]["slope"] == pytest.approx(2.0)
    assert model["neighbours"]["slope"] == pytest.approx(2.0)
    assert model["model_error_held_out"] == pytest.approx(0.0, abs=1e-6)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(SystemExit, match="expected modes of hash, full, two-level"):
        main(["--modes", "none"])
