"""The caching URL filter, step by step and against a model of what the frontier has."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workers.extractor.filter.cache import UrlFilter
from workers.extractor.filter.entries import GONE, VISITED, VISITING
from workers.extractor.filter.lists import COME_ALONG, URL_BYTES, FilterSettings
from workers.extractor.filter.store import GroupStore, StoreNote

SERVER = "h.example"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GroupStore]:
    opened = GroupStore(tmp_path / "store")
    yield opened
    opened.close()


def sent(known: UrlFilter, *paths: str, near: bool = True) -> list[str]:
    """A page with these links: the paths that the frontier is told of."""
    entries = [known.find("http", SERVER, path) for path in paths]
    for entry in entries:
        entry.times = 1
    told = [entry.path for entry in entries if known.claim(entry, near)]
    known.end_page()
    return told


def small(capacity: int = 1000, store: GroupStore | None = None, **more: float) -> UrlFilter:
    return UrlFilter(FilterSettings(capacity=capacity, **more), store)  # type: ignore[arg-type]


def test_a_url_is_sent_once_and_its_repeats_are_counted() -> None:
    known = small()
    assert sent(known, "/a", "/b") == ["/a", "/b"]
    assert sent(known, "/a") == []
    assert [(entry.path, times) for entry, times in known.committed().items()] == [("/a", 1)]
    assert sent(known, "/b", "/c") == ["/c"]


def test_what_was_not_committed_is_sent_again() -> None:
    known = small()
    sent(known, "/a")
    known.committed()
    sent(known, "/b")
    known.dropped()
    assert sent(known, "/a", "/b") == ["/b"]


def test_a_url_met_within_the_limits_is_sent_though_it_was_sent_from_beyond_them() -> None:
    known = small()
    assert sent(known, "/a", near=False) == ["/a"]
    known.committed()
    assert sent(known, "/a", near=False) == []
    assert sent(known, "/a") == ["/a"]
    known.dropped()
    assert sent(known, "/a") == ["/a"]
    known.committed()
    assert sent(known, "/a") == []
    assert sent(known, "/a", near=False) == []


def test_the_store_never_learns_what_may_still_be_dropped(store: GroupStore) -> None:
    known = small(capacity=16, store=store)
    sent(known, "/a/x", near=False)
    known.committed()
    assert sent(known, "/a/x") == ["/a/x"]
    for directory in range(20):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
    known.dropped()
    known.end_page()
    assert sent(known, "/a/x") == ["/a/x"]


def test_a_url_that_was_fetched_was_not_refused() -> None:
    known = small()
    sent(known, "/a", near=False)
    known.committed()
    known.fetched("http", SERVER, "/a")
    assert sent(known, "/a") == []


def test_fetching_moves_a_url_from_visiting_to_visited() -> None:
    known = small()
    sent(known, "/a")
    known.committed()
    assert known.find("http", SERVER, "/a").state == VISITING
    known.fetched("http", SERVER, "/a")
    known.fetched("http", SERVER, "/a")
    assert known.find("http", SERVER, "/a").state == VISITED
    assert known.size == 1


def test_what_others_sent_is_known_once_it_was_fetched() -> None:
    known = small()
    known.fetched("http", SERVER, "/seed")
    known.dropped()
    assert sent(known, "/seed") == []


def test_schemes_and_servers_are_told_apart() -> None:
    known = small()
    sent(known, "/a")
    known.committed()
    assert known.claim(known.find("https", SERVER, "/a"), True)
    assert known.claim(known.find("http", "other.example", "/a"), True)


def test_what_leaves_the_memory_comes_back_from_the_store_with_its_directory(store: GroupStore) -> None:
    known = small(capacity=64, store=store)
    sent(known, *(f"/a/{n}" for n in range(10)))
    known.committed()
    for directory in range(40):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    assert known.size <= 64
    loaded = known.counts.loaded
    assert sent(known, "/a/3") == []
    assert known.counts.loaded == loaded + 10
    assert known.counts.store_hits >= 1
    hits = known.counts.store_hits
    assert sent(known, *(f"/a/{n}" for n in range(10))) == []
    assert known.counts.store_hits == hits, "the others came along"


def test_a_new_url_brings_nothing_of_its_directory_back(store: GroupStore) -> None:
    known = small(capacity=64, store=store)
    sent(known, *(f"/a/{n}" for n in range(16)))
    known.committed()
    for directory in range(40):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    loaded = known.counts.loaded
    assert sent(known, "/a/new") == ["/a/new"]
    assert known.counts.loaded == loaded


def test_of_a_large_directory_only_those_that_are_met_most_come_back_with_a_url(store: GroupStore) -> None:
    known = small(capacity=8192, store=store)
    paths = [f"/{n}" for n in range(2000)]
    sent(known, *paths)
    known.committed()
    for directory in range(2000):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    loaded = known.counts.loaded
    assert sent(known, paths[0]) == []
    assert 0 < known.counts.loaded - loaded <= COME_ALONG + 1


def test_a_url_fetched_while_only_the_store_knows_it_keeps_its_repetitions(store: GroupStore) -> None:
    known = small(capacity=64, store=store)
    for _ in range(4):
        sent(known, "/a/often")
        known.committed()

    def drive_out() -> None:
        for directory in range(100):
            sent(known, *(f"/d{directory}-{known.counts.sent}/{n}" for n in range(8)))
            known.committed()

    drive_out()
    known.fetched("http", SERVER, "/a/often")
    drive_out()
    entry = known.find("http", SERVER, "/a/often")
    assert (entry.state, entry.repeats) == (VISITED, 3)


def test_long_urls_leave_before_they_are_as_many_as_the_capacity(store: GroupStore) -> None:
    known = small(capacity=1000, store=store)
    for number in range(500):
        sent(known, f"/d{number}/" + "x" * 1700)
        known.committed()
    assert known.size <= 1000 * URL_BYTES // 2000
    assert known.counts.evicted + known.size == 500


def test_whoever_holds_a_url_that_left_does_not_hold_the_memory_of_its_directory(store: GroupStore) -> None:
    known = small(capacity=8000, store=store)
    held = known.find("http", SERVER, "/a/0")
    for page in range(20):
        sent(known, *(f"/a/{page * 10 + n}" for n in range(10)))
    known.committed()
    full = sys.getsizeof(held.group.visiting)
    for directory in range(2000):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    assert held.state == GONE
    assert sys.getsizeof(held.group.visiting) < full / 10


def test_a_url_that_is_met_often_stays_in_memory(store: GroupStore) -> None:
    known = small(capacity=64, store=store)
    for page in range(200):
        sent(known, "/index.html", *(f"/d{page}/{n}" for n in range(8)))
        known.committed()
    assert known.find("http", SERVER, "/index.html").repeats == 199
    assert known.counts.store_hits == 0


def test_without_a_store_what_leaves_is_forgotten_and_sent_again() -> None:
    known = small(capacity=64)
    sent(known, "/a/1")
    known.committed()
    for directory in range(40):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    assert sent(known, "/a/1") == ["/a/1"]


def test_a_directory_larger_than_the_memory_is_known_in_parts(store: GroupStore) -> None:
    known = small(capacity=128, store=store)
    paths = [f"/all/{n}" for n in range(3000)]
    for start in range(0, 3000, 50):
        assert len(sent(known, *paths[start : start + 50])) == 50
        known.committed()
    assert known.size <= 128 + 50
    for start in range(0, 3000, 50):
        assert sent(known, *paths[start : start + 50]) == []
        known.committed()


def test_a_full_store_is_emptied(store: GroupStore) -> None:
    known = small(capacity=32, store=store, store_urls=100)
    for directory in range(100):
        sent(known, *(f"/d{directory}/{n}" for n in range(8)))
        known.committed()
    assert known.counts.emptied >= 1
    assert sum(len(urls) for _, urls in store.scan()) <= 200


def test_a_capacity_of_nothing_knows_nothing() -> None:
    known = small(capacity=0)
    assert sent(known, "/a", "/b") == ["/a", "/b"]
    known.committed()
    assert sent(known, "/a") == ["/a"]
    assert known.size == 0


def test_clearing_forgets_all_but_what_is_pending(store: GroupStore) -> None:
    known = small(capacity=100, store=store)
    sent(known, "/a")
    known.committed()
    sent(known, "/b")
    known.clear()
    assert sent(known, "/a", "/b") == ["/a"]


def test_a_restart_begins_with_the_most_repeated(tmp_path: Path) -> None:
    store = GroupStore(tmp_path / "store")
    known = small(capacity=1000, store=store)
    for page in range(30):
        sent(known, *(f"/d{n}/x" for n in range(page + 1)))
        known.committed()
    store.put_mark(StoreNote("v", {0: 7}, known.finish()))
    store.close()
    store = GroupStore(tmp_path / "store")
    mark = store.take_mark()
    assert mark is not None
    assert mark.positions == {0: 7}
    assert store.take_mark() is None, "it counts once"
    again = small(capacity=20, store=store)
    again.start(0.5, mark.splits)
    assert again.size == 10
    assert sent(again, *(f"/d{n}/x" for n in range(10))) == []
    assert again.counts.store_hits == 0
    assert sent(again, "/d25/x", "/new/x") == ["/new/x"]
    store.close()


class FilterModel(RuleBasedStateMachine):
    """What the frontier has is a plain set; the filter may forget, but never know what the set does not hold."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.store = GroupStore(Path(self._folder.name) / "store")
        self.known = UrlFilter(FilterSettings(capacity=24, exchange=0.3, store_urls=150), self.store)
        self.frontier: dict[str, bool] = {}
        """Path to whether it was sent from within the limits."""
        self.emitted: dict[str, bool] = {}

    paths = st.builds("/{}/{}".format, st.integers(0, 5), st.integers(0, 40))

    @rule(paths=st.lists(paths, max_size=30, unique=True), near=st.booleans())
    def page(self, paths: list[str], near: bool) -> None:
        entries = [self.known.find("http", SERVER, path) for path in paths]
        for entry in entries:
            assert entry.state != GONE
            if self.known.claim(entry, near):
                self.emitted[entry.path] = near or self.emitted.get(entry.path, False)
            else:
                sent = [where[entry.path] for where in (self.emitted, self.frontier) if entry.path in where]
                assert sent, "known means that it was sent, in this transaction or a committed one"
                assert not near or any(sent), "and that it was not only sent from beyond the limits"
        self.known.end_page()

    @rule(paths=st.lists(paths, max_size=30, unique=True), near=st.booleans(), claimed=st.integers(0, 30))
    def abandoned(self, paths: list[str], near: bool, claimed: int) -> None:
        """A page that ended in the middle: nothing of it was sent."""
        sent = self.known.counts.sent, self.known.counts.sent_nearer
        for entry in [self.known.find("http", SERVER, path) for path in paths][:claimed]:
            self.known.claim(entry, near)
        self.known.abandon_page()
        assert (self.known.counts.sent, self.known.counts.sent_nearer) == sent

    @rule()
    def commit(self) -> None:
        self.known.committed()
        for path, near in self.emitted.items():
            self.frontier[path] = near or self.frontier.get(path, False)
        self.emitted = {}

    @rule()
    def drop(self) -> None:
        self.known.dropped()
        self.emitted = {}

    @precondition(lambda self: self.frontier)
    @rule(data=st.data())
    def fetched(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.frontier)))
        self.known.fetched("http", SERVER, path)
        self.known.end_page()
        self.frontier[path] = True

    @rule()
    def clear(self) -> None:
        self.known.clear()

    @rule()
    def restart(self) -> None:
        self.emitted = {}
        splits = self.known.finish()
        self.known = UrlFilter(FilterSettings(capacity=24, exchange=0.3, store_urls=150), self.store)
        self.known.start(0.5, splits)

    @invariant()
    def the_memory_is_bounded(self) -> None:
        assert self.known.size <= 24 + len(self.emitted)
        held = [
            entry
            for group in self.known.lists.groups.values()
            for entry in (*group.visiting.values(), *group.visited.values())
        ]
        assert len(held) == self.known.size
        assert all(entry.state != GONE and entry.group is self.known.lists.groups[entry.group.key] for entry in held)

    def teardown(self) -> None:
        self.known.finish()
        self.store.close()
        self._folder.cleanup()


TestFilterModel = FilterModel.TestCase
TestFilterModel.settings = hypothesis_settings(max_examples=40, stateful_step_count=30, deadline=None)
