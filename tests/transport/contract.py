"""What every engine of the port promises. One set of cases; each engine's test file derives from it and gives a ``harness``.

The sentence in quotation marks in a docstring is the promise, in the words of the protocol.
"""

import time
from collections import Counter
from functools import partial

import pytest
from msgspec.structs import replace

from gregor.errors import Aborted, Fenced, UnknownOutcome
from gregor.state.packed import Mutation, pack_delta
from gregor.transport.port import (
    LARGEST_METADATA,
    Assigned,
    Batch,
    InvalidCommit,
    Output,
    Position,
    Record,
    Revoked,
    TopicPartition,
)
from schemas.codec import Undecodable, encode
from schemas.dead_letters import DeadLetter, decode_dead_letter
from schemas.discovered import Discovered, decode_discovered
from tests.transport.harness import Harness
from tests.transport.member import EXTRACTOR, FETCHER, FRONTIER, VIEWS, Member, fill, name, settle, until, values

INPUTS = FRONTIER.inputs


def seen(number: int) -> Mutation:
    return Mutation(b"server", pack_delta([(0, b"key-%d" % number, b"value-%d" % number)]))


def processed(member: Member) -> None:
    """Pass on what was gathered, as a stage does; whatever a change of the group spoils comes again."""
    if member.gathered:
        try:
            member.commit(member.copy())
        except (Aborted, Fenced, UnknownOutcome):
            member.drop()


