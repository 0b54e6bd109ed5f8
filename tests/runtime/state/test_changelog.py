"""A replica and its changelog: identity, standing, slices, the size of the log, and what it refuses."""

from collections.abc import Sequence

import msgspec
import pytest

from gregor.errors import CorruptState, ForeignState
from gregor.runtime.state.changelog import FOREIGN_BYTES, MOST_FOREIGN, Replica, StoreIdentity, StoreStanding
from gregor.runtime.state.packed import Mutation, Operation, Piece, apply_piece, pack_delta, pack_piece
from gregor.runtime.state.store import META, StateReader, StateSpec, StateWriter, Store
from schemas.changelog import CHECKPOINT_KEY, Checkpoint, decode_checkpoint, encode_checkpoint
from tests.runtime.state.conftest import Open
from tests.runtime.state.stores import FAMILIES, IDENTITY, SPEC, contents

SEEN, QUEUE, SERVERS = range(3)


class Log:
    """A changelog as a list."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []
        self.start = self.end = 0

    def commit(self, replica: Replica, *operations: Operation) -> None:
        mutations = [Mutation(b"server", pack_delta(operations))] if operations else []
        records = replica.prepare(mutations, Checkpoint(sequence=0, positions={}))
        self.records += [(self.end + number, value) for number, (_, value) in enumerate(records)]
        self.end += len(records) + 1
        replica.apply_live(records, self.end)
        before = replica.truncate_before()
        if before is not None:
            self.records = [record for record in self.records if record[0] >= before]
            self.start = before
            replica.truncated(before)

    @property
    def bytes(self) -> int:
        return sum(len(value) for _, value in self.records)


def restored(store: Store, log: Log, spec: StateSpec = SPEC) -> Replica:
    replica = Replica.open(store, spec, IDENTITY)
    assert replica.standing(log.start, log.end) is StoreStanding.NEW
    replica.replay(log.records, log.end)
    return replica


def test_a_commit_is_pieces_then_deltas_then_the_checkpoint(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    Log().commit(replica, (QUEUE, b"a", b"1"))
    mutation = Mutation(b"example.com", pack_delta([(QUEUE, b"b", b"2" * 100)]))
    records = replica.prepare([mutation], Checkpoint(sequence=0, positions={"discovered": 7}, now_ms=5))
    assert [value[:1] for _, value in records] == [b"S", b"S", b"S", b"D", b"C"]
    assert [key for key, _ in records] == [b"seen", b"queue", b"servers", b"example.com", CHECKPOINT_KEY]
    checkpoint = decode_checkpoint(records[-1][1])
    assert (checkpoint.sequence, checkpoint.positions, checkpoint.now_ms) == (2, {"discovered": 7}, 5)


def test_a_commit_without_deltas_is_its_checkpoint_alone(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    records = replica.prepare([], Checkpoint(sequence=0, positions={}))
    assert [key for key, _ in records] == [CHECKPOINT_KEY]


def test_a_checkpoint_that_says_nothing_new_but_the_time_is_known_as_such(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    said = Checkpoint(sequence=0, positions={"discovered": 5}, now_ms=1, counters={"admitted": 2}, member="a")
    assert not replica.stands_as(said)
    records = replica.prepare([], said)
    replica.apply_live(records, 2)
    assert replica.stands_as(msgspec.structs.replace(said, now_ms=2))
    changes: list[dict[str, object]] = [
        {"positions": {"discovered": 6}},
        {"counters": {}},
        {"member": "b"},
        {"config_version": "2"},
    ]
    for change in changes:
        assert not replica.stands_as(msgspec.structs.replace(said, **change))


def test_snapshot_pieces_have_about_as_many_bytes_as_the_deltas(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, *((QUEUE, number.to_bytes(4, "big"), bytes(96)) for number in range(1000)))
    mutation = Mutation(b"server", pack_delta([(QUEUE, b"new", bytes(2000))]))
    records = replica.prepare([mutation], Checkpoint(sequence=0, positions={}))
    pieces = sum(len(value) for _, value in records if value[:1] == b"S")
    assert 2000 < pieces < 2300


def test_checkpoints_without_deltas_are_paid_back_in_snapshot_bytes(store: Store) -> None:
    """Otherwise an idle partition's log would grow and no cycle would ever shorten it."""
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, *((QUEUE, number.to_bytes(4, "big"), bytes(96)) for number in range(200)))
    for _ in range(1000):
        log.commit(replica)
    idle = log.bytes
    log.commit(replica, (QUEUE, b"x", b"x"))
    log.commit(replica, (QUEUE, b"x", b"x"))
    assert log.bytes < idle / 2


