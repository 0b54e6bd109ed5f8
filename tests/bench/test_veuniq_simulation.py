"""The simulation of paper 000: engines move the bytes that the models say."""

from pathlib import Path

import pytest

from bench.veuniq_simulation import Setting, draw, model_bytes, settings, simulate, summary

SIZE, CYCLE, BETA = 400_000, 20_000, 0.25


@pytest.mark.parametrize("name", ["drum", "veuniq-text"])
def test_bytes_of_a_cycle_are_those_of_the_cost_model(name: str, tmp_path: Path) -> None:
    setting = Setting(name, SIZE, CYCLE, repositories=1)
    row = simulate([setting], str(tmp_path), BETA if name == "drum" else 0.0)[0]
    assert row.bytes_per_url == pytest.approx(model_bytes(setting, 0.0), rel=0.05)


def test_gregor_moves_fewer_bytes_than_drum(tmp_path: Path) -> None:
    rows = {}
    for name in ("gregor", "drum", "veuniq"):
        rows[Setting(name, SIZE, CYCLE)] = simulate([Setting(name, SIZE, CYCLE)], str(tmp_path / name), BETA)[0]
    figures = summary([SIZE], rows)
    assert isinstance(figures["ratio_bytes_drum_gregor"], float)
    assert figures["ratio_bytes_drum_gregor"] > 3.3
    assert isinstance(figures["ratio_bytes_drum_veuniq"], float)
    assert figures["ratio_bytes_drum_veuniq"] > 3.3
    draw(tmp_path / "plots", rows)
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        "veuniq-bytes.svg",
        "veuniq-disk.svg",
        "veuniq-time.svg",
    }


def test_texts_are_not_kept_for_stores_that_would_fill_the_disk() -> None:
    tables = settings((1_000_000, 100_000_000), quick=False)
    assert not [
        one for table in tables.values() for one in table if one.engine == "veuniq-text" and one.stored > 20_000_000
    ]
    assert {one.stored for one in tables["the store grows (Table 3)"]} == {1_000_000, 100_000_000}
