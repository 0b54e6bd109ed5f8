"""What becomes of URLs and servers after each kind of result."""

import numpy as np
import pytest

from gregor.config.frontier import RetrySection
from gregor.url.fingerprint import fingerprint, server_hash
from schemas.fetched import Outcome
from schemas.verdicts import decode_verdict
from streams.frontier.settle.retries import wait_ms
from streams.frontier.storage.uniqueness.facts import Facts, UrlState
from tests.streams.frontier.rig import T0, Rig, answer, answer_with, configure, links, paths_of, result_of

HOUR = 3_600_000


def state_of(rig: Rig, server: str, path: str) -> UrlState:
    known, facts = rig.frontier.state.engine.look_up(
        np.array([server_hash(server)], dtype=np.uint64), np.array([fingerprint("http", path)], dtype=np.uint64)
    )
    assert known.all()
    return UrlState(int(Facts(facts).state[0]))


@pytest.mark.parametrize("outcome", ["ok", "not-modified", "redirect", "client-error", "type-refused", "undecodable"])
def test_an_answer_confirms_its_url_at_the_first_attempt(outcome: Outcome) -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, outcome), T0)
        rig.commit()
        assert rig.counters["confirmed"] == 1
        assert state_of(rig, "a.example", "/1") is UrlState.FETCHED
        assert rig.frontier.next_due_ms() is None


@pytest.mark.parametrize("outcome", ["dns", "connect", "tls", "timeout", "disconnected", "server-error", "internal"])
def test_a_failure_is_repeated_as_often_as_configured_and_then_given_up(outcome: Outcome) -> None:
    with Rig(configure(retry={"attempts": 2, "server_attempts": 50})) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        now, attempts = T0, []
        while (due := rig.frontier.next_due_ms()) is not None:
            now = max(now, due)
            for order in rig.frontier.dispatch(now):
                attempts.append((order.attempt, now))
                rig.frontier.confirm(answer(order, outcome), now)
            rig.commit()
        assert [attempt for attempt, _ in attempts] == [1, 2, 3]
        first, second = attempts[1][1] - attempts[0][1], attempts[2][1] - attempts[1][1]
        assert 45_000 <= first <= 75_000
        assert 180_000 <= second <= 300_000
        assert rig.counters["failed"] == rig.counters[f"failed_{outcome}"] == 1
        assert state_of(rig, "a.example", "/1") is UrlState.FAILED


def test_an_address_that_is_refused_fails_at_once() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "address-refused"), T0)
        assert rig.counters["failed_address-refused"] == 1
        (said,) = [decode_verdict(output.value) for output in rig.frontier.verdicts()]
        assert (said.kind, said.reason) == ("given-up", "address-refused")


def test_too_many_requests_hold_the_server_back_for_as_long_as_it_asks() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2"), links("b.example", "/1")], T0)
        orders = {order.server: order for order in rig.frontier.dispatch(T0)}
        rig.frontier.confirm(answer(orders["a.example"], "rate-limited", retry_after_ms=600_000), T0)
        rig.frontier.confirm(answer(orders["b.example"]), T0)
        rig.commit()
        rig.restart()
        assert rig.frontier.dispatch(T0 + 599_999) == []
        (again,) = rig.frontier.dispatch(T0 + 600_000)
        assert sorted(paths_of(again)) == ["/1", "/2"]
        assert again.attempt == 2


@pytest.mark.parametrize("seconds", [1, 5])
def test_a_server_that_asks_for_seconds_is_asked_again_when_they_are_over(seconds: int) -> None:
    asked = seconds * 1000
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "rate-limited", retry_after_ms=asked), T0)
        assert rig.frontier.dispatch(T0 + asked - 1) == []
        assert len(rig.frontier.dispatch(T0 + asked)) == 1


def test_a_server_that_answers_between_its_refusals_is_held_back_for_no_longer_than_it_asks() -> None:
    with Rig(configure(fetch={"urls_per_order": 4})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(30)))], T0)
        now, refusals = T0, 0
        while (due := rig.frontier.next_due_ms()) is not None:
            assert due - now <= 5000, f"{due - now} ms after refusal {refusals}"
            now = max(now, due)
            (order,) = rig.frontier.dispatch(now)
            # Every third request is refused, and a fetcher asks for nothing more after that.
            outcomes: list[Outcome] = ["ok", "ok", "rate-limited", "cancelled"]
            results = [
                result_of(order, at, outcome, retry_after_ms=5000 if outcome == "rate-limited" else 0)
                for at, outcome in enumerate(outcomes[: len(order.urls)])
            ]
            refusals += len(results) > 2
            rig.frontier.confirm(answer_with(order, tuple(results)), now)
            rig.commit()
        assert (rig.counters["confirmed"], refusals) == (30, 14)


