"""What a recorder makes of what a loop tells it."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from gregor.runtime.loops.decode import dead_letter
from gregor.runtime.loops.observer import LoopSnapshot
from gregor.runtime.metrics.events import Events
from gregor.runtime.metrics.metric_defs import (
    CHECKPOINT_RECORDS,
    CHECKPOINTS_FAILED,
    DEAD_LETTERS,
    OUTPUTS,
    PARTITIONS,
    REBALANCES,
    RECORDS,
    REFUSALS,
    RESTORE_DONE,
    RESTORE_TOTAL,
    URLS,
)
from gregor.runtime.metrics.metric_values import NO_LABELS, Spread
from gregor.runtime.metrics.recorder import Recorder
from gregor.runtime.transport.port import (
    Assignment,
    CheckpointInfo,
    Commit,
    Output,
    Position,
    Record,
    Restoring,
    TopicPartition,
)
from streams.frontier.metrics import FRONTIER_DUE, FRONTIER_EVENTS, FRONTIER_URLS, FrontierCounters

NOW = LoopSnapshot(owned=[0], restoring={}, held=False, figures={})


def record(offset: int) -> Record:
    return Record("discovered", 0, offset, b"k", b"v", None, 0)


def commit(offset: int, outputs: int = 0, counters: Mapping[int, Mapping[str, int]] | None = None) -> Commit:
    return Commit(
        epoch=1,
        outputs=[Output("schedule", 0, b"k", b"v")] * outputs,
        positions={TopicPartition("discovered", 0): Position(offset)},
        mark=CheckpointInfo(now_ms=0, counters=counters or {}),
    )


def assignment(counters: Mapping[str, int] | None = None) -> Assignment:
    return Assignment(
        positions={"discovered": Position(5)}, ends={"discovered": 9}, state=None, counters=counters or {}
    )


def test_records_count_when_they_are_committed_and_not_when_they_come_again() -> None:
    recorder = Recorder(FrontierCounters())
    recorder.assigned(0, assignment())
    letters = [dead_letter(record(7), "nonsense", "frontier", 0)]
    recorder.took([record(5), record(6), record(7)], letters)
    recorder.refused("Aborted")
    recorder.dropped()
    recorder.saw(NOW)
    figures = recorder.figures()
    assert figures[RECORDS] == {("discovered",): 0}
    assert figures[DEAD_LETTERS] == {("discovered",): 0}, "shown before it grows"
    assert figures[CHECKPOINTS_FAILED]["Aborted",] == 1
    recorder.took([record(5), record(6), record(7)], letters)
    recorder.committed(commit(8, outputs=2), 40, 2, 0.01)
    recorder.saw(NOW)
    figures = recorder.figures()
    assert figures[RECORDS] == {("discovered",): 3}
    assert figures[DEAD_LETTERS] == {("discovered",): 1}
    assert figures[OUTPUTS] == {("schedule",): 2}
    assert figures[URLS] == {NO_LABELS: 40}
    spread = figures[CHECKPOINT_RECORDS][NO_LABELS]
    assert isinstance(spread, Spread)
    assert (sum(spread.counts), spread.total) == (1, 3)


def test_positions_are_those_of_the_partitions_that_are_owned() -> None:
    recorder = Recorder(FrontierCounters())
    recorder.assigned(0, assignment())
    recorder.assigned(1, assignment())
    assert set(recorder.positions.values()) == {5}
    recorder.revoked(frozenset({1}), lost=True)
    assert list(recorder.positions) == [TopicPartition("discovered", 0)]
    recorder.committed(commit(8), 0, 0, 0.01)
    assert recorder.positions == {TopicPartition("discovered", 0): 8}
    recorder.saw(NOW)
    assert recorder.figures()[REBALANCES] == {("changed",): 0, ("lost",): 1}


def test_a_restore_shows_how_far_it_is_and_disappears_when_it_is_over() -> None:
    recorder = Recorder(FrontierCounters())
    assert recorder.state == "starting"
    recorder.saw(LoopSnapshot(owned=[0], restoring={3: Restoring(100, 150, 300)}, held=False, figures={}))
    figures = recorder.figures()
    assert figures[RESTORE_DONE] == {("3",): 50}
    assert figures[RESTORE_TOTAL] == {("3",): 200}
    assert figures[PARTITIONS] == {("owned",): 1, ("restoring",): 1}
    assert recorder.state == "restoring"
    recorder.saw(NOW)
    assert recorder.figures()[RESTORE_DONE] == {}
    assert recorder.state == "at work"


def test_the_counters_of_partitions_are_shown_by_what_they_mean() -> None:
    recorder = Recorder(FrontierCounters())
    recorder.assigned(0, assignment({"admitted": 100, "queued": 10, "due_later_ms": 5000}))
    counters = {
        "admitted": 130,
        "queued": 7,
        "leased": 3,
        "due_later_ms": 9000,
        "due_next_ms": 8000,
        "servers_paused": 2,
        "stopped": 0,
        "paused": 1,
        "refused_scope": 4,
        "failed": 1,
    }
    recorder.committed(commit(8, counters={0: counters}), 0, 0, 0.01)
    recorder.saw(NOW)
    figures = recorder.figures()
    assert figures[FRONTIER_URLS] == {("queued",): 7, ("leased",): 3, ("retrying",): 0, ("revisiting",): 0}
    assert figures[FRONTIER_DUE] == {NO_LABELS: 9.0}
    assert figures[FRONTIER_EVENTS] == {("admitted",): 30, ("failed",): 1}
    assert figures[REFUSALS] == {("refused", "scope"): 4}


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["grow", "leave", "come", "look"])), max_size=60))
def test_totals_only_grow_and_miss_nothing_however_partitions_come_and_go(steps: list[tuple[int, str]]) -> None:
    events = Events(FrontierCounters())
    elsewhere = dict.fromkeys(range(3), 0)
    here: set[int] = set()
    grown = shown = 0
    for partition, step in steps:
        if step == "come" and partition not in here:
            events.begin(partition, {"admitted": elsewhere[partition]})
            here.add(partition)
        elif step == "leave" and partition in here:
            events.end([partition])
            here.discard(partition)
        elif step == "grow":
            elsewhere[partition] += 7
            if partition in here:
                events.note({partition: {"admitted": elsewhere[partition]}})
                grown += 7
        elif step == "look" and here:
            total = events.figures()[FRONTIER_EVENTS].get(("admitted",), 0)
            assert not isinstance(total, Spread)
            assert total == grown >= shown
            shown = grown


@given(st.lists(st.floats(0, 1e6), max_size=50))
def test_a_spread_counts_each_value_in_the_first_bucket_that_holds_it(values: list[float]) -> None:
    spread = Spread((1, 10, 100))
    for value in values:
        spread.add(value)
    assert sum(spread.counts) == len(values)
    assert spread.counts[0] == sum(value <= 1 for value in values)
    assert spread.counts[3] == sum(value > 100 for value in values)
