"""VEUNIQ as a baseline: whatever waits, everything is admitted once and nothing is lost."""

from pathlib import Path

import numpy as np
import pytest

from bench.engines.files import url_hashes
from bench.engines.interface import Urls
from bench.engines.text import texts_of
from bench.engines.veuniq import Records, Veuniq
from bench.workload import Web


def keys_of(batch: Urls, records: Records) -> np.ndarray:
    return texts_of(batch) if records == "text" else url_hashes(batch.server_hashes, batch.fingerprints)


def settle(engine: Veuniq) -> list[object]:
    """One round of cycles without input, which brings every repository's turn."""
    late: list[object] = []
    nothing = Urls(np.empty(0, np.uint64), np.empty(0, np.uint64))
    for _ in range(engine.repositories):
        engine.check(nothing)
        late += engine.late.tolist()
        engine.checkpoint()
    return late


@pytest.mark.parametrize("records", ["hash", "text"])
@pytest.mark.parametrize("repositories", [1, 4, 16])
def test_every_url_is_admitted_exactly_once(tmp_path: Path, records: Records, repositories: int) -> None:
    engine = Veuniq(repositories, records)
    engine.open(tmp_path)
    web = Web(200_000, seed=3)
    found: set[object] = set()
    admitted: list[object] = []
    for turn in range(2 * repositories + 3):
        batch = web.cycle(3_000, turn % repositories, repositories)
        keys = keys_of(batch, records)
        found.update(keys.tolist())
        admitted += keys[engine.cycle(batch, 300)].tolist()
        admitted += engine.late.tolist()
        engine.checkpoint()
    admitted += settle(engine)
    assert engine.waiting() == 0
    assert len(admitted) == len(set(admitted))
    assert set(admitted) == found


def test_what_was_loaded_is_known_and_crawled_urls_are_marked(tmp_path: Path) -> None:
    engine = Veuniq(8)
    engine.open(tmp_path)
    web = Web(20_000, seed=5, p_new=0.0)
    engine.load(web.fill(7_000))
    for turn in range(16):
        batch = web.cycle(1_000, turn % 8, 8)
        assert not engine.cycle(batch, 100).any()
        assert not len(engine.late)
        engine.checkpoint()
    records = np.concatenate([np.fromfile(tmp_path / f"R{i}.records", np.uint64) for i in range(8)])
    crawled = np.concatenate([np.fromfile(tmp_path / f"R{i}.crawled", np.uint8) for i in range(8)])
    assert len(records) == len(crawled) == 20_000
    again = Web(20_000, seed=5, p_new=0.0)
    expected = [again.cycle(1_000, turn % 8, 8) for turn in range(16)]
    fetched = np.unique(np.concatenate([keys_of(batch, "hash")[:100] for batch in expected]))
    assert np.array_equal(np.sort(records[crawled == 1]), fetched)


def test_stray_urls_wait_for_the_turn_of_their_repository(tmp_path: Path) -> None:
    engine = Veuniq(4)
    engine.open(tmp_path)
    web = Web(8_000, beta=0.5, seed=2)
    batch = web.cycle(2_000, 0, 4)
    mask = engine.check(batch)
    other = (batch.server_hashes & np.uint64(0xFFF)) >= 1024
    assert not mask[other].any()
    assert engine.waiting() == np.count_nonzero(other) > 0


def test_a_crawled_url_of_another_repository_is_refused(tmp_path: Path) -> None:
    engine = Veuniq(4)
    engine.open(tmp_path)
    with pytest.raises(ValueError, match="crawled URLs of repository 0 only"):
        engine.cycle(Web(8_000, seed=2).cycle(100, 3, 4), 10)