def test_a_thousand_updates_of_the_same_keys_do_not_make_the_log_longer(store: Store, open_store: Open) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    keys = [number.to_bytes(4, "big") for number in range(50)]
    log.commit(replica, *((QUEUE, key, bytes(100)) for key in keys))
    state = sum(len(key) + len(value) for key, value in replica.reader.scan("queue"))
    longest = 0
    for update in range(1000):
        log.commit(replica, *((QUEUE, key, bytes([update % 256]) * 100) for key in keys[update % 5 :: 5]))
        longest = max(longest, log.bytes)
    assert longest < 6 * state
    other = restored(open_store("other"), log)
    assert contents(other.reader) == contents(replica.reader)


def test_a_restored_replica_goes_on_within_the_cycle(store: Store, open_store: Open) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, *((QUEUE, number.to_bytes(4, "big"), bytes(96)) for number in range(100)))
    log.commit(replica, (QUEUE, b"x", b"x"))
    assert replica.cursor.key != b""
    other = restored(open_store("other"), log)
    assert (other.cursor, other.cycle_start, other.applied) == (replica.cursor, replica.cycle_start, replica.applied)
    again = Replica.open(open_store("store"), SPEC, IDENTITY)
    assert (again.cursor, again.cycle_start, again.applied) == (replica.cursor, replica.cycle_start, replica.applied)


def test_a_slice_that_ends_within_a_commit_waits_for_its_checkpoint(store: Store, open_store: Open) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (QUEUE, b"large", bytes(500)), (SERVERS, b"a", b"1"))
    log.commit(replica, (SERVERS, b"a", b"2"))
    other = Replica.open(open_store("other"), SPEC, IDENTITY)
    *first, last = log.records
    other.replay(first, last[0])
    assert (other.sequence, other.reader.get("servers", b"a")) == (1, b"1")
    assert other.applied < first[-1][0]
    other.replay([last], log.end)
    assert (other.sequence, other.applied, other.reader.get("servers", b"a")) == (2, log.end, b"12")


def test_records_that_were_applied_before_are_skipped(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (SERVERS, b"a", b"1"))
    replica.replay(log.records, log.end)
    assert replica.reader.get("servers", b"a") == b"1"


def test_what_deltas_made_of_a_missing_state_is_gone_after_the_cycle(store: Store, open_store: Open) -> None:
    """The live delta was folded away; in the restore it met no block and stayed small, until the piece replaced the range."""
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (SEEN, b"ax", bytes(200)), (SEEN, b"gr", b"12345678"))
    log.commit(replica, (SEEN, b"gr", b"abcdefgh"))
    while replica.cycle_start >= 0:
        log.commit(replica, (QUEUE, b"q", b"q"))
    assert log.records[0][1].startswith(b"S")
    other = restored(open_store("other"), log)
    assert contents(other.reader) == contents(replica.reader)


@pytest.mark.parametrize("fill", range(0, 80, 10))
def test_a_group_is_restored_whole_wherever_the_budget_ends(fill: int, store: Store, open_store: Open) -> None:
    """The commit that logs the group's block as it was folds the group's delta into it."""
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (SEEN, b"gr", bytes(60)), (SEEN, b"gr", b"11"), (SEEN, b"zz", bytes(60)))
    log.commit(replica, (SEEN, b"gr", b"2" * 10), (QUEUE, b"q", bytes(fill)))
    while replica.cycle_start >= 0:
        log.commit(replica, (QUEUE, b"q", b"q"))
    other = restored(open_store("other"), log)
    assert contents(other.reader) == contents(replica.reader)


