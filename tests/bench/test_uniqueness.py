"""What the uniqueness benchmark makes of its measurements."""

import os
from pathlib import Path

import pytest

from bench.engines.catalogue import ENGINES, KEEP_TEXT, MOST_BATCH, MOST_STORED
from bench.measure import Row, measure_apart
from bench.uniqueness import crossing, cycles, plan, ratios


def row(engine: str, stored: int, batch: int, urls_per_s: int, each: float) -> Row:
    return Row(engine, stored, batch, urls_per_s, urls_per_s, each, each, each, each, 1, 1)


def test_the_crossing_lies_where_the_lines_meet() -> None:
    assert crossing([10, 20, 100], [1, 1, 1], [0.5, 0.8, 2.4]) == pytest.approx(30)
    assert crossing([10, 20], [1, 1], [2, 3]) == 0
    assert crossing([10, 20], [1, 1], [0.2, 0.9]) is None
    assert crossing([], [], []) is None


def test_a_lead_that_is_lost_again_does_not_count_as_crossing() -> None:
    assert crossing([10, 20, 30], [1, 1, 1], [2, 0.5, 1.5]) == pytest.approx(25)


def test_ratios_are_taken_at_the_largest_common_size_and_the_worst_small_batch() -> None:
    rows = [
        row("gregor", 1_000, 1_000, 10, 1),
        row("drum", 1_000, 1_000, 100, 1),
        row("gregor", 9_000, 1_000, 500, 9),
        row("drum", 9_000, 1_000, 10, 900),
        row("gregor", 9_000, 100_000, 600, 10),
        row("drum", 9_000, 100_000, 50, 50),
        row("gregor", 9_000, 1_000_000, 900, 10),
        row("drum", 9_000, 1_000_000, 1_000, 33),
        row("gregor", 99_000, 1_000, 1, 1),
    ]
    found = ratios(rows)
    assert found["ratio_stored"] == 9_000
    assert found["ratio_bytes_drum"] == 3.3
    assert found["small_batches_drum"] == {"1000": 50.0, "100000": 12.0}
    assert found["ratio_small_batch_drum"] == 12.0
    assert found["ratio_large_batch_drum"] == 0.9
    assert any("everywhere" in text for text in cycles(rows))


def test_a_slower_disk_adds_the_time_of_its_bytes() -> None:
    one = row("drum", 9_000, 1_000, 1_000, 50_000)
    assert one.seconds_on_disk(100e6) == pytest.approx(1.0 + 1.0)


def test_slow_engines_are_taken_only_as_far_as_they_can_go() -> None:
    work = plan((1_000_000, 50_000_000), (1_000, 1_000_000), list(ENGINES))
    assert ("gregor", 50_000_000, (1_000, 1_000_000)) in work
    assert ("postgres-single", 1_000_000, (1_000, 10_000)) in work
    assert not [name for name, size, _ in work if size > MOST_STORED.get(name, size)]
    assert set(KEEP_TEXT) | set(MOST_BATCH) | set(MOST_STORED) <= set(ENGINES)


@pytest.mark.parametrize("name", ["gregor", "gregor+sync", "drum+sync", "veuniq"])
def test_an_engine_is_measured_in_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    rows = measure_apart(name, 200_000, (500, 2_000), 0.25, tmp_path)
    assert [(found.engine, found.stored, found.batch) for found in rows] == [
        (name, 200_000, 500),
        (name, 200_000, 2_000),
    ]
    assert all(found.urls_per_s > 0 and found.written_bytes_per_url > 0 and found.rss_mb > 0 for found in rows)
    assert not os.listdir(tmp_path)
