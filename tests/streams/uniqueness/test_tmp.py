"""Stray links wait, are durable while they wait, and never wait too long."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.frontier.uniqueness.state import FAMILIES, TMP
from streams.frontier.uniqueness.tmp import Counts, StrayOptions, Strays
from tests.streams.uniqueness.partition import Partition

NUMBER = FAMILIES.index(TMP)
NONE: Counts = np.zeros(4096, np.int64)
BLOCKS: Counts = np.full(4096, 10, np.int64)


def strays(partition: Partition, worth: float = 1.0, max_age_ms: int = 3000) -> Strays:
    return Strays(partition.state, StrayOptions(worth, max_age_ms), NUMBER)


def arriving(**urls: int) -> Counts:
    counts = NONE.copy()
    for name, number in urls.items():
        counts[int(name[1:])] = number
    return counts


def test_few_links_of_a_repository_wait_and_many_do_not(tmp_path: Path) -> None:
    partition = Partition(tmp_path)
    waiting = strays(partition)
    assert np.flatnonzero(waiting.due(arriving(r3=9, r4=10), BLOCKS, now_ms=0)).tolist() == [4]
    partition.close()


def test_links_that_wait_count_with_those_that_arrive(tmp_path: Path) -> None:
    partition = Partition(tmp_path)
    waiting = strays(partition)
    waiting.put(3, 6, b"six", now_ms=0)
    assert not waiting.due(arriving(r3=3), BLOCKS, now_ms=1).any()
    assert np.flatnonzero(waiting.due(arriving(r3=4), BLOCKS, now_ms=1)).tolist() == [3]
    partition.close()


def test_no_link_waits_longer_than_its_age_allows(tmp_path: Path) -> None:
    partition = Partition(tmp_path)
    waiting = strays(partition, max_age_ms=3000)
    waiting.put(3, 1, b"old", now_ms=1000)
    waiting.put(3, 1, b"younger", now_ms=2500)
    waiting.put(5, 1, b"young", now_ms=2000)
    assert not waiting.due(NONE, BLOCKS, now_ms=3999).any()
    assert np.flatnonzero(waiting.due(NONE, BLOCKS, now_ms=4000)).tolist() == [3]
    assert waiting.take([3]) == [b"old", b"younger"]
    assert waiting.urls == 1
    partition.close()


def test_nothing_waits_when_the_input_is_idle(tmp_path: Path) -> None:
    partition = Partition(tmp_path)
    waiting = strays(partition)
    waiting.put(0, 1, b"a", now_ms=0)
    waiting.put(4095, 1, b"b", now_ms=0)
    due = np.flatnonzero(waiting.due(NONE, BLOCKS, now_ms=0, idle=True)).tolist()
    assert due == [0, 4095]
    assert waiting.take(due) == [b"a", b"b"]
    assert not waiting.due(NONE, BLOCKS, now_ms=10**9, idle=True).any()
    partition.close()


def test_what_is_put_and_taken_between_two_checkpoints_is_not_logged(tmp_path: Path) -> None:
    partition = Partition(tmp_path)
    waiting = strays(partition)
    waiting.put(7, 1, b"short", now_ms=0)
    waiting.take([7])
    assert waiting.deltas() == []
    partition.close()


steps = st.one_of(
    st.tuples(st.just("put"), st.tuples(st.integers(0, 3), st.binary(max_size=5))),
    st.tuples(st.just("take"), st.lists(st.integers(0, 3), unique=True, max_size=3)),
    st.tuples(st.sampled_from(["commit", "abort", "restart"]), st.none()),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, max_size=30))
def test_what_waits_agrees_with_a_list_through_commits_aborts_and_restarts(script: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        partition = Partition(Path(folder))
        waiting = strays(partition)
        durable: list[tuple[int, bytes]] = []
        pending: list[tuple[int, bytes]] = []
        for step, argument in script:
            if step == "put":
                assert isinstance(argument, tuple)
                repository, bundle = argument
                waiting.put(repository, 1, bundle, now_ms=0)
                pending.append((repository, bundle))
            elif step == "take":
                assert isinstance(argument, list)
                expected = [bundle for wanted in argument for repository, bundle in pending if repository == wanted]
                assert waiting.take(argument) == expected
                pending = [entry for entry in pending if entry[0] not in argument]
            elif step == "commit":
                partition.commit(waiting.deltas())
                waiting.committed()
                durable = list(pending)
            else:
                waiting.aborted()
                pending = list(durable)
                if step == "restart":
                    partition.restart()
                    waiting = strays(partition)
            assert waiting.urls == len(pending)
        partition.close()