def test_a_server_that_keeps_refusing_is_held_back_longer_and_longer_than_it_asks() -> None:
    with Rig(configure(retry={"longest_s": 300.0})) as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(40)))], T0)
        now, waits = T0, []
        for _ in range(5):
            (order,) = rig.frontier.dispatch(now)
            results = [result_of(order, 0, "rate-limited", retry_after_ms=5000)]
            results += [result_of(order, at, "cancelled") for at in range(1, len(order.urls))]
            rig.frontier.confirm(answer_with(order, tuple(results)), now)
            rig.commit()
            # The others of the server are queued: nothing but the server itself waits.
            due = rig.frontier.state.servers.open(b"a.example").record.next_ms
            waits.append(due - now)
            now = due
        assert waits[0] == 5000
        for wait, plain in zip(waits[1:], (20_000, 80_000, 300_000, 300_000), strict=True):
            assert plain * 0.75 <= wait <= plain * 1.25


def test_a_url_that_is_refused_again_lets_the_others_go_first_and_waits_by_what_its_server_asks() -> None:
    with Rig(configure(fetch={"urls_per_order": 1})) as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        bad = paths_of(order)
        rig.frontier.confirm(answer(order, "rate-limited", retry_after_ms=5000), T0)
        (order,) = rig.frontier.dispatch(T0 + 5000)
        assert paths_of(order) == bad
        rig.frontier.confirm(answer(order, "rate-limited", retry_after_ms=5000), T0 + 5000)
        rig.commit()
        now = rig.frontier.state.servers.open(b"a.example").record.next_ms
        (order,) = rig.frontier.dispatch(now)
        assert paths_of(order) != bad
        rig.frontier.confirm(answer(order), now)
        rig.commit()
        due = rig.frontier.next_due_ms()
        assert due is not None
        assert 15_000 <= due - now <= 25_000


def test_a_503_without_retry_after_belongs_to_the_server_too() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/1", "/2")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "server-error", status=503), T0)
        assert rig.counters.get("retrying", 0) == 0
        assert rig.counters["queued"] == 2
        assert rig.frontier.dispatch(T0 + 40_000) == []


def test_a_url_that_always_gets_a_503_does_not_keep_the_others_of_its_server_from_being_fetched() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", *(f"/{n}" for n in range(40)))], T0)
        now, bad, within = T0, "", 0
        while (due := rig.frontier.next_due_ms()) is not None:
            now = max(now, due)
            for order in rig.frontier.dispatch(now):
                paths = paths_of(order)
                bad = bad or paths[0]
                at = paths.index(bad) if bad in paths else len(paths)
                results = [result_of(order, number, "ok") for number in range(at)]
                if bad in paths:
                    results.append(result_of(order, at, "server-error", status=503))
                results += [result_of(order, number, "cancelled") for number in range(at + 1, len(paths))]
                rig.frontier.confirm(answer_with(order, tuple(results)), now)
            rig.commit()
            if now <= T0 + HOUR // 4:
                within = rig.counters.get("confirmed", 0)
        assert within == 39, "in a quarter of an hour, before it is given up"
        assert (rig.counters["confirmed"], rig.counters["failed_server-error"]) == (39, 1)


@pytest.mark.parametrize(("attempts", "requests"), [(2, 7), (84, 253), (85, 256), (100, 256)])
def test_a_server_that_has_always_had_enough_is_asked_a_limited_number_of_times(attempts: int, requests: int) -> None:
    with Rig(configure(retry={"attempts": attempts})) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        now, asked = T0, 0
        while asked < 300 and (due := rig.frontier.next_due_ms()) is not None:
            now = max(now, due)
            (order,) = rig.frontier.dispatch(now)
            rig.frontier.confirm(answer(order, "rate-limited"), now)
            rig.commit()
            asked += 1
        assert asked == requests
        assert rig.counters["failed_rate-limited"] == 1