def test_a_family_may_take_in_its_pieces_in_its_own_way(store: Store) -> None:
    met: list[tuple[bytes, list[bytes]]] = []

    def take(reader: StateReader, piece: Piece, writer: StateWriter) -> None:
        met.append((piece.start, [key for key, _ in reader.scan("queue")]))
        for key, value in piece.entries:
            writer.put("queue", key, value.upper())

    spec = msgspec.structs.replace(SPEC, apply_piece={"queue": take})
    replica = Replica.open(store, spec, IDENTITY)
    pieces = [
        Piece(QUEUE, b"", b"b", ((b"a", b"one"),)),
        Piece(QUEUE, b"b", None, ((b"b", b"two"),)),
        Piece(SERVERS, b"", None, ((b"c", b"three"),)),
    ]
    values = [*map(pack_piece, pieces), encode_checkpoint(Checkpoint(sequence=1, positions={}))]
    replica.replay(enumerate(values), len(values))
    assert met == [(b"", []), (b"b", [b"a"])]
    assert contents(replica.reader) == {"seen": {}, "queue": {b"a": b"ONE", b"b": b"TWO"}, "servers": {b"c": b"three"}}


class Watched:
    """A spec whose queue notes from which keys on pieces were taken in."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.spec = msgspec.structs.replace(SPEC, apply_piece={"queue": self._take})

    def _take(self, _: StateReader, piece: Piece, writer: StateWriter) -> None:
        self.taken.append(piece.start)
        apply_piece(FAMILIES, piece, writer)


def test_a_store_that_followed_the_log_from_its_beginning_passes_over_pieces(store: Store, open_store: Open) -> None:
    replica, log, watched = Replica.open(store, SPEC, IDENTITY), Log(), Watched()
    log.commit(replica, *((QUEUE, number.to_bytes(4, "big"), bytes(96)) for number in range(100)))
    for number in range(3):
        log.commit(replica, (QUEUE, b"new %d" % number, bytes(500)))
    assert log.start == 0
    assert sum(value[:1] == b"S" for _, value in log.records) > 3
    other = restored(open_store("other"), log, watched.spec)
    assert watched.taken == []
    assert contents(other.reader) == contents(replica.reader)


def test_a_store_that_began_later_takes_in_pieces_until_a_cycle_is_whole_and_then_passes_over_them(
    store: Store, open_store: Open
) -> None:
    replica, log, watched = Replica.open(store, SPEC, IDENTITY), Log(), Watched()
    log.commit(replica, *((QUEUE, number.to_bytes(4, "big"), bytes(96)) for number in range(100)))
    while log.start == 0:
        log.commit(replica, (QUEUE, b"again", bytes(500)))
    for _ in range(5):
        log.commit(replica, (QUEUE, b"again", bytes(500)))
    middle = next(at for at, (offset, _) in enumerate(log.records) if offset > log.start + 20)
    other = Replica.open(open_store("other"), watched.spec, IDENTITY)
    other.standing(log.start, log.end)
    other.replay(log.records[:middle], log.records[middle][0])
    assert watched.taken
    assert not other.exact
    again = restored_further(open_store("other"), log, watched)
    assert again.exact
    assert contents(again.reader) == contents(replica.reader)
    # Each part of the queue came once; the cycle that runs now has begun with it again.
    assert len(watched.taken) == len(set(watched.taken))
    assert replica.cursor.key > b""


def restored_further(store: Store, log: Log, watched: Watched) -> Replica:
    """After a restart in the middle of a restore."""
    replica = Replica.open(store, watched.spec, IDENTITY)
    assert replica.standing(log.start, log.end) is StoreStanding.BEHIND
    replica.replay([record for record in log.records if record[0] >= replica.applied], log.end)
    return replica


def test_two_partitions_of_one_store_do_not_touch_each_other(store: Store) -> None:
    one = Replica.open(store, SPEC, IDENTITY, prefix=b"\x00\x01")
    two = Replica.open(store, SPEC, msgspec.structs.replace(IDENTITY, partition=4), prefix=b"\x00\x02")
    Log().commit(one, (QUEUE, b"a", b"1"))
    Log().commit(two, (QUEUE, b"a", b"2"))
    assert one.reader.get("queue", b"a") == b"1"
    assert two.reader.get("queue", b"a") == b"2"
    assert Replica.open(store, SPEC, IDENTITY, prefix=b"\x00\x03").standing(0, 0) is StoreStanding.NEW


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("cluster", "cluster-b", "expected cluster 'cluster-b', found cluster 'cluster-a'"),
        ("topic", "topic-b", "expected topic 'topic-b', found topic 'topic-a'"),
        ("crawl", "other", "expected crawl 'other', found crawl 'crawl'"),
        ("partition", 4, "expected partition 4, found partition 3"),
    ],
)
def test_the_state_of_something_else_is_refused_by_name(field: str, value: str | int, said: str, store: Store) -> None:
    Log().commit(Replica.open(store, SPEC, IDENTITY), (QUEUE, b"a", b"1"))
    other: StoreIdentity = msgspec.structs.replace(IDENTITY, **{field: value})
    with pytest.raises(ForeignState) as refused:
        Replica.open(store, SPEC, other)
    assert said in str(refused.value)
    assert "gregor rebuild" in str(refused.value)


def test_state_ahead_of_the_log_is_refused(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (QUEUE, b"a", b"1"))
    assert replica.standing(0, log.end) is StoreStanding.BEHIND
    with pytest.raises(ForeignState, match=rf"offset {log.end - 1} .* found state up to offset {log.end}"):
        replica.standing(0, log.end - 1)


def test_state_that_the_log_has_outrun_asks_to_be_wiped(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    log = Log()
    log.commit(replica, (QUEUE, b"a", b"1"))
    assert replica.standing(replica.applied + 1, replica.applied + 9) is StoreStanding.OUTRUN


def test_a_restore_killed_before_its_first_checkpoint_begins_anew(store: Store, open_store: Open) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    piece = pack_piece(Piece(QUEUE, b"", None, ((b"left", b"over"),)))
    replica.replay([(7, piece)], 8)
    again = Replica.open(open_store("store"), SPEC, IDENTITY)
    assert again.standing(7, 20) is StoreStanding.OUTRUN


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([b"C{"], "not a record of type Checkpoint"),
        ([b"S\x01"], "ends within an entry"),
        ([b"D\x00", encode_checkpoint(Checkpoint(sequence=1, positions={}))], "ends within an operation"),
        ([pack_piece(Piece(9, b"", None, ())), encode_checkpoint(Checkpoint(sequence=1, positions={}))], "number 9"),
        ([pack_delta([]), pack_piece(Piece(0, b"", None, ()))], "before its deltas"),
    ],
)
def test_a_record_that_cannot_be_replayed_is_named_with_its_offset(
    values: Sequence[bytes | None], said: str, store: Store
) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    with pytest.raises(CorruptState, match=rf"offset {40 + len(values)} cannot be replayed: .*{said}"):
        replica.replay(enumerate(values, 41), 50)


FOREIGN = [None, b"", b"X?", b"{}", b"Dear Sir", b"Sincerely", b"Cheers", b"hello" * 1000, b"\0\0\0\0\1"]


def test_what_cannot_be_a_record_of_ours_is_passed_over_wherever_it_stands(store: Store, open_store: Open) -> None:
    log, live = Log(), Replica.open(store, SPEC, IDENTITY)
    for number in range(3):
        log.commit(live, (QUEUE, b"a", b"%d" % number), (SERVERS, b"b", b"%d" % number))
    mixed = [value for _, record in log.records for value in (*FOREIGN, *FOREIGN, record, *FOREIGN)]
    replica = Replica.open(open_store("other"), SPEC, IDENTITY)
    # Where none of the offsets in the checkpoints lies.
    first, end = 10_000, 10_000 + len(mixed)
    replica.standing(first, end)
    replica.replay(enumerate(mixed, first), end)
    assert contents(replica.reader) == contents(live.reader)
    assert (replica.sequence, replica.applied) == (3, end)
    assert len(replica.foreign) == MOST_FOREIGN < len(mixed) - len(log.records)
    assert [one.size for one in replica.foreign[:2]] == [-1, 0]
    long = replica.foreign[7]
    assert (long.offset, long.size, long.beginning) == (first + 7, 5000, (b"hello" * 1000)[:FOREIGN_BYTES])


def test_a_gap_in_the_checkpoints_is_refused(store: Store) -> None:
    replica = Replica.open(store, SPEC, IDENTITY)
    replica.replay([(0, encode_checkpoint(Checkpoint(sequence=4, positions={})))], 1)
    with pytest.raises(CorruptState, match=r"expected checkpoint 5 .* found checkpoint 6"):
        replica.replay([(1, encode_checkpoint(Checkpoint(sequence=6, positions={})))], 2)
    assert replica.sequence == 4


def test_a_store_that_does_not_know_itself_is_corrupt(store: Store) -> None:
    batch = store.begin()
    store.writer(batch).put(META, b"replica", b"?")
    store.write(batch)
    with pytest.raises(CorruptState, match="unreadable"):
        Replica.open(store, SPEC, IDENTITY)
