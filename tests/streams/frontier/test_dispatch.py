"""Which orders go out, and when."""

from itertools import pairwise

import pytest

from gregor.errors import CorruptState
from schemas.codec import LARGEST_RECORD, encode
from schemas.schedule import FetchOrder
from streams.frontier.dispatch.dispatch import DRAINED, EFFORT, Quota
from streams.frontier.storage import queue
from tests.streams.frontier.rig import T0, Rig, answer, answer_with, configure, links, paths_of, result_of, rules


def drain(rig: Rig, now: int) -> list[FetchOrder]:
    """Everything that goes out while each order is answered at once."""
    made = []
    while orders := rig.frontier.dispatch(now):
        made += orders
        for order in orders:
            rig.frontier.confirm(answer(order), now)
    return made


def test_a_servers_urls_go_out_by_depth_then_priority() -> None:
    with Rig(configure(fetch={"urls_per_order": 1})) as rig:
        rig.frontier.discover(
            [
                links("a.example", "/deep", depth=5),
                links("a.example", "/plain", "/spam", depth=2, flags=(0, 1)),
                links("a.example", "/seed", depth=2, kind="seed"),
            ],
            T0,
        )
        assert [paths_of(order)[0] for order in drain(rig, T0)] == ["/seed", "/plain", "/spam", "/deep"]


def test_priority_counts_before_depth_when_configured() -> None:
    config = configure(fetch={"urls_per_order": 1}, frontier={"order": "priority-first-key"})
    with Rig(config) as rig:
        found = [links("a.example", "/spam", depth=1, flags=(1,)), links("a.example", "/deep", depth=9)]
        rig.frontier.discover(found, T0)
        assert [paths_of(order)[0] for order in drain(rig, T0)] == ["/deep", "/spam"]


