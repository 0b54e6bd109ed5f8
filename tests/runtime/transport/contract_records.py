"""What every engine of the port promises about records: reading, bounds, trimming, pausing, broadcast."""

import time
from collections import Counter

import pytest
from msgspec.structs import replace

from gregor.errors import UnknownOutcome
from gregor.runtime.transport.port import (
    Assigned,
    Batch,
    Output,
    Record,
    Revoked,
    TopicPartition,
)
from tests.runtime.transport.harness import Harness
from tests.runtime.transport.member import (
    EXTRACTOR,
    FETCHER,
    FRONTIER,
    INPUTS,
    VIEWS,
    Member,
    fill,
    seen,
    settle,
    until,
)


class RecordsContract:
    """Part of ``TransportContract``."""

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
