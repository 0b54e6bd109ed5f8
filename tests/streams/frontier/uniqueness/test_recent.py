"""Which of the waiting entries a checkpoint folds into their blocks."""

from pathlib import Path

import numpy as np

from streams.frontier.storage.uniqueness.deltas import Ranges, unpack_entries
from streams.frontier.storage.uniqueness.keys import regions_of
from tests.streams.frontier.uniqueness.partition import Partition, Row


def rows(random: np.random.Generator, region: int, count: int) -> list[Row]:
    """URLs of as many servers, all in one region."""
    repositories = (region << 4) + random.integers(0, 16, count)
    hashes = (random.integers(0, 2**51, count) << 12) | repositories
    return [(int(server), int(random.integers(0, 2**63)), 1, 0, 1) for server in hashes]


def folded_by(live: Partition) -> Ranges:
    return unpack_entries([mutation.delta for mutation in live.engine.deltas()]).ranges


def test_nothing_is_folded_before_the_budget_is_reached(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live", recent_entries=1000)
    live.check([row for region in range(256) for row in rows(np.random.default_rng(1), region, 3)])
    assert len(folded_by(live)) == 0
    live.close()


def test_the_densest_stretch_of_regions_is_folded_before_denser_regions_that_lie_apart(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    live = Partition(tmp_path / "live", recent_entries=880)
    dense = {100: 40, 101: 40, 7: 45, 200: 45}
    live.check([row for region in range(256) for row in rows(random, region, dense.get(region, 3))])
    ranges = folded_by(live)
    assert regions_of(ranges.lows).tolist() == [100, 101]
    assert (ranges.highs[:-1] + np.uint64(1) == ranges.lows[1:]).all()
    live.close()


def test_as_much_is_folded_as_keeps_the_budget_with_room_for_more(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    live = Partition(tmp_path / "live", recent_entries=1000)
    for _ in range(12):
        live.check([row for region in range(256) for row in rows(random, region, 1)])
        live.commit()
        assert live.engine.recent <= 1000
    assert live.engine.recent > 700
    live.close()