class TransportContract:
    """Derive, and give the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError

    # Records

    def test_records_of_a_partition_come_in_the_order_in_which_they_were_written(self, harness: Harness) -> None:
        """ "poll a batch": records in the order of each partition."""
        for start in range(0, 60, 20):
            fill(harness.transport, ("pages",), harness.partitions, range(start, start + 20))
        member = Member(harness, EXTRACTOR)
        until(lambda: len(member.gathered) == 60 * harness.partitions, [member])
        for partition in range(harness.partitions):
            records = [record for record in member.gathered if record.partition == partition]
            assert [record.value for record in records] == [b"%d-%d" % (partition, n) for n in range(60)]
            offsets = [record.offset for record in records]
            assert offsets == sorted(set(offsets))

    def test_key_value_and_header_come_back_as_they_were_written(self, harness: Harness) -> None:
        """ "value = content-decoded body, ONE header = its facts as JSON"."""
        large = bytes(range(256)) * 4096 * 4
        written = [
            Output("pages", 0, b"server", large, b'{"status":200}'),
            Output("pages", 0, b"", b""),
            Output("pages", 0, b"\xff\x00", b"\x00", b""),
        ]
        harness.transport.append(written)
        member = Member(harness, EXTRACTOR)
        until(lambda: len(member.gathered) == 3, [member])
        assert [(r.key, r.value, r.header) for r in member.gathered] == [(o.key, o.value, o.header) for o in written]
        read = list(harness.transport.read("pages", 0, 0))
        assert [(r.key, r.value, r.header) for r in read] == [(o.key, o.value, o.header) for o in written]

    def test_a_batch_holds_no_more_than_was_asked_for(self, harness: Harness) -> None:
        """ "``max_bytes`` is exceeded by one record at the most"."""
        harness.transport.append([Output("pages", n % 2, b"", bytes(1000)) for n in range(200)])
        member = Member(harness, EXTRACTOR)
        settle(member)
        batches: list[Batch] = []
        while sum(len(batch.records) for batch in batches) < 100:
            event = member.step(max_records=7)
            if isinstance(event, Batch):
                batches.append(event)
        assert max(len(batch.records) for batch in batches) <= 7
        while sum(len(batch.records) for batch in batches) < 200:
            event = member.step(max_bytes=2500)
            if isinstance(event, Batch):
                batches.append(event)
                assert len(event.records) <= 3
        assert len(member.gathered) == 200

    def test_reads_are_bounded_by_both_ends(self, harness: Harness) -> None:
        """ "``read(partition, start, end)``: bounded, committed only"."""
        fill(harness.transport, ("discovered",), 1, range(10))
        records = list(harness.transport.read("discovered", 0, 0))
        assert [r.value for r in records] == [b"0-%d" % n for n in range(10)]
        middle = list(harness.transport.read("discovered", 0, records[3].offset, records[7].offset))
        assert middle == records[3:7]
        assert list(harness.transport.read("discovered", 0, records[9].offset + 1)) == []
        first, end = harness.transport.ends("discovered")[0]
        assert first <= records[0].offset
        assert end > records[9].offset

    def test_records_are_found_by_the_time_at_which_they_were_written(self, harness: Harness) -> None:
        """ "the offset of the first record that was written at ``time_ms`` or later; its end when there is none"."""
        for number in range(5):
            fill(harness.transport, ("discovered",), 1, range(number * 3, number * 3 + 3))
            time.sleep(0.01)
        records = list(harness.transport.read("discovered", 0, 0))
        _, end = harness.transport.ends("discovered")[0]
        for time_ms in {record.time_ms + around for record in records for around in (-1, 0, 1)}:
            expected = next((record.offset for record in records if record.time_ms >= time_ms), end)
            found = harness.transport.since("discovered", time_ms)
            # Behind the last record of a transaction stands its marker, which has an offset and no record.
            assert [r for r in records if r.offset >= found[0]] == [r for r in records if r.offset >= expected]
            assert found[1] == harness.transport.ends("discovered")[1][1]

    def test_what_is_trimmed_is_gone_and_the_rest_stays(self, harness: Harness) -> None:
        """ "delete the records before these offsets, for good; nothing happens where they are gone already"."""
        fill(harness.transport, ("verdicts",), harness.partitions, range(20))
        before = {partition: list(harness.transport.read("verdicts", partition, 0)) for partition in (0, 1)}
        places = {TopicPartition("verdicts", 0): before[0][7].offset, TopicPartition("verdicts", 1): 0}
        for _ in range(2):
            harness.transport.trim(places)
            assert list(harness.transport.read("verdicts", 0, 0)) == before[0][7:]
            assert list(harness.transport.read("verdicts", 1, 0)) == before[1]
            assert harness.transport.ends("verdicts")[0][0] == before[0][7].offset
        _, end = harness.transport.ends("verdicts")[0]
        harness.transport.trim({TopicPartition("verdicts", 0): end + 1000})
        assert harness.transport.ends("verdicts")[0] == (end, end)
        fill(harness.transport, ("verdicts",), 1, range(1))
        assert [record.offset for record in harness.transport.read("verdicts", 0, 0)] == [end]

    def test_a_state_is_read_as_of_its_last_checkpoint_by_who_does_not_own_it(self, harness: Harness) -> None:
        """ "a partition's state as of a checkpoint; None: it is not on this machine, or there is none yet"."""
        fill(harness.transport, INPUTS, harness.partitions, range(1))
        assert harness.transport.state(EXTRACTOR, 0) is None
        member = Member(harness, FRONTIER)
        until(lambda: len(member.gathered) == 2 * harness.partitions, [member])
        member.commit(mutations={0: [seen(7)]})
        state = harness.transport.state(FRONTIER, 0)
        assert state is not None
        assert state.get("seen", b"key-7") == b"value-7"

    def test_two_groups_read_the_same_topic_independently(self, harness: Harness) -> None:
        """ "views read fetched/verdicts": a stage's group is its own."""
        names = Counter(
            value.split(b"/")[1] for value in fill(harness.transport, ("verdicts",), harness.partitions, range(5))
        )
        one, other = Member(harness, VIEWS), Member(harness, replace(FETCHER, inputs=("schedule",)))
        fill(harness.transport, ("schedule",), harness.partitions, range(5))
        until(lambda: len(one.gathered) == names.total() and len(other.gathered) == names.total(), [one, other])
        one.commit()
        assert {at.topic for at in harness.transport.committed("views", ("verdicts", "schedule"))} == {"verdicts"}
        assert harness.transport.committed("nobody", ("verdicts",)) == {}

    def test_a_paused_partition_delivers_nothing_until_it_is_resumed(self, harness: Harness) -> None:
        """ "Deliver nothing more of these until resumed"."""
        member = Member(harness, EXTRACTOR)
        settle(member)
        member.session.pause([TopicPartition("pages", 0)])
        fill(harness.transport, ("pages",), harness.partitions, range(5))
        until(lambda: len(member.gathered) == 5 * (harness.partitions - 1), [member])
        member.step()
        assert {record.partition for record in member.gathered} == set(range(1, harness.partitions))
        member.session.resume([TopicPartition("pages", 0)])
        until(lambda: len(member.gathered) == 5 * harness.partitions, [member])

    def test_a_paused_partition_that_is_lost_and_comes_back_delivers_again(self, harness: Harness) -> None:
        """ "an assignment begins unpaused": whoever paused it need not remember what is not his any more."""
        everything = [TopicPartition("schedule", partition) for partition in range(harness.partitions)]
        first = Member(harness, FETCHER)
        settle(first)
        first.session.pause(everything)
        harness.lose_answer(first.session, happened=False)
        with pytest.raises(UnknownOutcome):
            first.commit()
        first.events.clear()
        until(lambda: any(isinstance(event, Revoked) for event in first.events), [first])
        settle(first)
        fill(harness.transport, ("schedule",), harness.partitions, range(3))
        until(lambda: len(first.gathered) == 3 * harness.partitions, [first])
        first.commit()
        first.session.pause(everything)
        second = Member(harness, FETCHER)
        settle(first, second)
        gone = set(second.owned)
        fill(harness.transport, ("schedule",), harness.partitions, range(3, 5))
        second.session.close(drain=True)
        settle(first)
        until(lambda: {record.partition for record in first.gathered} >= gone, [first])
        assert {record.partition for record in first.gathered} == gone, "what was kept all the time is still paused"

    # Commits

    def test_outputs_positions_and_state_become_visible_together(self, harness: Harness) -> None:
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

    # What must not be seen

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

    # Groups

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
            until(partial(_together, members), members, work=work)
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
        until(partial(_owns_all, second), [second], work=processed)
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

    def test_co_partitioned_inputs_stay_together_with_three_members(self, harness: Harness) -> None:
        """ "assignors do not keep discovered[p] and fetched[p] together": through join, leave and kill ours do."""
        members = [Member(harness, FRONTIER)]
        expected: list[bytes] = []

        def work(member: Member) -> None:
            wanted = {TopicPartition(topic, p) for p in member.owned for topic in INPUTS}
            assert member.positions.keys() == wanted
            assert {(r.topic, r.partition) for r in member.gathered} <= wanted
            processed(member)

        def pass_everything(living: list[Member]) -> None:
            until(partial(_together, living), living, work=work)
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

    # Broadcast

    def test_broadcast_inputs_are_read_to_the_end_before_the_first_batch(self, harness: Harness) -> None:
        """ "read by everybody: manual assignment from the beginning, no group, read to the end BEFORE the first batch"."""
        harness.transport.append([Output("control", 0, b"limits", b"limit-%d" % n) for n in range(2500)])
        fill(harness.transport, INPUTS, harness.partitions, range(3))
        for _ in range(2):
            member = Member(harness, FRONTIER)
            records: list[Record] = []
            while not records:
                event = member.step()
                if isinstance(event, Batch):
                    records += event.records
                    if event.records:
                        assert [r.value for r in member.heard] == [b"limit-%d" % n for n in range(2500)]
            member.session.close(drain=True)

    def test_broadcast_inputs_are_read_to_the_end_before_the_first_assignment(self, harness: Harness) -> None:
        """The same: a stage with something to do acts as soon as it is assigned, and must know by then that the crawl is paused."""
        harness.transport.append([Output("control", 0, b"crawl", b"pause-%d" % n) for n in range(1500)])
        for stage in (FRONTIER, FETCHER):
            member = Member(harness, stage)
            settle(member)
            first = next(n for n, event in enumerate(member.events) if isinstance(event, Assigned))
            heard = [r.value for event in member.events[:first] if isinstance(event, Batch) for r in event.broadcast]
            assert heard == [b"pause-%d" % n for n in range(1500)]
            member.session.close(drain=True)

    def test_later_broadcast_records_reach_every_member(self, harness: Harness) -> None:
        """ "`control` and `sites` are read by everybody"."""
        first, second = Member(harness, FRONTIER), Member(harness, FRONTIER)
        settle(first, second)
        harness.transport.append([Output("control", 0, b"crawl", b"pause")])
        until(lambda: first.heard and second.heard, [first, second])
        assert [r.value for r in first.heard] == [r.value for r in second.heard] == [b"pause"]
        assert harness.transport.committed("frontier", ("control",)) == {}


def _owns_all(member: Member) -> bool:
    return len(member.owned) == member.harness.partitions


def _together(members: list[Member]) -> bool:
    owned = Counter(partition for member in members for partition in member.owned)
    return owned == Counter(range(members[0].harness.partitions)) and all(member.owned for member in members)
