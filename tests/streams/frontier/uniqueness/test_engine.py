"""Any sequence of batches, checkpoints, aborts and restarts agrees with a Python dictionary."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.frontier.storage.uniqueness.facts import Facts, UrlState
from tests.streams.frontier.uniqueness.partition import Partition, Row, found, restored

LAST = 2**64 - 1
SERVERS = [0, 1, 2, LAST, LAST - 1, 1 << 12, 1 << 20, 1 << 32, (7 << 44) | 1, 0x123456789ABCDEF0]
FINGERPRINTS = sorted({0, LAST, *(1 << n for n in range(0, 64, 3)), *(LAST - n for n in range(6)), *range(40)})
"""Those that differ in their low twenty bits alone make one key on one server, with different checks."""

rows = st.tuples(
    st.sampled_from(SERVERS),
    st.sampled_from(FINGERPRINTS),
    st.integers(0, 5),
    st.integers(0, 3),
    st.integers(0, 3),
)
urls = st.tuples(st.sampled_from(SERVERS), st.sampled_from(FINGERPRINTS))
steps = st.one_of(
    st.tuples(st.just("check"), st.lists(rows, max_size=60)),
    st.tuples(st.just("move"), st.tuples(st.lists(urls, max_size=20), st.sampled_from(list(UrlState)))),
    st.tuples(st.sampled_from(["commit", "commit", "abort", "restart"]), st.none()),
    st.tuples(st.just("resize"), st.sampled_from([0, 300, 1000, 1 << 20])),
)

Known = dict[tuple[int, int], tuple[int, int, int, int]]
"""URL to state, depth, priority, count."""


class Model:
    """What a dictionary says."""

    def __init__(self) -> None:
        self.durable: Known = {}
        self.pending: Known = {}

    def check(self, batch: list[Row]) -> list[bool]:
        new = []
        for server, fingerprint, depth, priority, count in batch:
            known = self.pending.get((server, fingerprint))
            new.append(known is None)
            if known is None:
                known = (UrlState.WAITING, depth, priority, max(count, 1) - 1)
            elif known[0] == UrlState.WAITING:
                known = (known[0], min(known[1], depth), min(known[2], priority), known[3] + max(count, 1))
            self.pending[server, fingerprint] = known
        return new

    def move(self, moved: list[tuple[int, int]], state: UrlState) -> list[bool]:
        for url in moved:
            if url in self.pending:
                self.pending[url] = (state, *self.pending[url][1:])
        return [url in self.pending for url in moved]

    def commit(self) -> None:
        self.durable = dict(self.pending)

    def abort(self) -> None:
        self.pending = dict(self.durable)


@contextmanager
def partition(cache_bytes: int = 4000, recent_entries: int = 20) -> Iterator[Partition]:
    with tempfile.TemporaryDirectory() as folder:
        opened = Partition(Path(folder) / "live", cache_bytes=cache_bytes, recent_entries=recent_entries)
        try:
            yield opened
        finally:
            opened.close()


def expect_same(live: Partition, model: Known) -> None:
    everything = [(server, fingerprint) for server in SERVERS for fingerprint in FINGERPRINTS]
    known, packed = live.engine.look_up(*(np.array(column, np.uint64) for column in zip(*everything, strict=True)))
    facts = Facts(packed)
    stored = {
        url: (int(facts.state[i]), int(facts.depth[i]), int(facts.priority[i]), int(facts.count[i]))
        for i, url in enumerate(everything)
        if known[i]
    }
    assert stored == {
        url: (state, depth, priority, min(count, 255)) for url, (state, depth, priority, count) in model.items()
    }


def play(live: Partition, model: Model, script: list[tuple[str, object]]) -> None:
    for step, argument in script:
        if step == "check":
            assert isinstance(argument, list)
            assert live.check(argument).new.tolist() == model.check(argument)
        elif step == "move":
            assert isinstance(argument, tuple)
            moved, state = argument
            columns = list(zip(*moved, strict=True)) or [(), ()]
            hashes, prints = (np.array(column, np.uint64) for column in columns)
            assert live.engine.move(hashes, prints, state).tolist() == model.move(moved, state)
        elif step == "commit":
            live.commit()
            model.commit()
        elif step == "resize":
            assert isinstance(argument, int)
            live.engine.cache_bytes = argument
        else:
            live.engine.aborted()
            model.abort()
            if step == "restart":
                live.restart()


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=25), st.sampled_from([0, 300, 1000, 1 << 20]), st.sampled_from([0, 20, 100, 10_000]))
def test_any_sequence_of_steps_agrees_with_a_dictionary(
    script: list[tuple[str, object]], cache_bytes: int, recent_entries: int
) -> None:
    with partition(cache_bytes, recent_entries) as live:
        model = Model()
        play(live, model, script)
        expect_same(live, model.pending)
        live.restart()
        expect_same(live, model.durable)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, min_size=5, max_size=40), st.sampled_from([0, 20, 100]))
def test_a_restore_from_the_truncated_log_is_the_live_state_byte_for_byte(
    script: list[tuple[str, object]], recent_entries: int
) -> None:
    with partition(recent_entries=recent_entries) as live:
        model = Model()
        play(live, model, script)
        live.engine.aborted()
        with tempfile.TemporaryDirectory() as folder:
            copy = restored(Path(folder) / "copy", live.truncated_log())
            try:
                assert copy.contents() == live.contents()
                expect_same(copy, model.durable)
            finally:
                copy.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_long_life_is_restored_from_every_truncation_byte_for_byte(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    live = Partition(tmp_path / "live")
    servers = random.integers(0, 2**64, 12, dtype=np.uint64)
    servers[6:] = (servers[6:] & ~np.uint64(0xFFF)) | np.uint64(0x2A)  # half of them in one repository
    truncations = set()
    admitted: list[tuple[int, int]] = []
    for step in range(60):
        size = int(random.integers(1, 40))
        hashes, prints = random.choice(servers, size), random.integers(0, 2**64, size, dtype=np.uint64)
        batch = list(zip(hashes.tolist(), prints.tolist(), strict=True))
        assert live.check([(h, f, 1, 0, 1) for h, f in batch]).new.all()
        admitted += batch
        live.commit()
        before = live.replica.truncate_before()
        if before is not None and before not in truncations:
            truncations.add(before)
            copy = restored(tmp_path / f"copy{step}", live.truncated_log())
            assert copy.contents() == live.contents()
            copy.close()
        if step % 10 == 9:
            everything = found([(h, f, 1, 0, 1) for h, f in admitted])
            known, _ = live.engine.look_up(everything.server_hashes, everything.fingerprints)
            assert known.all()
    assert len(truncations) >= 3
    assert live.engine.blocks > 4096 + 50
    live.close()


def test_a_url_admitted_by_one_batch_is_known_to_the_next_before_any_checkpoint() -> None:
    with partition() as live:
        assert live.check([(1, 1, 1, 0, 1)]).new.tolist() == [True]
        assert live.check([(1, 1, 1, 0, 1), (1, 2, 1, 0, 1)]).new.tolist() == [False, True]
        live.engine.aborted()
        assert live.check([(1, 1, 1, 0, 1)]).new.tolist() == [True]


def test_the_first_of_equal_urls_in_a_batch_is_the_new_one() -> None:
    with partition() as live:
        assert live.check([(9, 9, 3, 2, 1)] * 5).new.tolist() == [True, False, False, False, False]


def test_an_empty_batch_has_no_outcome_and_logs_nothing() -> None:
    with partition() as live:
        assert live.check([]).new.tolist() == []
        assert live.engine.deltas() == []
        live.commit()


def test_a_smaller_depth_improves_a_url_that_waits_and_no_other() -> None:
    with partition() as live:
        live.check([(1, 1, 5, 3, 1), (1, 2, 5, 3, 1)])
        live.commit()
        live.engine.move(np.array([1], np.uint64), np.array([2], np.uint64), UrlState.FETCHED)
        checked = live.check([(1, 2, 1, 0, 1), (1, 1, 4, 3, 1)])
        assert checked.improved.tolist() == [1]


def test_a_hundred_thousand_links_of_one_server_are_each_new_once(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live")
    prints = np.random.default_rng(3).permutation(100_000).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    batch = [(77, int(f), 1, 0, 1) for f in prints]
    assert live.check(batch).new.all()
    live.commit()
    assert not live.check(batch).new.any()
    live.close()


def test_thousands_of_colliding_keys_are_all_kept_apart(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live")
    batch = [(5, low, 1, 0, 1) for low in range(3000)]
    assert live.check(batch).new.all()
    live.commit()
    live.check([(5, 1 << 40, 1, 0, 1), (5, 1 << 50, 1, 0, 1)])
    live.commit()
    assert not live.check(batch).new.any()
    assert live.check([(5, low, 1, 0, 1) for low in range(2990, 3010)]).new.tolist() == [False] * 10 + [True] * 10
    live.close()


def test_repetitions_in_units_are_right_on_average(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live", count_unit=8)
    urls = found([(3, fingerprint << 20, 1, 0, 1) for fingerprint in range(5000)])
    for salt in range(41):
        live.engine.check(urls, salt)
    _, packed = live.engine.look_up(urls.server_hashes, urls.fingerprints)
    counted = Facts(packed).count.astype(int) * 8
    assert abs(counted.mean() - 40) < 0.5
    assert counted.min() < 40 < counted.max()
    live.close()


def test_a_large_server_is_folded_in_parts_and_restored_byte_for_byte(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live", cache_bytes=1 << 20, recent_entries=1 << 20)
    prints = np.random.default_rng(4).integers(0, 2**64, 110_000, dtype=np.uint64)
    for part in (prints[:70_000], prints[70_000:]):
        assert live.check([(77, int(f), 1, 0, 1) for f in part]).new.all()
        live.commit()
    assert live.engine.blocks > 4096 + 10_000
    assert 10_000 < live.engine.recent < 35_000
    copy = restored(tmp_path / "copy", live.truncated_log())
    assert copy.contents() == live.contents()
    for one in (live, copy):
        assert not one.check([(77, int(f), 1, 0, 1) for f in prints]).new.any()
        one.close()


def test_a_region_of_many_small_checkpoints_is_folded_before_its_runs_outgrow_a_piece(tmp_path: Path) -> None:
    live = Partition(tmp_path / "live", recent_entries=1 << 20)
    for fingerprint in range(50):
        live.check([(77, fingerprint << 20, 1, 0, 1)])
        live.commit()
    assert (live.engine.recent, live.engine.blocks) == (50, 4096)
    live.restart()
    assert live.engine.recent == 50
    live.check([(77, fingerprint << 20, 1, 0, 1) for fingerprint in range(50, 33_000)])
    live.commit()
    assert live.engine.recent == 0
    assert live.contents()["runs"] == {}
    live.close()
