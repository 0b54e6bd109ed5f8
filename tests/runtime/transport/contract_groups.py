"""What every engine of the port promises about groups: joining, leaving, dying, coming back."""

import time
from collections import Counter
from functools import partial

from gregor.errors import Aborted, Fenced, UnknownOutcome
from gregor.runtime.transport.port import (
    Output,
    Revoked,
    TopicPartition,
)
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import (
    EXTRACTOR,
    FRONTIER,
    INPUTS,
    Member,
    fill,
    name,
    owns_all,
    processed,
    seen,
    settle,
    together,
    until,
    values,
)


class GroupsContract:
    """Part of ``TransportContract``."""

    def test_members_share_the_partitions_when_one_joins(self, harness: Harness) -> None:
        """ "Any rebalance event drops the whole overlay and rewinds the retained partitions to their last checkpoint"."""
        expected = fill(harness.transport, INPUTS, harness.partitions, range(3))
        first = Member(harness, FRONTIER)
        until(lambda: len(first.gathered) == len(expected), [first])
        first.events.clear()
        second = Member(harness, FRONTIER)
        settle(first, second)
        assert any(isinstance(event, Revoked) for event in first.events)
        assert first.session.member != second.session.member
        until(lambda: values(harness.transport, "verdicts").total() >= len(expected), [first, second], work=processed)
        assert values(harness.transport, "verdicts") == Counter(expected)

    def test_records_that_arrive_while_the_group_changes_are_not_lost(self, harness: Harness) -> None:
        """ "Any rebalance event ... rewinds": also what was fetched in the very poll in which the group changed."""
        members = [Member(harness, EXTRACTOR)]
        settle(*members)
        expected: list[bytes] = []
        written = 0

        def work(member: Member) -> None:
            nonlocal written
            if written < 60:
                expected.extend(fill(harness.transport, ("pages",), harness.partitions, range(written, written + 3)))
                written += 3
            if member.gathered:
                outputs = [Output("items", r.partition, b"", name(r.topic, r.value)) for r in member.gathered]
                try:
                    member.commit(outputs)
                except (Aborted, Fenced, UnknownOutcome):
                    member.drop()

        for _ in range(2):
            # Records that wait unread in the client, and behind them the news that somebody joined: one poll meets both.
            expected += fill(harness.transport, ("pages",), harness.partitions, range(written, written + 3))
            written += 3
            members.append(Member(harness, EXTRACTOR))
            time.sleep(20 * harness.wait)
            until(partial(together, members), members, work=work)
        until(lambda: written >= 60, members, work=work)
        until(lambda: values(harness.transport, "items").total() >= len(expected), members, work=work)
        assert values(harness.transport, "items") == Counter(expected)

    def test_a_clean_leave_hands_partitions_and_state_over(self, harness: Harness) -> None:
        """ "``close(drain)``": what a member has committed is where the next one begins."""
        expected = fill(harness.transport, INPUTS, harness.partitions, range(3))
        first, second = Member(harness, FRONTIER), Member(harness, FRONTIER)
        settle(first, second)
        until(lambda: values(harness.transport, "verdicts").total() >= len(expected), [first, second], work=processed)
        gone = min(first.owned)
        first.step()
        first.commit((), {gone: [seen(5)]}, {gone: {"admitted": 5}})
        first.session.close(drain=True)
        settle(second)
        state = second.owned[gone].state
        assert state is not None
        assert state.get("seen", b"key-5") == b"value-5"
        assert second.owned[gone].counters == {"admitted": 5}
        expected += fill(harness.transport, INPUTS, harness.partitions, range(3, 5))
        until(lambda: values(harness.transport, "verdicts").total() >= len(expected), [second], work=processed)
        assert values(harness.transport, "verdicts") == Counter(expected)

    def test_the_partitions_of_a_killed_member_are_taken_over(self, harness: Harness) -> None:
        """ "about 20 s of patience after a kill": what it had gathered and not committed comes again, elsewhere, once."""
        first, second = Member(harness, FRONTIER, stoppable=True), Member(harness, FRONTIER)
        settle(first, second)
        expected = fill(harness.transport, INPUTS, harness.partitions, range(3))
        until(lambda: first.gathered, [first, second])
        first.commit(first.copy(), {min(first.owned): [seen(6)]})
        inherited = min(first.owned)
        expected += fill(harness.transport, INPUTS, harness.partitions, range(3, 6))
        until(lambda: first.gathered, [first, second], work=lambda one: processed(one) if one is second else None)
        harness.kill(first.session)
        until(partial(owns_all, second), [second], work=processed)
        until(lambda: values(harness.transport, "verdicts").total() >= len(expected), [second], work=processed)
        assert values(harness.transport, "verdicts") == Counter(expected)
        state = second.owned[inherited].state
        assert state is not None
        assert state.get("seen", b"key-6") == b"value-6"

    def test_a_member_that_comes_back_in_time_gets_its_partitions_back(self, harness: Harness) -> None:
        """ "an id kept in the state folder, so that a restart ... gets its partitions back"."""
        first, second = Member(harness, FRONTIER), Member(harness, FRONTIER)
        settle(first, second)
        had, kept = set(first.owned), set(second.owned)
        known = first.session.member
        first.session = harness.reopen(first.session)
        first.owned.clear()
        assert first.session.member == known
        settle(first, second)
        assert (set(first.owned), set(second.owned)) == (had, kept)

    def test_co_partitioned_inputs_staytogether_with_three_members(self, harness: Harness) -> None:
        """ "assignors do not keep discovered[p] and fetched[p] together": through join, leave and kill ours do."""
        members = [Member(harness, FRONTIER)]
        expected: list[bytes] = []

        def work(member: Member) -> None:
            wanted = {TopicPartition(topic, p) for p in member.owned for topic in INPUTS}
            assert member.positions.keys() == wanted
            assert {(r.topic, r.partition) for r in member.gathered} <= wanted
            processed(member)

        def pass_everything(living: list[Member]) -> None:
            until(partial(together, living), living, work=work)
            start = len(expected)
            expected.extend(fill(harness.transport, INPUTS, harness.partitions, range(start, start + 3)))
            until(lambda: values(harness.transport, "verdicts").total() >= len(expected), living, work=work)
            assert values(harness.transport, "verdicts") == Counter(expected)

        pass_everything(members)
        members += [Member(harness, FRONTIER), Member(harness, FRONTIER, stoppable=True)]
        pass_everything(members)
        members[0].session.close(drain=True)
        pass_everything(members[1:])
        harness.kill(members[2].session)
        pass_everything(members[1:2])
