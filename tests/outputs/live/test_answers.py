"""What the live page is told, from a view alone."""

from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.folds.servers import ServerTable
from gregor.outputs.live.answers import ServerQuestion, overview_of, rates_of, refusals_told, servers_of
from schemas.fetched import Timings
from schemas.verdicts import Verdict
from tests.outputs.folds.records import MONDAY, page

SECOND = 1000


def view_of_servers(*requests: int, limit: int = 50_000) -> CrawlView:
    """``s0`` with as many requests as the first number, and so on."""
    view = CrawlView(servers=ServerTable(limit=limit))
    for number, count in enumerate(requests):
        for _ in range(count):
            view.fetched(page(server=f"s{number}.test", timings=Timings(total=10 * (len(requests) - number))))
    return view


def names(view: CrawlView, **asked: object) -> list[str]:
    return [line.server for line in servers_of(view, ServerQuestion(**asked)).servers]  # type: ignore[arg-type]


def test_servers_come_largest_first_in_pages() -> None:
    view = view_of_servers(2, 9, 5)
    assert names(view) == ["s1.test", "s2.test", "s0.test"]
    assert names(view, offset=1, limit=1) == ["s2.test"]
    assert servers_of(view, ServerQuestion(offset=9)).found == 3
    assert names(view, offset=9) == []


def test_servers_are_sorted_by_what_is_asked_for() -> None:
    view = view_of_servers(2, 9, 5)
    assert names(view, sort="server", descending=False) == ["s0.test", "s1.test", "s2.test"]
    assert names(view, sort="p95") == ["s0.test", "s1.test", "s2.test"]
    assert names(view, sort="requests", descending=False) == ["s0.test", "s2.test", "s1.test"]


def test_servers_of_equal_size_keep_their_places() -> None:
    assert names(view_of_servers(1, 1, 1)) == ["s0.test", "s1.test", "s2.test"]


def test_a_server_is_found_by_a_part_of_its_name() -> None:
    assert names(view_of_servers(1, 2, 3), find="S2.te") == ["s2.test"]


def test_servers_without_a_line_are_told_together() -> None:
    told = servers_of(view_of_servers(9, 8, 7, 6, 1, 1, limit=4), ServerQuestion())
    assert told.found == 4
    assert told.others is not None
    assert (told.others.servers, told.others.requests) == (2, 2)


def test_windows_reach_to_now_also_when_nothing_happens() -> None:
    view = CrawlView()
    view.fetched(page(at_ms=MONDAY))
    told = rates_of(view, "5m", MONDAY + 250 * SECOND)
    assert told.width_s == 1
    assert [one.requests for one in told.windows] == [1] + [0] * 249
    assert told.windows[-1].start_ms == MONDAY + 249 * SECOND
    assert len(rates_of(view, "5m", MONDAY + 9999 * SECOND).windows) == 300
    assert not any(one.requests for one in rates_of(view, "5m", MONDAY + 9999 * SECOND).windows)


def test_a_crawl_that_has_just_begun_has_a_fifth_of_the_span() -> None:
    view = CrawlView()
    view.fetched(page(at_ms=MONDAY))
    assert len(rates_of(view, "5m", MONDAY + 2 * SECOND).windows) == 60
    assert len(rates_of(CrawlView(), "24h", MONDAY).windows) == 1440


def test_the_whole_crawl_is_told_from_its_first_to_its_last_moment() -> None:
    view = CrawlView()
    for at in (0, 5, 7):
        view.fetched(page(at_ms=MONDAY + at * SECOND))
    assert [one.requests for one in rates_of(view, "all", MONDAY + 10**9).windows] == [1, 0, 0, 0, 0, 1, 0, 1]
    assert rates_of(CrawlView(), "all", MONDAY).windows == ()


def test_refusals_have_their_meaning_and_the_frontiers_exact_counts() -> None:
    view = CrawlView()
    view.verdict(Verdict(server="a.test", kind="refused", reason="robots", url="https://a.test/x", stage="frontier"))
    view.verdict(Verdict(server="a.test", kind="refused", reason="unheard-of", stage="extractor", count=3))
    told = refusals_told(view, {"dropped_robots": 40})
    assert [(one.reason, one.count, one.meaning) for one in told] == [
        ("robots", 40, "closed by robots.txt"),
        ("unheard-of", 3, ""),
    ]


def test_errors_are_requests_that_did_not_end_well() -> None:
    view = view_of_servers(3)
    view.fetched(page(outcome="timeout", status=0))
    view.fetched(page(outcome="redirect", status=301))
    told = overview_of("museum", view, {"confirmed": 4, "queued": 2}, behind=None, now_ms=MONDAY)
    assert (told.requests, told.pages, told.errors) == (5, 3, 1)
    assert (told.urls.fetched, told.urls.waiting) == (4, 2)
    assert [(one.status, one.count) for one in told.statuses] == [("200", 3), ("301", 1), ("none", 1)]


def test_a_copy_of_a_view_stays_as_it_was() -> None:
    view = view_of_servers(2, 1)
    copy, same = view.copy(), view_of_servers(2, 1)
    view.fetched(page(server="s0.test", at_ms=MONDAY + 99 * SECOND, depth=7))
    view.verdict(Verdict(server="s9.test", kind="refused", reason="robots", stage="frontier", decided_ms=MONDAY))
    assert copy == same
    assert copy != view
