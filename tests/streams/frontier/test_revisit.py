"""r(K): when a URL is fetched again, and with what."""

from gregor.config.frontier import RevisitSection
from schemas.fetched import FetchResult, Outcome
from streams.frontier.settle.revisit import LONGEST_KEPT, next_visit
from streams.frontier.storage.queue_codec import Extra
from tests.streams.frontier.rig import T0, Rig, answer, answer_with, configure, links, result_of

HOUR = 3_600_000
FIXED = {"revisit": {"mode": "fixed", "interval_hours": 2.0}}


def ok(digest: str, **facts: object) -> FetchResult:
    return FetchResult(path="/", outcome="ok", status=200, digest=digest, **facts)  # type: ignore[arg-type]


def fetched_an_hour_ago(rig: Rig, *paths: str) -> int:
    """The moment it is then."""
    rig.frontier.discover([links("a.example", *paths)], T0)
    (order,) = rig.frontier.dispatch(T0)
    rig.frontier.confirm(answer(order), T0)
    rig.commit()
    return T0 + HOUR


def test_a_fetched_url_comes_again_after_its_interval_with_its_validators() -> None:
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, etag='"v1"', last_modified="yesterday", digest="aa" * 16), T0)
        rig.commit()
        rig.restart()
        assert rig.counters["revisiting"] == 1
        assert rig.frontier.next_due_ms() == T0 + 2 * HOUR
        assert rig.frontier.dispatch(T0 + 2 * HOUR - 1) == []
        (again,) = rig.frontier.dispatch(T0 + 2 * HOUR)
        (url,) = again.urls
        assert (url.visit, url.etag, url.last_modified, url.digest) == (1, '"v1"', "yesterday", "aa" * 16)
        rig.frontier.confirm(answer(again, "not-modified"), T0 + 2 * HOUR)
        rig.commit()
        (third,) = rig.frontier.dispatch(T0 + 4 * HOUR)
        assert (third.urls[0].visit, third.urls[0].etag) == (2, '"v1"')
        assert rig.counters["recrawled"] == 2


def test_without_re_crawl_a_fetched_url_never_comes_again() -> None:
    with Rig() as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order), T0)
        rig.commit()
        assert rig.frontier.next_due_ms() is None


def test_adaptive_intervals_shrink_with_changes_grow_without_and_keep_their_bounds() -> None:
    settings = RevisitSection(mode="adaptive", interval_hours=8.0, shortest_hours=3.0, longest_hours=20.0)
    extra: Extra | None = Extra()
    hours = []
    for digest in ("a", "b", "c", "d", "d", "d", "d", "d", "d", "d"):
        assert extra is not None
        extra = next_visit(settings, ok(digest), extra)
        assert extra is not None
        hours.append(extra.interval_s / 3600)
    assert hours == [8.0, 4.0, 3.0, 3.0, 4.5, 6.75, 10.125, 15.1875, 20.0, 20.0]


def test_another_page_with_the_same_text_is_no_change() -> None:
    settings = RevisitSection(mode="adaptive", interval_hours=8.0, shortest_hours=1.0, longest_hours=100.0)
    extra: Extra | None = Extra()
    hours = []
    for digest, text in (("a", "x"), ("b", "x"), ("c", "y"), ("c", ""), ("d", ""), ("e", "z"), ("f", "z")):
        assert extra is not None
        extra = next_visit(settings, ok(digest, text_digest=text), extra)
        assert extra is not None
        hours.append(extra.interval_s / 3600)
    assert hours == [8.0, 12.0, 6.0, 9.0, 4.5, 2.25, 3.375]


def test_a_visit_without_content_says_nothing_of_a_change_and_keeps_what_is_known() -> None:
    settings = RevisitSection(mode="adaptive", interval_hours=8.0, shortest_hours=1.0, longest_hours=100.0)
    first = next_visit(settings, ok("a", etag="v1", started_ms=5), Extra())
    assert first is not None
    visits = (
        FetchResult(path="/", outcome="redirect", status=302, location="/login", etag="other"),
        FetchResult(path="/", outcome="type-refused", status=200),
        FetchResult(path="/", outcome="undecodable", status=200, digest="00"),
        FetchResult(path="/", outcome="client-error", status=403, digest="an error page"),
    )
    for result in visits:
        after = next_visit(settings, result, first)
        assert after is not None
        assert (after.etag, after.digest, after.content_ms, after.interval_s) == ("v1", "a", 5, 8 * 3600)
        same = next_visit(settings, ok("a", started_ms=9), after)
        assert same is not None
        assert (same.interval_s, same.content_ms, same.visit) == (12 * 3600, 9, 3)


def test_an_order_says_when_the_content_was_asked_for_that_its_digest_is_of() -> None:
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        (order,) = rig.frontier.dispatch(T0)
        rig.frontier.confirm(answer(order, digest="aa" * 16), T0)
        rig.commit()
        (second,) = rig.frontier.dispatch(T0 + 2 * HOUR)
        rig.frontier.confirm(answer(second, "not-modified"), T0 + 2 * HOUR)
        rig.commit()
        (third,) = rig.frontier.dispatch(T0 + 4 * HOUR)
        assert [(one.urls[0].visit, one.urls[0].previous_ms) for one in (order, second, third)] == [
            (0, 0),
            (1, T0),
            (2, T0),
        ]


