"""Orders that are answered, late, twice or never."""

from tests.streams.frontier.rig import T0, Rig, answer, answer_with, configure, links, paths_of, result_of, rules

CONFIG = {
    "fetch": {"total_timeout_s": 20.0, "delay_s": 2.0},
    "frontier": {"queue_wait_s": 30.0, "clock_tolerance_s": 5.0},
}


def test_the_deadline_has_room_for_the_wait_and_for_every_request() -> None:
    with Rig(configure(**CONFIG)) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2", "/3")], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert order.deadline_ms == T0 + 30_000 + 3 * (2_000 + 20_000)


def test_a_lease_returns_only_after_deadline_longest_request_and_tolerance_and_counts_against_no_url() -> None:
    with Rig(configure(**CONFIG)) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.commit()
        rig.restart()
        returns = order.deadline_ms + 20_000 + 5_000
        assert rig.frontier.next_due_ms() == returns
        assert rig.frontier.dispatch(returns - 1) == []
        assert rig.counters["leased"] == 2
        assert rig.frontier.dispatch(returns) == []
        assert rig.counters["queued"] == 2
        (again,) = rig.frontier.dispatch(returns + 2_000)
        assert paths_of(again) == paths_of(order)
        assert again.attempt == 1
        assert again.lease != order.lease


def test_a_url_is_not_ordered_again_while_its_result_may_come_for_as_long_as_the_protocol_says() -> None:
    config = configure(fetch={"delay_s": 2.0})
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        over = T0 + 190_000 + 2_000
        assert rig.frontier.dispatch(over - 1) == []
        rig.frontier.confirm(answer(order), over - 1)
        assert rig.counters["confirmed"] == 1
        assert rig.frontier.dispatch(over + 10_000) == []


def test_after_a_lease_that_nobody_answered_its_server_is_left_alone_for_the_delay() -> None:
    """A request may have started as late as at the deadline."""
    with Rig(configure(robots={"obey": True}, **CONFIG)) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (asked,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(asked, delay_ms=3_600_000), T0)
        (order,) = rig.frontier.dispatch(T0 + 3_600_000)
        returns = rig.frontier.next_due_ms()
        assert returns is not None
        assert rig.frontier.dispatch(returns) == []
        rig.commit()
        rig.restart()
        assert rig.frontier.next_due_ms() == returns + 3_600_000
        assert rig.frontier.dispatch(returns + 3_599_999) == []
        (again,) = rig.frontier.dispatch(returns + 3_600_000)
        assert paths_of(again) == paths_of(order)


def test_a_late_result_and_a_repeated_one_are_ignored() -> None:
    with Rig(configure(**CONFIG)) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (first,) = rig.frontier.dispatch(T0)
        rig.frontier.dispatch(first.deadline_ms + 25_000)
        (second,) = rig.frontier.dispatch(first.deadline_ms + 27_000)
        rig.frontier.confirm(answer(first), second.created_ms)
        assert rig.counters["results_ignored"] == 1
        assert rig.counters["leased"] == 2
        rig.frontier.confirm(answer(second), second.created_ms)
        rig.frontier.confirm(answer(second), second.created_ms)
        assert rig.counters["results_ignored"] == 2
        assert rig.counters["confirmed"] == 2
        assert rig.counters["leased"] == 0


def test_a_result_in_another_servers_name_is_ignored() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/"), links("b.example", "/")], T0)
        one, other = rig.frontier.dispatch(T0)
        from msgspec.structs import replace

        rig.frontier.confirm(replace(answer(one), server=other.server), T0)
        assert rig.counters["results_ignored"] == 1
        assert rig.counters["leased"] == 2


def test_urls_are_confirmed_one_by_one_and_those_without_a_result_return() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2", "/3")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer_with(order, (result_of(order, 1), result_of(order, 2, "expired"))), T0)
        assert rig.counters["confirmed"] == 1
        (again,) = rig.frontier.dispatch(T0)
        assert sorted(paths_of(again)) == sorted([order.urls[0].path, order.urls[2].path])
        assert again.attempt == 1


def test_an_order_that_comes_back_untouched_is_not_sent_out_again_at_once() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "cancelled"), T0)
        assert rig.frontier.dispatch(T0 + 999) == []
        assert len(rig.frontier.dispatch(T0 + 1000)) == 1


def test_a_server_whose_address_has_no_turn_for_it_is_left_alone_until_there_may_be_one() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "cancelled", retry_after_ms=30_000), T0)
        assert rig.frontier.dispatch(T0 + 29_999) == []
        (again,) = rig.frontier.dispatch(T0 + 30_000)
        assert again.attempt == 1
        some = (result_of(again, 0), result_of(again, 1, "cancelled", retry_after_ms=20_000))
        rig.frontier.confirm(answer_with(again, some), T0 + 30_000)
        assert rig.frontier.dispatch(T0 + 49_999) == []
        assert len(rig.frontier.dispatch(T0 + 50_000)) == 1


def test_deadlines_grow_with_the_wait_that_is_observed() -> None:
    with Rig(configure(**CONFIG)) as rig:
        from msgspec.structs import replace

        rig.frontier.discover([links(f"s{n}.example", "/") for n in range(60)], T0)
        for order in rig.frontier.dispatch(T0):
            rig.frontier.confirm(replace(answer(order), started_ms=T0 + 100_000), T0 + 100_000)
        rig.frontier.discover([links("new.example", "/")], T0 + 100_000)
        (order,) = rig.frontier.dispatch(T0 + 100_000)
        assert order.deadline_ms > T0 + 100_000 + 2 * 90_000


def test_an_abort_gives_the_leases_and_queues_of_the_last_checkpoint_back() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1"), links("b.example", "/1")], T0)
        orders = {order.server: order for order in rig.frontier.dispatch(T0)}
        rig.commit()
        rig.frontier.confirm(answer(orders["a.example"]), T0)
        rig.frontier.discover([links("c.example", "/1"), links("a.example", "/2")], T0)
        assert len(rig.frontier.dispatch(T0)) == 2
        rig.abort()
        assert rig.counters["leased"] == 2
        assert rig.frontier.dispatch(T0) == []
        rig.frontier.confirm(answer(orders["a.example"]), T0)
        assert rig.counters["confirmed"] == 1


def test_impossible_numbers_in_a_result_break_nothing() -> None:
    with Rig(configure(robots={"obey": True})) as rig:
        from msgspec.structs import replace

        rig.frontier.discover([links("a.example", "/1", "/2"), links("b.example", "/1")], T0)
        asked = {order.server: order for order in rig.frontier.dispatch(T0)}
        rig.frontier.confirm(rules(asked["a.example"], delay_ms=2**62), T0)
        rig.frontier.confirm(rules(asked["b.example"], delay_ms=-5), T0)
        (order,) = rig.frontier.dispatch(T0)
        strange = answer(order, "rate-limited", retry_after_ms=2**62, started_ms=2**62, digest="not hex")
        rig.frontier.confirm(replace(strange, finished_ms=-(2**62), started_ms=2**62), T0)
        rig.commit()
        rig.move()
        assert rig.frontier.next_due_ms() is not None


def test_a_partition_that_is_lost_with_work_pending_is_dropped_without_a_look_at_its_closed_store() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        rig.commit()
        rig.frontier.discover([links("a.example", "/2")], T0)
        rig.frontier.dispatch(T0)
        lost = rig.frontier
        rig.restart()
        lost.dropped()
        assert lost.counters["admitted"] == 1
        assert lost.verdicts() == []
        assert lost.next_due_ms() is not None
