"""robots.txt: asked for first, obeyed at release, asked for again, and what happens without it."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from schemas.fetched import Timings
from streams.frontier.dispatch.dispatch import EFFORT, REFUSAL
from tests.streams.frontier.rig import T0, Rig, answer, configure, links, paths_of, rules

OBEY = {"robots": {"obey": True}}
HOUR = 3_600_000
PRIVATE = "user-agent: *\ndisallow: /private\n"


def test_robots_txt_is_ordered_before_the_first_page_of_each_origin() -> None:
    with Rig(configure(**OBEY)) as rig:
        rig.frontier.discover([links("a.example", "/1"), links("a.example", "/1", scheme="https")], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert order.kind == "robots"
        assert sorted((url.scheme, url.path) for url in order.urls) == [
            ("http", "/robots.txt"),
            ("https", "/robots.txt"),
        ]
        assert rig.frontier.dispatch(T0) == []
        rig.frontier.confirm(rules(order), T0)
        (pages,) = rig.frontier.dispatch(T0)
        assert pages.kind == "pages"
        assert len(pages.urls) == 2


def test_robots_txt_is_asked_for_once_however_many_orders_a_server_may_have() -> None:
    config = configure(
        **OBEY, fetch={"urls_per_order": 1, "delay_s": 0.0, "delay_factor": 0.0}, frontier={"orders_per_server": 4}
    )
    with Rig(config) as rig:
        rig.frontier.discover([links("a.example", *(f"/{number}" for number in range(9)))], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert order.kind == "robots"
        rig.commit()
        rig.restart()
        assert rig.frontier.dispatch(T0) == []
        rig.frontier.confirm(rules(order), T0)
        assert [one.kind for one in rig.frontier.dispatch(T0)] == ["pages"] * 4


def test_what_the_rules_refuse_is_dropped_and_never_ordered_also_after_a_restart() -> None:
    with Rig(configure(**OBEY)) as rig:
        rig.frontier.discover([links("a.example", "/private/1", "/private/2", "/open")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(order, "rules", PRIVATE), T0)
        rig.commit()
        rig.move()
        (pages,) = rig.frontier.dispatch(T0)
        assert paths_of(pages) == ["/open"]
        assert rig.counters["dropped"] == rig.counters["dropped_robots"] == 2
        rig.commit()
        rig.restart()
        rig.frontier.discover([links("a.example", "/private/1", "/private/3")], T0)
        assert rig.counters["duplicates"] == 1
        rig.frontier.confirm(answer(pages), T0)
        assert rig.frontier.dispatch(T0) == []
        assert rig.counters["dropped_robots"] == 3


def test_a_crawl_delay_of_any_length_is_honoured() -> None:
    with Rig(configure(**OBEY)) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(order, "rules", PRIVATE, delay_ms=90_000), T0)
        assert rig.frontier.dispatch(T0 + 89_999) == []
        (first,) = rig.frontier.dispatch(T0 + 90_000)
        assert (first.delay_ms, len(first.urls)) == (90_000, 1)
        rig.frontier.confirm(answer(first), T0 + 90_000)
        assert rig.frontier.dispatch(T0 + 179_999) == []
        assert len(rig.frontier.dispatch(T0 + 180_000)) == 1


def test_rules_are_asked_for_again_when_they_are_old() -> None:
    with Rig(configure(robots={"obey": True, "cache_hours": 1.0})) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(order), T0)
        (pages,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(pages), T0)
        rig.frontier.discover([links("a.example", "/2")], T0 + HOUR - 1)
        (pages,) = rig.frontier.dispatch(T0 + HOUR - 1)
        rig.frontier.confirm(answer(pages), T0 + HOUR - 1)
        rig.frontier.discover([links("a.example", "/3")], T0 + HOUR)
        (order,) = rig.frontier.dispatch(T0 + HOUR)
        assert order.kind == "robots"


@pytest.mark.parametrize(
    ("config", "delay_ms", "took_ms"),
    [
        ({}, 86_400_000, 0),
        ({"robots": {"cache_hours": 1.0}}, 5 * HOUR, 0),
        ({"robots": {"cache_hours": 0.001}, "fetch": {"delay_factor": 2.0}}, 0, 5_000),
    ],
)
def test_a_delay_longer_than_rules_hold_lets_a_page_follow_every_robots_txt(
    config: dict[str, dict[str, Any]], delay_ms: int, took_ms: int
) -> None:
    with Rig(configure(**{**config, "robots": {"obey": True, **config.get("robots", {})}})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        now, kinds = T0, []
        for number in range(6):
            now = max(now, rig.frontier.next_due_ms() or now)
            for order in rig.frontier.dispatch(now):
                kinds.append(order.kind)
                if order.kind == "pages":
                    rig.frontier.confirm(answer(order), now)
                    continue
                # Once it cannot be had: the last copy holds long enough as well.
                said = rules(order, "unreachable" if number == 2 else "rules", PRIVATE, delay_ms)
                timed = tuple(replace(one, timings=Timings(total=took_ms)) for one in said.results)
                rig.frontier.confirm(replace(said, results=timed), now)
            rig.commit()
        assert kinds == ["robots", "pages"] * (2 if delay_ms else 1)
        assert rig.counters["confirmed"] == 2


def test_without_an_answer_it_is_tried_again_and_then_everything_is_refused() -> None:
    with Rig(configure(robots={"obey": True}, retry={"attempts": 2, "first_s": 10.0})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        now, asked = T0, 0
        while rig.counters["queued"]:
            due = rig.frontier.next_due_ms()
            assert due is not None
            now = max(now, due)
            for order in rig.frontier.dispatch(now):
                assert order.kind == "robots"
                asked += 1
                rig.frontier.confirm(rules(order, "unreachable"), now)
            rig.commit()
        assert asked == 3
        assert rig.counters["dropped_robots-unreachable"] == 2


def test_a_robots_txt_that_is_refused_for_seconds_is_asked_for_when_they_are_over() -> None:
    with Rig(configure(**OBEY)) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        now, waits = T0, []
        while not rig.counters.get("dropped"):
            due = rig.frontier.next_due_ms()
            assert due is not None
            waits.append(due - now)
            now = max(now, due)
            for order in rig.frontier.dispatch(now):
                unknown = rules(order, "unreachable").robots
                refused = answer(order, "rate-limited", retry_after_ms=5000)
                rig.frontier.confirm(replace(refused, robots=unknown), now)
            rig.commit()
        assert waits[1] == 5000
        assert 15_000 <= waits[2] <= 25_000
        assert 60_000 <= waits[3] <= 100_000
        assert now - T0 > 20 * 60_000, "no server is given up after a minute because it asked for five seconds"


def test_not_modified_is_no_answer_where_nothing_was_read_before() -> None:
    with Rig(configure(robots={"obey": True, "cache_hours": 1.0}, retry={"attempts": 1})) as rig:
        rig.frontier.discover([links("a.example", "/private/1", "/1"), links("b.example", "/1")], T0)
        first = {order.server: order for order in rig.frontier.dispatch(T0)}
        rig.frontier.confirm(answer(first["a.example"], "not-modified"), T0)
        rig.frontier.confirm(rules(first["b.example"], "rules", PRIVATE), T0)
        # Of the one whose rules were read, it says that they hold.
        (pages,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(pages), T0)
        (again,) = rig.frontier.dispatch(T0 + HOUR)
        assert (again.server, again.kind, again.attempt) == ("a.example", "robots", 2)
        rig.frontier.confirm(answer(again, "not-modified"), T0 + HOUR)
        rig.frontier.discover([links("b.example", "/private/2", "/2")], T0 + HOUR)
        (old,) = rig.frontier.dispatch(T0 + HOUR)
        assert (old.server, old.kind) == ("b.example", "robots")
        rig.frontier.confirm(answer(old, "not-modified"), T0 + HOUR)
        (pages,) = rig.frontier.dispatch(T0 + HOUR)
        assert paths_of(pages) == ["/2"]
        assert rig.counters["dropped_robots-unreachable"] == 2, "as after any attempts in vain"


def test_the_last_good_copy_holds_while_the_file_cannot_be_had() -> None:
    with Rig(configure(robots={"obey": True, "cache_hours": 1.0})) as rig:
        rig.frontier.discover([links("a.example", "/private/1", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(order, "rules", PRIVATE), T0)
        (pages,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(pages), T0)
        rig.frontier.discover([links("a.example", "/private/2", "/2")], T0 + 2 * HOUR)
        (order,) = rig.frontier.dispatch(T0 + 2 * HOUR)
        rig.frontier.confirm(rules(order, "unreachable"), T0 + 2 * HOUR)
        due = rig.frontier.next_due_ms()
        assert due is not None
        (pages,) = rig.frontier.dispatch(max(due, T0 + 2 * HOUR))
        assert paths_of(pages) == ["/2"]


def test_an_order_for_robots_that_was_cancelled_is_made_again_and_counts_nothing() -> None:
    with Rig(configure(robots={"obey": True}, retry={"attempts": 0})) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        for number in range(3):
            (order,) = rig.frontier.dispatch(T0 + number * 1000)
            assert (order.kind, order.attempt) == ("robots", 1)
            rig.frontier.confirm(answer(order, "cancelled"), T0 + number * 1000)


def test_a_server_may_be_exempt_by_its_own_rule() -> None:
    config = configure(robots={"obey": True}, server={"rules": [{"match": "mine.example", "obey_robots": False}]})
    with Rig(config) as rig:
        rig.frontier.discover([links("mine.example", "/1"), links("theirs.example", "/1")], T0)
        assert {order.server: order.kind for order in rig.frontier.dispatch(T0)} == {
            "mine.example": "pages",
            "theirs.example": "robots",
        }


def test_a_thousand_refused_urls_hold_up_no_other_server() -> None:
    with Rig(configure(robots={"obey": True}, fetch={"orders_in_flight": 1})) as rig:
        rig.frontier.discover([links("a.example", *(f"/private/{n}" for n in range(1000)))], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(rules(order, "rules", PRIVATE), T0)
        rig.frontier.discover([links("b.example", "/", depth=1)], T0)
        assert [order.server for order in rig.frontier.dispatch(T0)] == ["b.example"]


def test_rules_stay_parsed_as_far_as_their_texts_are_few_and_short() -> None:
    with Rig(configure(**OBEY, fetch={"orders_in_flight": 1000})) as rig:
        rig.frontier.state.robots.most_bytes = 10_000
        rig.frontier.discover([links(f"s{number}.example", "/1", "/private") for number in range(100)], T0)
        for number, order in enumerate(rig.frontier.dispatch(T0)):
            # A few have more than all of them may have together.
            text = PRIVATE + f"disallow: /{'x' * (20_000 if number % 10 == 0 else 1000)}\n"
            rig.frontier.confirm(rules(order, "rules", text), T0)
        orders = rig.frontier.dispatch(T0)
        assert [paths_of(order) for order in orders] == [["/1"]] * 100
        assert 1 <= len(rig.frontier.state.robots) <= 10


def test_one_release_looks_at_no_more_refused_urls_than_it_has_time_for_and_goes_on_at_once() -> None:
    """The loop polls in between: a broker takes who does not for dead, and rules can be made that are slow to evaluate."""
    with Rig(configure(**OBEY, traps={"identical_pages": 0})) as rig:
        hidden = [f"/private/{number}" for number in range(1000)]
        rig.frontier.discover([links("a.example", *hidden, depth=1), links("b.example", "/", depth=9)], T0)
        for order in rig.frontier.dispatch(T0):
            rig.frontier.confirm(rules(order, "rules", PRIVATE), T0)
        dropped, orders = [0], []
        while rig.frontier.next_due_ms() == 0:
            orders += rig.frontier.dispatch(T0)
            dropped.append(rig.counters.get("dropped_robots", 0))
        most = EFFORT // REFUSAL
        assert max(after - before for before, after in pairwise(dropped)) == most < 1000
        assert dropped[-1] == 1000
        assert [order.server for order in orders] == ["b.example"]
