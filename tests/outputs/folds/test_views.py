"""The views of a crawl: that any split adds up to the same, that memory is bounded, and what the figures mean."""

import copy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gregor.outputs.folds.counts import OTHERS
from gregor.outputs.folds.crawl import CrawlView
from gregor.outputs.folds.deepest import KEPT, Deepest, DeepUrl
from gregor.outputs.folds.rates import RecentWindows, Timeline, TimeWindow
from gregor.outputs.folds.refusals import MOST, RefusalCount, Refusals
from gregor.outputs.folds.servers import ServerRow, ServerTable, row_of_fetched
from gregor.outputs.folds.times import add_times, times_of
from gregor.outputs.folds.totals import media_type
from schemas.codec import encode
from schemas.fetched import Fetched, FetchResult, RobotsRules, Timings
from schemas.verdicts import Verdict
from tests.outputs.folds.records import MONDAY, page, records


def view_of(given: list[Fetched | Verdict]) -> CrawlView:
    view = CrawlView()
    for record in given:
        view.record("fetched" if isinstance(record, Fetched) else "verdicts", encode(record))
    return view


@given(records, st.data())
def test_any_split_folded_apart_and_merged_is_the_whole_folded_at_once(
    given: list[Fetched | Verdict], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(given))
    cut = sorted(data.draw(st.lists(st.integers(0, len(given)), min_size=2, max_size=2)))
    parts = [view_of(part) for part in (shuffled[: cut[0]], shuffled[cut[0] : cut[1]], shuffled[cut[1] :])]
    first, second, third = parts
    left = copy.deepcopy(first)
    left.merge(second)
    left.merge(third)
    third.merge(second)
    first.merge(third)
    assert left == first == view_of(given)


@given(records)
def test_merging_with_nothing_changes_nothing(given: list[Fetched | Verdict]) -> None:
    view, empty = view_of(given), CrawlView()
    view.merge(CrawlView())
    empty.merge(view)
    assert view == empty == view_of(given)


@given(records)
def test_rows_windows_and_totals_count_the_same_requests(given: list[Fetched | Verdict]) -> None:
    view = view_of(given)
    asked = [
        one
        for record in given
        if isinstance(record, Fetched) and record.kind == "pages"
        for one in record.results
        if one.outcome not in ("expired", "cancelled")
    ]
    rows = view.servers.all()
    assert view.totals.requests == len(asked) == sum(row.requests for row in rows)
    assert len(asked) == sum(view.totals.statuses.values()) == sum(sum(row.statuses.values()) for row in rows)
    assert sum(view.totals.types.values()) == view.totals.pages == sum(row.pages for row in rows)
    refused = [line.count for line in view.refusals.all() if line.kind != "delayed"]
    assert sum(refused) == sum(row.refused_count for row in rows)
    assert sum(window.requests for _, window in view.timeline.series()) <= len(asked)


@given(records)
def test_a_row_survives_being_written_as_json(given: list[Fetched | Verdict]) -> None:
    for row in view_of(given).servers.all():
        assert msgspec.json.decode(msgspec.json.encode(row), type=ServerRow) == row


def test_a_record_of_the_wrong_kind_is_counted_and_changes_nothing_else() -> None:
    view = CrawlView()
    for value in (None, b"", b"{", b'{"server": 3}'):
        view.record("fetched", value)
        view.record("verdicts", value)
    assert view.unreadable == 8
    view.unreadable = 0
    assert view == CrawlView()


def test_servers_beyond_the_limit_are_joined_and_the_largest_keep_their_rows() -> None:
    table = ServerTable(limit=10)
    for number in range(1000):
        table.add(row_of_fetched(page(server=f"s{number}.test", wire_bytes=number)))
        table.add(row_of_fetched(page(server="large.test")))
        assert len(table.rows) <= 13
    rows = table.all()
    assert len(rows) == 11
    assert rows[0].server == "large.test"
    assert rows[0].requests == 1000
    assert (rows[-1].server, rows[-1].servers) == ("", 991)
    assert sum(row.requests for row in rows) == 2000
    assert sum(row.wire_bytes for row in rows) == sum(range(1000))


def test_joined_tables_keep_their_sums_when_both_have_others() -> None:
    tables = [ServerTable(limit=4), ServerTable(limit=4)]
    for number in range(100):
        tables[number % 2].add(row_of_fetched(page(server=f"s{number}.test")))
    tables[0].merge(tables[1])
    rows = tables[0].all()
    assert sum(row.requests for row in rows) == sum(row.servers for row in rows) == 100


def test_refusals_beyond_the_bound_are_counted_together() -> None:
    refusals = Refusals()
    for number in range(MOST + 50):
        refusals.add(RefusalCount(stage="frontier", kind="refused", reason=f"reason-{number}", count=1))
    assert len(refusals.lines) == MOST + 1
    assert refusals.all()[0] == RefusalCount(stage=OTHERS, kind="refused", reason=OTHERS, count=50)


