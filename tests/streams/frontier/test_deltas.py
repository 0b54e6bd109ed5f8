"""What the changelog says of a server: in records that a broker takes, however much there is, and to the same end."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.runtime.state.packed import Operation
from schemas.codec import Undecodable
from streams.frontier.storage.deltas import STATE, pack_server
from streams.frontier.storage.families import DOMAINS, FAMILIES, NUMBERS, QUEUE, ROBOTS, SERVERS
from streams.frontier.storage.server import ServerRecord, encode_server
from tests.runtime.state.stores import Dictionary
from tests.streams.frontier.rig import T0, Rig, answer, configure, contents, links

HOUR = 3_600_000
NAME = b"a.example"
PLACES = [number.to_bytes(11, "big") for number in range(200_000)]
RECORD_BYTES = 1024 * 1024
LONG = b"/" + b"x" * 1800
BEFORE, AFTER = encode_server(ServerRecord(admitted=1)), encode_server(ServerRecord(admitted=2))


def test_a_server_with_little_to_say_makes_one_record() -> None:
    own: list[Operation] = [(NUMBERS[SERVERS], NAME, BEFORE)]
    assert len(list(pack_server(NAME, PLACES[1], {PLACES[2]}, {PLACES[3]: LONG}, own))) == 1
    assert len(list(pack_server(NAME, b"", frozenset(), {}, own))) == 1


class Noted(Dictionary):
    """A state that notes in which order keys of the queue came."""

    def __init__(self) -> None:
        super().__init__()
        self.families = {family: {} for family in FAMILIES}
        self.came: list[bytes] = []

    def put_all(self, family: str, entries: Iterable[tuple[bytes, bytes]]) -> None:
        entries = list(entries)
        self.came += [key for key, _ in entries]
        super().put_all(family, entries)


@given(st.dictionaries(st.binary(min_size=11, max_size=11), st.binary(max_size=300), max_size=40))
def test_a_queue_of_any_places_and_values_comes_whole_and_in_order(added: dict[bytes, bytes]) -> None:
    state = Noted()
    STATE.apply(state, [one.delta for one in pack_server(NAME, b"", frozenset(), added, ())], state)
    assert state.families[QUEUE] == {NAME + b"\0" + place: value for place, value in added.items()}
    assert state.came == sorted(state.came)


@given(st.data())
def test_a_damaged_delta_is_refused_or_read_and_never_anything_else(data: st.DataObject) -> None:
    added = {PLACES[2]: b"one", PLACES[1]: b"three", PLACES[3]: b""}
    (record,) = pack_server(NAME, PLACES[0], {PLACES[4]}, added, [(NUMBERS[SERVERS], NAME, BEFORE)])
    damaged = bytearray(record.delta[: data.draw(st.integers(2, len(record.delta)))])
    at = data.draw(st.integers(2, len(damaged))) - 1
    if at > 1:
        damaged[at] = data.draw(st.integers(0, 255))
    state = Noted()
    try:
        STATE.apply(state, [bytes(damaged)], state)
    except Undecodable:
        return


@pytest.mark.parametrize("length", [2, 15, 20, 40, 60])
def test_a_delta_that_ends_within_its_queue_is_refused(length: int) -> None:
    (record,) = pack_server(NAME, b"", frozenset(), {PLACES[1]: LONG}, ())
    with pytest.raises(Undecodable):
        STATE.apply(Noted(), [record.delta[:length]], Noted())


def test_all_that_one_checkpoint_may_hold_of_a_server_is_cut_into_records_that_lead_where_one_would() -> None:
    first, second = PLACES[:2000], PLACES[2000:4000]
    rules = b"r" * (3 * RECORD_BYTES)
    changes: list[Operation] = [(NUMBERS[DOMAINS], place, LONG) for place in first]
    changes += [(NUMBERS[ROBOTS], NAME, rules), (NUMBERS[SERVERS], NAME, AFTER)]
    with Rig() as rig:
        own: list[Operation] = [(NUMBERS[SERVERS], NAME, BEFORE)]
        rig.write(list(pack_server(NAME, b"", frozenset(), dict.fromkeys([*first, *second], LONG), own)), {})
        # The first ones go by their range, and one of them comes back; of those that go one by one another comes back.
        kept = {first[7]: b"again", second[7]: b"again"}
        records = list(pack_server(NAME, second[0], {*second, *PLACES[4000:]}, kept, changes))
        assert len(records) > 8
        assert max(len(one.delta) for one in records[:-1]) < len(rules) + 2 * RECORD_BYTES
        rig.write(records, {})
        state = contents(rig.replica.reader)
        assert state[QUEUE] == {NAME + b"\0" + place: value for place, value in kept.items()}
        assert state[DOMAINS] == dict.fromkeys(first, LONG)
        assert (state[ROBOTS], state[SERVERS]) == ({NAME: rules}, {NAME: AFTER})
        rig.move(slice_length=3)


def test_a_sitemap_may_hasten_all_pages_of_a_server_at_once() -> None:
    config = configure(
        revisit={"mode": "fixed", "interval_hours": 2.0}, fetch={"urls_per_order": 1000}, traps={"query_variants": 0}
    )
    paths = [f"/{number}{'x' * 1700}" for number in range(4000)]
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example", *paths)], T0)
        while orders := rig.frontier.dispatch(T0):
            rig.frontier.confirm(answer(orders[0]), T0)
            rig.commit()
        now = T0 + HOUR
        said = links("a.example", *paths, kind="sitemap", lastmods_ms=(T0 + 1,) * len(paths))
        rig.frontier.discover([said], now)
        rig.commit()
        assert rig.counters["hastened"] == len(paths)
        rig.move()


def test_the_longest_paths_may_all_come_at_once() -> None:
    with Rig(configure(traps={"max_path_length": 8000})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{number}{'x' * 7900}" for number in range(900)))], T0)
        rig.commit()
        assert rig.counters["queued"] == 900
        rig.move()


def test_the_budgets_of_very_many_domains_may_change_at_once() -> None:
    with Rig(configure(crawl={"server_budget": 3}, partitions={"partition_by": "domain"})) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        for number in range(90_000):
            rig.frontier.state.domain_admits(f"{number:063}.example", 1)
        rig.commit()
        assert len(contents(rig.replica.reader)[DOMAINS]) == 90_001
        rig.move()
