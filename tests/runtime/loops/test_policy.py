"""When a checkpoint is due."""

from hypothesis import given
from hypothesis import strategies as st

from gregor.config.sections import CheckpointSection
from gregor.runtime.loops.policy import AT_ONCE, NONE, CommitThrottle, Pending, due, next_due_ms, policy_for
from gregor.runtime.transport.embedded.session import EmbeddedSession
from gregor.runtime.transport.kafka.session import KafkaSession

POLICY = CheckpointSection(idle_ms=30, max_urls=100, max_bytes=65_536, max_interval_s=1.0)


def test_where_commits_are_cheap_nobody_waits_for_a_full_batch() -> None:
    class Cheap(EmbeddedSession):
        def __init__(self) -> None: ...

    class Dear(KafkaSession):
        def __init__(self) -> None: ...

    given, eager = CheckpointSection(), policy_for(CheckpointSection(), Cheap())
    assert policy_for(given, Dear()) == given
    assert (eager.idle_ms, eager.apart_ms, eager.max_bytes) < (given.idle_ms, given.apart_ms, given.max_bytes)
    hastier = CheckpointSection(idle_ms=1, apart_ms=0, max_bytes=65_536)
    assert policy_for(hastier, Cheap()) == hastier


def test_nothing_pending_is_never_due() -> None:
    assert not due(POLICY, NONE, 10**15)
    assert next_due_ms(POLICY, NONE) is None


def test_an_idle_input_makes_decided_work_due() -> None:
    pending = Pending(decided=True, since_ms=1000, last_ms=1100)
    assert not due(POLICY, pending, 1129)
    assert due(POLICY, pending, 1130)


def test_a_busy_input_is_committed_by_size_bytes_or_time() -> None:
    busy = Pending(decided=True, since_ms=1000, last_ms=1500)
    assert not due(POLICY, busy, 1510)
    assert due(POLICY, Pending(decided=True, since_ms=1000, last_ms=1500, urls=100), 1510)
    assert due(POLICY, Pending(decided=True, since_ms=1000, last_ms=1500, bytes=65_536), 1510)
    assert due(POLICY, Pending(decided=True, since_ms=1000, last_ms=2000), 2000)


def test_positions_alone_wait_for_the_interval() -> None:
    moved = Pending(moved=True, since_ms=1000)
    assert not due(POLICY, moved, 1500)
    assert due(POLICY, moved, 2000)


def test_what_somebody_waits_for_is_due_when_it_is_wanted() -> None:
    wanted = Pending(decided=True, since_ms=1000, last_ms=1100, wanted_ms=1110)
    assert not due(POLICY, wanted, 1109)
    assert due(POLICY, wanted, 1110)


@given(
    st.builds(
        Pending,
        urls=st.integers(0, 99),
        bytes=st.integers(0, 65_535),
        since_ms=st.integers(0, 10_000),
        last_ms=st.integers(0, 10_000),
        decided=st.booleans(),
        moved=st.booleans(),
        wanted_ms=st.none() | st.integers(0, 12_000),
    ),
    st.integers(0, 20_000),
)
def test_the_loop_may_sleep_until_the_next_due_time_and_not_longer(pending: Pending, now_ms: int) -> None:
    at = next_due_ms(POLICY, pending)
    assert due(POLICY, pending, now_ms) == (at is not None and now_ms >= at)


@given(st.integers(0, 500), st.lists(st.integers(0, 1_000), min_size=1, max_size=60))
def test_commits_that_others_wait_for_are_apart_on_average_and_only_a_few_follow_each_other(
    apart_ms: int, wanted_after: list[int]
) -> None:
    pace, now, at = CommitThrottle(apart_ms), 10**12, []
    for wait in wanted_after:
        now = pace.earliest_ms(now + wait)
        pace.committed(now)
        at.append(now)
    for first in range(len(at)):
        for last in range(first, len(at)):
            assert last - first + 1 <= AT_ONCE or at[last] - at[first] >= (last - first + 1 - AT_ONCE) * apart_ms
    assert not apart_ms or CommitThrottle(apart_ms).earliest_ms(now) == now