@given(st.lists(st.integers(0, 100_000), min_size=1))
def test_a_percentile_is_at_most_an_eighth_off(values: list[int]) -> None:
    times = times_of(values)
    for share in (0.5, 0.95, 1.0):
        true = sorted(values)[max(0, -(-int(share * 100) * len(values) // 100) - 1)]
        assert true * 7 / 8 - 1 <= times.percentile(share) <= true * 9 / 8 + 1


def test_no_requests_have_no_times() -> None:
    times = add_times(times_of([]), times_of([]))
    assert (times.mean_ms, times.percentile(0.95), times.count) == (0.0, 0.0, 0)


@given(st.lists(st.integers(1, 2**50), min_size=1, max_size=40))
def test_a_timeline_of_any_length_has_a_bounded_number_of_windows_and_loses_nothing(seconds: list[int]) -> None:
    timeline = Timeline(most=30)
    for second in seconds:
        timeline.add({second * 1000: TimeWindow(requests=1)})
    series = list(timeline.series())
    assert len(series) <= 30
    assert sum(window.requests for _, window in series) == len(seconds)
    assert [start for start, _ in series] == sorted(start for start, _ in series)


def test_recent_windows_forget_the_old_and_tell_the_rate_of_whole_windows() -> None:
    recent = RecentWindows(1000, 5)
    for second in range(100):
        recent.add({MONDAY + second * 1000: TimeWindow(requests=second)})
    assert len(recent.windows) == 5
    recent.add({MONDAY: TimeWindow(requests=7)})
    assert len(recent.windows) == 5
    now = MONDAY + 99_500
    assert recent.last(1, now).requests == 98
    assert recent.last(3, now).requests == 98 + 97 + 96


def test_a_moment_days_ahead_leaves_the_recent_windows_as_they_are() -> None:
    ahead = RecentWindows(1000, 5)
    ahead.add({MONDAY + 2 * 86_400_000: TimeWindow(requests=1)})
    recent = RecentWindows(1000, 5)
    for second in range(100):
        recent.add({MONDAY + second * 1000: TimeWindow(requests=second)})
        if second == 50:
            recent.merge(ahead)
    assert recent.last(3, MONDAY + 99_500).requests == 98 + 97 + 96
    assert len(recent.windows) == 5


def test_the_deepest_urls_are_kept_each_once() -> None:
    view = CrawlView()
    for number in range(200):
        view.fetched(page(f"/{number}/x", depth=number // 50))
        view.fetched(page("/again", depth=3))
    deepest = view.deepest.all()
    assert len(deepest) == KEPT
    assert {one.depth for one in deepest} == {3}
    assert all(one.segments == 2 for one in deepest)


_DEEP = st.builds(DeepUrl, st.integers(0, 4), st.integers(0, 3), st.integers(0, 60).map(str))


@given(st.lists(_DEEP, max_size=90), st.integers(0, 90))
def test_the_deepest_of_parts_are_the_deepest_of_the_whole(found: list[DeepUrl], cut: int) -> None:
    whole, first, second = Deepest(), Deepest(), Deepest()
    for one in found:
        whole.add([one])
    first.add(found[:cut])
    second.add(found[cut:])
    first.merge(second)
    assert first == whole
    depths: dict[str, DeepUrl] = {}
    for one in found:
        depths[one.url] = max(depths.get(one.url, one), one)
    assert whole.all() == sorted(depths.values(), reverse=True)[:KEPT]


def test_the_slowest_servers_are_those_whose_requests_take_long_and_not_those_with_one_bad_moment() -> None:
    view = CrawlView()
    for _ in range(40):
        view.fetched(page(server="slow.test", timings=Timings(total=900)))
        view.fetched(page(server="quick.test", timings=Timings(total=20)))
    view.fetched(page(server="quick.test", timings=Timings(total=60_000)))
    view.fetched(page(server="once.test", timings=Timings(total=30_000)))
    assert [row.server for row in view.servers.slowest(5)] == ["slow.test", "quick.test"]


def test_the_robots_of_a_row_are_the_last_that_were_fetched() -> None:
    def asked(at_ms: int, verdict: str, outcome: str = "ok", status: int = 200) -> Fetched:
        rules = RobotsRules(scheme="https", verdict=verdict, fetched_ms=at_ms, status=status)  # type: ignore[arg-type]
        result = FetchResult(path="/robots.txt", outcome=outcome, status=status, started_ms=at_ms)  # type: ignore[arg-type]
        return Fetched(server="a.test", lease="1-1", kind="robots", results=(result,), robots=(rules,))

    view = view_of(
        [asked(2000, "rules"), asked(1000, "allow-all", "client-error", 404), asked(1500, "unreachable", "connect", 0)]
    )
    row = view.servers.rows["a.test"]
    assert row.robots["https"].verdict == "rules"
    assert (row.requests, row.robots_requests, row.errors) == (0, 3, {"connect": 1})
    assert view.totals.requests == 0


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        ("text/HTML; charset=utf-8", "text/html"),
        ("", "none"),
        (";", "none"),
        ("<script>", "invalid"),
        (OTHERS, "invalid"),
        ("image/svg+xml", "image/svg+xml"),
    ],
)
def test_a_media_type_is_one_or_said_to_be_none(sent: str, counted: str) -> None:
    assert media_type(sent) == counted