def test_validators_and_digests_that_no_fetcher_says_are_not_kept() -> None:
    forged = "v" * (LONGEST_KEPT + 1)
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        now = T0
        visits: tuple[tuple[Outcome, dict[str, str]], ...] = (
            ("ok", {"etag": '"v1"', "digest": "aa" * 16}),
            ("not-modified", {"etag": forged * 100, "last_modified": forged}),
            ("ok", {"etag": forged, "last_modified": forged, "digest": forged * 100}),
        )
        for outcome, facts in visits:
            (order,) = rig.frontier.dispatch(now)
            rig.frontier.confirm(answer(order, outcome, **facts), now)
            rig.commit()
            now += 2 * HOUR
            if outcome == "not-modified":
                assert order.urls[0].etag == '"v1"'
        (last,) = rig.frontier.dispatch(now)
        assert (last.urls[0].visit, last.urls[0].etag, last.urls[0].last_modified, last.urls[0].digest) == (
            3,
            "",
            "",
            "",
        )


def test_a_url_that_is_missing_twice_is_gone() -> None:
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/")], T0)
        now = T0
        for outcome in ("ok", "client-error", "client-error"):
            (order,) = rig.frontier.dispatch(now)
            rig.frontier.confirm(answer(order, outcome), now)
            rig.commit()
            now += 2 * HOUR
        assert rig.counters["gone"] == 1
        assert rig.frontier.next_due_ms() is None


def test_a_sitemap_with_a_newer_date_makes_a_visit_due_and_an_older_one_does_not() -> None:
    with Rig(configure(**FIXED)) as rig:
        now = fetched_an_hour_ago(rig, "/1", "/2")
        rig.frontier.discover([links("a.example", "/1", "/2", kind="sitemap", lastmods_ms=(now - 1, T0 - 1))], now)
        rig.commit()
        rig.move()
        (again,) = rig.frontier.dispatch(now + 1)
        assert [url.path for url in again.urls] == ["/1"]
        assert rig.counters["hastened"] == 1
        rig.commit()
        rig.frontier.confirm(answer(again), now + 1)
        rig.commit()
        (second,) = rig.frontier.dispatch(T0 + 2 * HOUR)
        assert [url.path for url in second.urls] == ["/2"]


def test_a_date_in_the_future_makes_nothing_due_and_hides_no_other() -> None:
    with Rig(configure(**FIXED)) as rig:
        now = fetched_an_hour_ago(rig, "/1", "/2")
        said = links("a.example", "/1", "/2", "/2", kind="sitemap", lastmods_ms=(now + 1, now + 1, now))
        rig.frontier.discover([said], now)
        rig.commit()
        (again,) = rig.frontier.dispatch(now + 1)
        assert [url.path for url in again.urls] == ["/2"]


def test_a_retry_and_a_visit_that_wait_are_both_kept_by_a_restore() -> None:
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/1"), links("b.example", "/2")], T0)
        for order in rig.frontier.dispatch(T0):
            rig.frontier.confirm(answer(order, "ok" if order.server == "a.example" else "server-error"), T0)
        rig.commit()
        rig.move()
        assert rig.counters["retrying"] == rig.counters["revisiting"] == 1
        (retry,) = rig.frontier.dispatch(T0 + HOUR)
        assert (retry.server, retry.attempt) == ("b.example", 2)


def test_what_began_to_wait_just_before_a_long_sleep_is_not_passed_over() -> None:
    with Rig(configure(**FIXED)) as rig:
        rig.frontier.discover([links("a.example", "/1"), links("b.example", "/2")], T0)
        visited, failed = sorted(rig.frontier.dispatch(T0), key=lambda order: order.server)
        rig.frontier.confirm(answer(visited), T0)
        rig.commit()
        rig.frontier.confirm(answer(failed, "server-error"), T0)
        # The machine sleeps before the checkpoint: the retry of a minute from then is overdue, and so is the visit of two hours later.
        rig.frontier.dispatch(T0 + 3 * HOUR)
        rig.commit()
        rig.frontier.dispatch(T0 + 3 * HOUR)
        rig.commit()
        assert (rig.counters["retrying"], rig.counters["revisiting"]) == (0, 0)
        assert rig.counters["leased"] == 2


def test_pages_that_stay_the_same_do_not_close_their_directory() -> None:
    with Rig(configure(**FIXED, traps={"identical_pages": 10})) as rig:
        rig.frontier.discover([links("a.example", "/news/1", "/news/2")], T0)
        for visit in range(12):
            now = T0 + visit * 2 * HOUR
            (order,) = rig.frontier.dispatch(now)
            results = tuple(result_of(order, at, digest=one.path[-1] * 32) for at, one in enumerate(order.urls))
            rig.frontier.confirm(answer_with(order, results), now)
            rig.commit()
        rig.frontier.discover([links("a.example", "/news/3")], T0 + 24 * HOUR)
        assert (rig.counters["admitted"], rig.counters["recrawled"]) == (3, 22)