def test_one_order_of_a_server_is_in_flight_and_the_next_waits_for_its_delay() -> None:
    with Rig(configure(fetch={"delay_s": 10.0, "urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (first,) = rig.frontier.dispatch(T0)
        assert rig.frontier.dispatch(T0 + 60_000) == []
        rig.frontier.confirm(answer(first), T0 + 60_200)
        rig.commit()
        rig.restart()
        assert rig.frontier.dispatch(T0 + 70_199) == []
        assert rig.frontier.next_due_ms() == T0 + 70_200
        (second,) = rig.frontier.dispatch(T0 + 70_200)
        assert paths_of(first) != paths_of(second)


def test_the_delay_is_the_greatest_of_configuration_response_time_and_crawl_delay() -> None:
    with Rig(configure(fetch={"delay_s": 1.0, "delay_factor": 2.0, "urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2", "/3")], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert order.delay_ms == 1000
        from schemas.fetched import Timings

        rig.frontier.confirm(answer(order, timings=Timings(total=4000)), T0)
        (order,) = rig.frontier.dispatch(T0 + 8000)
        assert order.delay_ms == 8000


def test_an_order_has_no_more_urls_than_twenty_seconds_of_delay_allow() -> None:
    with Rig(configure(fetch={"delay_s": 6.0, "urls_per_order": 16})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(20)))], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert len(order.urls) == 3
    with Rig(configure(fetch={"delay_s": 31.0})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert len(order.urls) == 1


def test_what_is_in_flight_is_bounded_and_a_server_without_answer_holds_up_no_other() -> None:
    with Rig(configure(fetch={"orders_in_flight": 3, "urls_per_order": 1})) as rig:
        rig.frontier.discover([links(f"s{n}.example", "/1", "/2") for n in range(6)], T0)
        out = rig.frontier.dispatch(T0)
        assert len(out) == 3
        assert rig.frontier.dispatch(T0) == []
        silent = out[0].server
        served: set[str] = set()
        waiting = out[1:]
        for _ in range(20):
            for order in waiting:
                rig.frontier.confirm(answer(order), T0)
            waiting = rig.frontier.dispatch(T0)
            served.update(order.server for order in waiting)
        assert served | {out[1].server, out[2].server} == {f"s{n}.example" for n in range(6)} - {silent}


def test_a_large_server_starves_no_small_one_nor_the_other_way_round() -> None:
    with Rig(configure(fetch={"orders_in_flight": 1, "urls_per_order": 1, "delay_s": 0.01})) as rig:
        rig.frontier.discover([links("large.example", *(f"/{n}" for n in range(300)))], T0)
        turns: list[str] = []
        now = T0
        for step in range(200):
            rig.frontier.discover([links(f"small{step}.example", "/")], now)
            now += 20
            for order in rig.frontier.dispatch(now):
                turns.append(order.server)
                rig.frontier.confirm(answer(order), now)
        large = turns.count("large.example")
        assert large > 5, "the large server is served beside ever new small ones"
        assert len(set(turns)) > 50, "small ones are served beside the large"


def test_ageing_lets_a_deep_head_overtake_fresh_shallow_ones_after_its_time() -> None:
    config = configure(fetch={"orders_in_flight": 1, "urls_per_order": 1}, frontier={"ageing_s": 10.0})
    with Rig(config) as rig:
        rig.frontier.discover([links("deep.example", "/", depth=5)], T0)
        rig.frontier.discover([links("shallow.example", "/", depth=1)], T0 + 1000)
        assert rig.frontier.dispatch(T0 + 1000)[0].server == "shallow.example"
    with Rig(config) as rig:
        rig.frontier.discover([links("deep.example", "/", depth=5)], T0)
        rig.frontier.discover([links("shallow.example", "/", depth=1)], T0 + 41_000)
        assert rig.frontier.dispatch(T0 + 41_000)[0].server == "deep.example"


def test_urls_admitted_since_the_checkpoint_and_before_it_go_out_in_one_order_of_places() -> None:
    with Rig(configure(fetch={"urls_per_order": 3})) as rig:
        rig.frontier.discover([links("a.example", "/d1", depth=1), links("a.example", "/d3", depth=3)], T0)
        rig.commit()
        rig.frontier.discover([links("a.example", "/d2", depth=2), links("a.example", "/d4", depth=4)], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert paths_of(order) == ["/d1", "/d2", "/d3"]
        rig.frontier.confirm(answer(order), T0)
        (order,) = rig.frontier.dispatch(T0)
        assert paths_of(order) == ["/d4"]
        rig.commit()
        rig.move()
        assert rig.frontier.dispatch(T0) == []


def test_what_lies_behind_the_head_is_deleted_by_range_and_what_comes_back_is_kept(monkeypatch: object) -> None:
    with Rig(configure(fetch={"urls_per_order": 5})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(60)))], T0)
        rig.commit()
        live = rig.frontier.state.servers.open(b"a.example")
        live.record.popped = queue.DELETE_BEHIND - 5
        (order,) = rig.frontier.dispatch(T0)
        assert live.behind
        mixed = tuple(result_of(order, number, "ok" if number else "cancelled") for number in range(5))
        rig.frontier.confirm(answer_with(order, mixed), T0)
        rig.commit()
        rig.move()
        assert rig.counters["queued"] == 56
        left = [path for order in drain(rig, T0 + 1000) for path in paths_of(order)]
        assert len(left) == len(set(left)) == 56
        assert paths_of(order)[0] in left


def test_a_paused_server_gets_no_orders_until_it_is_resumed() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/"), links("b.example", "/")], T0)
        rig.paused.add("a.example")
        rig.frontier.repause(["a.example"])
        assert [order.server for order in rig.frontier.dispatch(T0)] == ["b.example"]
        rig.commit()
        rig.restart()
        assert rig.frontier.dispatch(T0) == []
        rig.paused.clear()
        rig.frontier.repause(["a.example"])
        assert [order.server for order in rig.frontier.dispatch(T0)] == ["a.example"]


def test_a_quota_of_pages_is_never_exceeded() -> None:
    with Rig() as rig:
        rig.frontier.discover([links(f"s{n}.example", *(f"/{m}" for m in range(5))) for n in range(5)], T0)
        quota = Quota(7)
        orders = rig.frontier.dispatch(T0, quota)
        assert sum(len(order.urls) for order in orders) == 7
        assert rig.frontier.dispatch(T0, quota) == []
        assert rig.frontier.next_due_ms(ordering=False) is not None


def test_a_clock_that_steps_back_holds_up_no_server_whose_time_had_come() -> None:
    with Rig(configure(fetch={"delay_s": 2.0})) as rig:
        rig.frontier.discover([links("a.example", *[f"/{n}" for n in range(20)])], T0)
        (first,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(first), T0)
        rig.frontier.discover([links("a.example", "/0")], T0 + 60_000)
        assert [order.server for order in rig.frontier.dispatch(T0 - 3_600_000)] == ["a.example"]


def test_a_partition_whose_clock_was_once_ahead_goes_on_by_what_passes() -> None:
    day = 24 * 3600 * 1000
    with Rig(configure(fetch={"delay_s": 2.0, "urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2", "/3")], T0 + day)
        (first,) = rig.frontier.dispatch(T0 + day)
        rig.frontier.confirm(answer(first), T0 + day)
        rig.commit()
        rig.restart()
        assert rig.frontier.dispatch(T0) == []
        assert rig.frontier.next_due_ms() == T0 + 2_000
        assert rig.frontier.dispatch(T0 + 1_999) == []
        (second,) = rig.frontier.dispatch(T0 + 2_000)
        assert second.deadline_ms - first.deadline_ms == 2_000 - day, "fetchers keep it by their own clocks"
        rig.commit()
        rig.frontier.confirm(answer(second), T0 + 2_100)
        rig.abort()
        rig.frontier.confirm(answer(second), T0 + 2_500)
        assert rig.frontier.next_due_ms() == T0 + 4_500
        assert len(rig.frontier.dispatch(T0 + 4_500)) == 1


def test_a_clock_that_steps_back_while_nothing_is_due_is_followed_from_there_on() -> None:
    with Rig(configure(fetch={"delay_s": 2.0, "urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (first,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(first), T0)
        assert rig.frontier.dispatch(T0 + 500) == []
        assert rig.frontier.dispatch(T0 - 3_600_000) == []
        assert rig.frontier.next_due_ms() == T0 - 3_600_000 + 1_500
        assert len(rig.frontier.dispatch(T0 - 3_600_000 + 1_500)) == 1


def test_the_queue_of_a_server_that_is_given_up_is_emptied_in_parts() -> None:
    with Rig(configure(retry={"server_attempts": 1, "attempts": 0})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{number}" for number in range(12_000)))], T0)
        rig.commit()
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "dns"), T0)
        failed = [rig.counters["failed"]]
        while rig.frontier.next_due_ms() == 0:
            assert rig.frontier.dispatch(T0) == []
            failed.append(rig.counters["failed"])
        assert failed[-1] == 12_000
        assert max(after - before for before, after in pairwise(failed)) < EFFORT + DRAINED
        assert rig.frontier.next_due_ms() is None


def test_nothing_is_due_when_nothing_is_queued_or_leased() -> None:
    with Rig() as rig:
        assert rig.frontier.next_due_ms() is None
        rig.frontier.discover([links("a.example", "/")], T0)
        drain(rig, T0)
        assert rig.frontier.next_due_ms() is None
        assert rig.counters["queued"] == rig.counters["leased"] == 0


def test_a_queue_that_lost_urls_is_an_error_and_not_an_endless_search() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        rig.frontier.mutations()
        rig.frontier.committed()
        with pytest.raises(CorruptState, match=r"2 URLs or more in the queue of a\.example, found 0"):
            rig.frontier.dispatch(T0)


@pytest.mark.parametrize("obey", [False, True])
def test_an_order_of_the_longest_urls_fits_into_a_record(obey: bool) -> None:
    config = configure(
        traps={"max_path_length": 8000},
        fetch={"urls_per_order": 1000},
        server={"rules": [{"match": "a.example", "obey_robots": obey}]},
    )
    # What JSON writes with six bytes: a record may come from anybody.
    paths = {f"/{number:04}" + "\1" * 7900 for number in range(800)}
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example", *paths)], T0)
        ordered: list[str] = []
        while orders := rig.frontier.dispatch(T0):
            (order,) = orders
            assert len(encode(order)) <= LARGEST_RECORD
            said = rules(order, "rules", "user-agent: *\ndisallow: /07") if order.kind == "robots" else answer(order)
            rig.frontier.confirm(said, T0)
            ordered += [path for path in paths_of(order) if order.kind == "pages"]
            rig.commit()
        assert len(ordered) == len(set(ordered)) == rig.counters["confirmed"] == (700 if obey else 800)
