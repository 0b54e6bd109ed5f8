"""What every engine of the port promises about commits, and what must not be seen of one that failed."""

from collections import Counter

import pytest
from msgspec.structs import replace

from gregor.errors import Aborted, Fenced, UnknownOutcome
from gregor.runtime.transport.port import (
    LARGEST_METADATA,
    Assigned,
    InvalidCommit,
    Output,
    Position,
    Revoked,
    TopicPartition,
)
from schemas.codec import Undecodable, encode
from schemas.dead_letters import DeadLetter, decode_dead_letter
from schemas.discovered import Discovered, decode_discovered
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import (
    EXTRACTOR,
    FETCHER,
    FRONTIER,
    INPUTS,
    VIEWS,
    Member,
    fill,
    name,
    processed,
    seen,
    settle,
    until,
    values,
)


class CommitsContract:
    """Part of ``TransportContract``."""

    def test_outputs_positions_and_state_become_visibletogether(self, harness: Harness) -> None:
        """ "begin_transaction; produce outputs + changelog; flush; send_offsets; commit_transaction"."""
        expected = Counter(fill(harness.transport, INPUTS, harness.partitions, range(3)))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == expected.total(), [member])
        outputs = member.copy()
        state = member.owned[1].state
        assert state is not None
        assert values(harness.transport, "verdicts") == Counter()
        assert state.get("seen", b"key-1") is None
        member.commit(outputs, {1: [seen(1), seen(2)]})
        assert values(harness.transport, "verdicts") == expected
        assert harness.transport.committed("frontier", INPUTS) == member.committed
        assert state.get_many("seen", [b"key-1", b"key-2", b"key-3"]) == [b"value-1", b"value-2", None]
        assert [key for key, _ in state.scan("seen")] == [b"key-1", b"key-2"]
        other = member.owned[0].state
        assert other is not None
        assert list(other.scan("seen")) == []

    def test_a_restart_goes_on_where_the_last_commit_stood(self, harness: Harness) -> None:
        """ "a restart aborts its own leftovers at once and gets its partitions back"."""
        before = fill(harness.transport, INPUTS, harness.partitions, range(3))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == len(before), [member])
        member.commit(member.copy(), {2: [seen(7)]}, {2: {"admitted": 41}})
        committed = dict(member.committed)
        after = fill(harness.transport, INPUTS, harness.partitions, range(3, 5))
        until(lambda: len(member.gathered) == len(after), [member])
        harness.restart()
        member = Member(harness, FRONTIER)
        settle(member)
        assert {at: one.offset for at, one in member.committed.items()} == {
            at: one.offset for at, one in committed.items()
        }
        state = member.owned[2].state
        assert state is not None
        assert state.get("seen", b"key-7") == b"value-7"
        assert member.owned[2].counters == {"admitted": 41}
        assert member.owned[2].sequence >= 1
        until(lambda: len(member.gathered) == len(after), [member])
        assert Counter(name(r.topic, r.value) for r in member.gathered) == Counter(after)
        member.commit(member.copy())
        assert values(harness.transport, "verdicts") == Counter(before + after)

    def test_what_lay_below_the_end_at_assignment_is_known(self, harness: Harness) -> None:
        """ "Orders below the end-at-assignment may be re-delivered ones"."""
        fill(harness.transport, ("schedule",), harness.partitions, range(4))
        member = Member(harness, FETCHER)
        settle(member)
        ends = {partition: assignment.ends["schedule"] for partition, assignment in member.owned.items()}
        until(lambda: len(member.gathered) == 4 * harness.partitions, [member])
        assert all(record.offset < ends[record.partition] for record in member.gathered)
        fill(harness.transport, ("schedule",), harness.partitions, range(4, 6))
        until(lambda: len(member.gathered) == 6 * harness.partitions, [member])
        assert all(record.offset >= ends[record.partition] for record in member.gathered[4 * harness.partitions :])

    def test_positions_reach_the_ends_at_assignment_and_again_after_a_rewind(self, harness: Harness) -> None:
        """An end may stand behind what is not a record, and is passed all the same, however often the group changes before a commit."""
        fill(harness.transport, INPUTS, harness.partitions, range(3))
        first = Member(harness, FRONTIER)
        settle(first)
        ends = {TopicPartition(topic, p): end for p, one in first.owned.items() for topic, end in one.ends.items()}

        def passed(*members: Member) -> bool:
            return all(at.offset >= ends[where] for one in members for where, at in one.positions.items())

        assert not passed(first)
        until(lambda: passed(first), [first])
        second = Member(harness, FRONTIER)
        settle(first, second)
        until(lambda: passed(first, second), [first, second])
        assert {where.partition for where in (*first.positions, *second.positions)} == set(range(harness.partitions))

    def test_metadata_of_positions_comes_back(self, harness: Harness) -> None:
        """ "3,500 bytes of metadata pass": the offset's metadata carries a bitmap of the finished orders above it."""
        fill(harness.transport, ("schedule",), harness.partitions, range(4))
        member = Member(harness, FETCHER)
        until(lambda: len(member.gathered) == 4 * harness.partitions, [member])
        at = TopicPartition("schedule", 1)
        for metadata in ("wAQ==", "w" + "A" * (LARGEST_METADATA - 1)):
            member.positions[at] = Position(member.committed[at].offset, metadata)
            member.commit()
        assert harness.transport.committed("fetcher", ("schedule",))[at] == member.committed[at]
        harness.restart()
        again = Member(harness, FETCHER)
        settle(again)
        assert again.owned[1].positions["schedule"] == member.committed[at]
        until(lambda: any(record.partition == 1 for record in again.gathered), [again])
        assert next(r.value for r in again.gathered if r.partition == 1) == b"1-0"

    def test_more_metadata_than_a_broker_takes_is_refused(self, harness: Harness) -> None:
        """ "5,000 fail the transaction"."""
        member = Member(harness, FETCHER)
        settle(member)
        member.positions[TopicPartition("schedule", 0)] = Position(0, "A" * (LARGEST_METADATA + 1))
        with pytest.raises(InvalidCommit):
            member.commit([Output("fetched", 0, b"k", b"v")])
        assert values(harness.transport, "fetched") == Counter()

    def test_a_commit_without_the_position_of_every_partition_raises(self, harness: Harness) -> None:
        """ "Every transaction sends the current position of every partition it owns, changed or not ... raises if asked to commit
        without"."""
        member = Member(harness, FRONTIER)
        settle(member)
        order = [Output("schedule", 0, b"k", b"order")]
        whole = member.proposal(order)
        one_less = {at: position for at, position in whole.positions.items() if at != TopicPartition("fetched", 2)}
        foreign = {**whole.positions, TopicPartition("pages", 0): Position(0)}
        for positions in ({}, one_less, foreign):
            with pytest.raises(InvalidCommit):
                member.session.commit(replace(whole, positions=positions))
        assert values(harness.transport, "schedule") == Counter()
        member.commit(order)
        assert values(harness.transport, "schedule") == Counter([b"order"])

    def test_nothing_is_committed_before_the_first_assignment(self, harness: Harness) -> None:
        """ "Never commit before the first assignment"."""
        member = Member(harness, FRONTIER)
        with pytest.raises(InvalidCommit):
            member.commit([Output("schedule", 0, b"k", b"order")])
        settle(member)
        assert values(harness.transport, "schedule") == Counter()

    def test_orders_released_by_the_clock_alone_can_be_committed(self, harness: Harness) -> None:
        """ "Orders released by the clock alone are exactly this case": outputs without any input."""
        member = Member(harness, FRONTIER)
        settle(member)
        for number in range(3):
            member.commit([Output("schedule", 0, b"k", b"order-%d" % number)])
        assert [r.value for r in harness.transport.read("schedule", 0, 0)] == [b"order-0", b"order-1", b"order-2"]

    def test_an_unreadable_record_becomes_a_dead_letter_in_the_same_commit(self, harness: Harness) -> None:
        """ "a record that cannot be decoded goes to dead-letters in the same transaction"."""
        good = encode(Discovered(server="a.example", paths=("/",)))
        harness.transport.append([Output("discovered", 0, b"a.example", value) for value in (good, b"\xff{", good)])
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == 3, [member])
        outputs = []
        for record in member.gathered:
            try:
                decode_discovered(record.value)
                outputs.append(Output("verdicts", 0, b"a.example", b"read"))
            except Undecodable as error:
                letter = DeadLetter(
                    topic=record.topic,
                    partition=record.partition,
                    offset=record.offset,
                    reason=str(error),
                    stage="frontier",
                )
                outputs.append(Output("dead-letters", 0, b"discovered", record.value or b"", encode(letter)))
        broken = member.gathered[1].offset
        assert values(harness.transport, "dead-letters") == Counter()
        member.commit(outputs)
        (letter_record,) = harness.transport.read("dead-letters", 0, 0)
        assert letter_record.value == b"\xff{"
        assert decode_dead_letter(letter_record.header).offset == broken
        assert values(harness.transport, "verdicts") == Counter({b"read": 2})
        harness.transport.append([Output("discovered", 0, b"a.example", good)])
        until(lambda: len(member.gathered) == 1, [member])

    def test_committed_positions_reach_the_end_when_idle(self, harness: Harness) -> None:
        """ "Commit position(), not last+1, and once more when idle ... otherwise lag never becomes 0"."""
        fill(harness.transport, INPUTS, harness.partitions, range(3))
        member = Member(harness, FRONTIER)

        def lag() -> int:
            committed = harness.transport.committed("frontier", INPUTS)
            ends = {
                TopicPartition(topic, p): end
                for topic in INPUTS
                for p, (_, end) in harness.transport.ends(topic).items()
            }
            return sum(end - (committed[at].offset if at in committed else 0) for at, end in ends.items())

        def work(one: Member) -> None:
            if one.positions and one.positions != one.committed:
                one.commit(one.copy())

        assert lag() > 0
        until(lambda: lag() == 0, [member], work=work)

    def test_an_abort_leaves_nothing_visible(self, harness: Harness) -> None:
        """ "abort, drop the overlay, rewind": no output, no position and no state of it, and its input comes again."""
        expected = Counter(fill(harness.transport, INPUTS, harness.partitions, range(3)))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == expected.total(), [member])
        stale = member.proposal(member.copy(), {partition: [seen(1)] for partition in member.owned})
        other = Member(harness, FRONTIER)
        settle(member, other)
        before = harness.transport.committed("frontier", INPUTS)
        with pytest.raises((Aborted, Fenced)):
            member.session.commit(stale)
        assert values(harness.transport, "verdicts") == Counter()
        assert harness.transport.committed("frontier", INPUTS) == before
        for assignment in (*member.owned.values(), *other.owned.values()):
            assert assignment.state is not None
            assert assignment.state.get("seen", b"key-1") is None
        until(
            lambda: values(harness.transport, "verdicts").total() >= expected.total(), [member, other], work=processed
        )
        assert values(harness.transport, "verdicts") == expected

    def test_aborted_records_are_never_read(self, harness: Harness) -> None:
        """ "replay read_committed": neither a group nor a bounded read is given what an aborted commit had written."""
        member = Member(harness, FRONTIER)
        settle(member)
        stale = member.proposal([Output("verdicts", p, b"k", b"aborted") for p in range(harness.partitions)])
        other = Member(harness, FRONTIER)
        settle(member, other)
        with pytest.raises((Aborted, Fenced)):
            member.session.commit(stale)
        settle(member, other)
        reader = Member(harness, VIEWS)
        settle(reader)
        other.step()
        other.commit([Output("verdicts", min(other.owned), b"k", b"committed")])
        until(lambda: reader.gathered, [reader, member, other])
        assert [record.value for record in reader.gathered] == [b"committed"]
        assert values(harness.transport, "verdicts") == Counter([b"committed"])

    def test_a_batch_gathered_across_a_rebalance_cannot_commit_a_lost_partition(self, harness: Harness) -> None:
        """ "fresh metadata let an old owner commit a lost partition": the epoch of the batch is what counts."""
        fill(harness.transport, ("pages",), harness.partitions, range(4))
        member = Member(harness, EXTRACTOR)
        until(lambda: len(member.gathered) == 4 * harness.partitions, [member])
        gathered = member.proposal([Output("items", r.partition, b"", b"old") for r in member.gathered])
        other = Member(harness, EXTRACTOR)
        settle(member, other)
        lost = set(other.owned)
        assert lost
        until(lambda: {r.partition for r in other.gathered} == lost, [other, member])
        with pytest.raises((Aborted, Fenced)):
            member.session.commit(gathered)
        other.commit([Output("items", r.partition, b"", b"new") for r in other.gathered])
        with pytest.raises((Aborted, Fenced)):
            member.session.commit(gathered)
        assert set(values(harness.transport, "items")) == {b"new"}
        committed = harness.transport.committed("extractor", ("pages",))
        assert {at: committed[at] for at in other.committed} == other.committed

    def test_a_zombie_can_neither_commit_nor_write(self, harness: Harness) -> None:
        """ "a process stopped past its session time-out woke up and committed orders into a partition that another owned"."""
        zombie = Member(harness, FRONTIER, stoppable=True)
        settle(zombie)
        orders = zombie.proposal([Output("schedule", p, b"k", b"zombie") for p in zombie.owned])
        harness.freeze(zombie.session)
        heir = Member(harness, FRONTIER)
        settle(heir)
        heir.commit([Output("schedule", p, b"k", b"heir") for p in heir.owned])
        harness.thaw(zombie.session)
        with pytest.raises((Aborted, Fenced)):
            zombie.session.commit(orders)
        heir.commit([Output("schedule", p, b"k", b"heir") for p in heir.owned])
        assert values(harness.transport, "schedule") == Counter({b"heir": 2 * harness.partitions})
        settle(zombie, heir)
        with pytest.raises((Aborted, Fenced)):
            zombie.session.commit(orders)
        zombie.step()
        zombie.commit([Output("schedule", min(zombie.owned), b"k", b"alive")])
        assert values(harness.transport, "schedule") == Counter({b"heir": 2 * harness.partitions, b"alive": 1})

    @pytest.mark.parametrize("happened", [True, False], ids=["it happened", "it did not happen"])
    def test_an_unknown_outcome_neither_loses_nor_doubles(self, harness: Harness, happened: bool) -> None:
        """ "Never rewind to a remembered offset after an unknown outcome: it may have committed"; all partitions come anew."""
        expected = fill(harness.transport, INPUTS, harness.partitions, range(3))
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == len(expected), [member])
        harness.lose_answer(member.session, happened=happened)
        with pytest.raises(UnknownOutcome):
            member.commit(member.copy(), {0: [seen(1)]})
        member.events.clear()
        expected += fill(harness.transport, INPUTS, harness.partitions, range(3, 5))
        until(lambda: values(harness.transport, "verdicts").total() >= len(expected), [member], work=processed)
        assert values(harness.transport, "verdicts") == Counter(expected)
        told = [event for event in member.events if isinstance(event, Revoked | Assigned)]
        assert set().union(*(event.partitions for event in told if isinstance(event, Revoked))) == set(
            range(harness.partitions)
        )
        anew = {p: one for event in told if isinstance(event, Assigned) for p, one in event.partitions.items()}
        assert anew.keys() == set(range(harness.partitions))
        state = anew[0].state
        assert state is not None
        assert state.get("seen", b"key-1") == (b"value-1" if happened else None)