def test_a_server_that_is_never_reached_is_given_up_with_all_that_waits_for_it() -> None:
    config = configure(retry={"attempts": 9, "server_attempts": 3, "dead_hours": 2.0}, fetch={"urls_per_order": 2})
    with Rig(config) as rig:
        rig.frontier.discover([links("dead.example", *(f"/{n}" for n in range(2500)))], T0)
        now = T0
        while rig.counters["queued"] or rig.counters["leased"]:
            due = rig.frontier.next_due_ms()
            assert due is not None
            now = max(now, due)
            for order in rig.frontier.dispatch(now):
                rig.frontier.confirm(answer(order, "connect"), now)
            rig.commit()
        assert rig.counters["failed_server-unreachable"] == 2500
        assert rig.counters["ordered"] == 6
        rig.frontier.discover([links("dead.example", "/new")], now)
        assert rig.frontier.dispatch(now) == []
        assert rig.counters["failed"] == 2501
        rig.frontier.discover([links("dead.example", "/newer")], now + 3 * HOUR)
        assert len(rig.frontier.dispatch(now + 3 * HOUR)) == 1


def test_an_answer_makes_a_server_whole_again() -> None:
    with Rig(configure(retry={"server_attempts": 2, "attempts": 9})) as rig:
        rig.frontier.discover([links("a.example", "/1")], T0)
        now = T0
        for outcome in ("connect", "server-error", "connect", "server-error", "ok"):
            now = max(now, rig.frontier.next_due_ms() or 0)
            (order,) = rig.frontier.dispatch(now)
            rig.frontier.confirm(answer(order, outcome), now)
            rig.commit()
        assert rig.counters["confirmed"] == 1
        assert "servers_given_up" not in rig.counters


def test_waits_grow_stay_within_their_bounds_and_differ_between_urls() -> None:
    settings = RetrySection(first_s=60.0, longest_s=600.0)
    waits = {who: [wait_ms(settings, attempt, who) for attempt in range(1, 8)] for who in (b"a", b"b", b"c")}
    for mine in waits.values():
        assert 45_000 <= mine[0] <= 75_000
        assert all(450_000 <= wait <= 750_000 for wait in mine[2:])
    assert len({tuple(mine) for mine in waits.values()}) == 3


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/loop", "http://a.example/loop#again"),
        ("/loop", "/loop"),
        ("/loop", "?utm_source=mail"),
        ("/caf%C3%A9", "/caf\xc3\xa9"),
    ],
)
def test_a_redirect_to_itself_is_repeated_once_with_its_cookies_and_then_told(path: str, location: str) -> None:
    with Rig(configure(url={"drop_tracking": True})) as rig:
        rig.frontier.discover([links("a.example", path)], T0)
        (order,) = rig.frontier.dispatch(T0)
        assert order.urls[0].cookies == ""
        rig.frontier.confirm(answer(order, "redirect", location=location, cookies="seen=1; b=2"), T0)
        assert rig.counters.get("confirmed", 0) == rig.counters.get("redirects_to_self", 0) == 0
        rig.commit()
        rig.move()
        (again,) = rig.frontier.dispatch(T0)
        assert (again.urls[0].cookies, again.attempt, rig.counters["retried"]) == ("seen=1; b=2", 1, 1)
        rig.frontier.confirm(answer(again, "redirect", location=location, cookies="seen=2"), T0)
        assert rig.counters["confirmed"] == rig.counters["redirects_to_self"] == 1
        (said,) = [decode_verdict(output.value) for output in rig.frontier.verdicts()]
        assert said.reason == "redirect-to-self"


def test_a_page_behind_a_cookie_wall_is_fetched_and_its_next_visit_begins_without_cookies() -> None:
    with Rig(configure(revisit={"mode": "fixed", "interval_hours": 1.0})) as rig:
        rig.frontier.discover([links("a.example", "/wall")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "redirect", location="/wall", cookies="seen=1"), T0)
        (again,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(again, digest="aa" * 16), T0)
        rig.commit()
        assert (rig.counters["confirmed"], rig.counters.get("redirects_to_self", 0)) == (1, 0)
        (visit,) = rig.frontier.dispatch(T0 + 3_600_000)
        assert (visit.urls[0].cookies, visit.urls[0].digest) == ("", "aa" * 16)


def test_more_cookies_than_a_retry_may_carry_are_left_out() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/wall")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, "redirect", location="/wall", cookies="a=" + "b" * 5000), T0)
        (again,) = rig.frontier.dispatch(T0)
        assert again.urls[0].cookies == ""
