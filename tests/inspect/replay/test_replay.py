"""Replays of recorded crawls of a simulated web, in one partition: whatever went wrong in them, the same decisions come again."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gregor.config import Config
from gregor.config.sections import ScopeSection
from gregor.inspect.replay.outcome import Outcome
from gregor.inspect.replay.run import ReplayRequest, replay
from gregor.runtime.transport.port import LogReader, Record, TopicPartition
from schemas.discovered import decode_discovered
from schemas.fetched import decode_fetched
from tests.inspect.replay.recorded import CHANGELOG, ListLog, RecordedCrawl
from tests.streams.frontier.rig import T0, configure
from tests.streams.frontier.web import SimulatedWeb


def config(**sections: dict[str, object]) -> Config:
    given: dict[str, dict[str, object]] = {
        "fetch": {"delay_s": 0.5, "urls_per_order": 3},
        "robots": {"obey": True},
        "retry": {"attempts": 2, "first_s": 5.0, "longest_s": 30.0, "server_attempts": 3},
        "traps": {"query_variants": 20, "identical_pages": 0},
        "partitions": {"partitions": 1},
    }
    for name, keys in sections.items():
        given[name] = {**given.get(name, {}), **keys}
    return configure(**given)


def replayed(
    log: LogReader, chosen: Config, other: bool = False, show: int = 5, **limits: dict[TopicPartition, int]
) -> Outcome:
    asked = ReplayRequest(
        crawl="crawl",
        reader=log,
        config=chosen,
        other=other,
        widened=(),
        partitions=[0],
        since=limits.get("since", {}),
        until=limits.get("until", {}),
        show=show,
    )
    with TemporaryDirectory() as folder:
        return replay(asked, Path(folder) / "new")


VARIANTS: tuple[dict[str, dict[str, object]], ...] = (
    {},
    {"robots": {"obey": False}, "retry": {"attempts": 1, "dead_hours": 0.01}},
    {"crawl": {"server_budget": 5}, "frontier": {"priority": "link-count"}},
    {"revisit": {"mode": "fixed", "interval_hours": 0.01}},
)


@settings(max_examples=16, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    steps=st.sampled_from((3, 30, 120)),
    trouble=st.sampled_from((0.0, 0.1, 0.4)),
    variant=st.sampled_from(VARIANTS),
    ahead_hours=st.sampled_from((0, 24)),
)
def test_any_history_is_the_same_step_by_step_and_by_the_times_of_its_records(
    seed: int, steps: int, trouble: float, variant: dict[str, dict[str, object]], ahead_hours: int
) -> None:
    """Also that of a partition whose clock was ahead when it was first told."""
    chosen = config(**variant)
    web = SimulatedWeb(servers=12, largest=20, seed=seed)
    with RecordedCrawl(chosen, web, Random(seed), trouble) as crawl:
        crawl.rig.frontier.state.clock(T0 + ahead_hours * 3600 * 1000)
        crawl.run(steps)
        if crawl.rig.replica.checkpoint is None:
            return
        exact = replayed(crawl.log, chosen)
        assert (exact.verdict, exact.exact, exact.disagreeing) == ("same", 1, 0), exact
        folder = replayed(crawl.folder_like, chosen)
        assert (folder.verdict, folder.exact, folder.then) == ("same", 0, exact.then), folder


class MovingLog(ListLog):
    """That of a crawl which goes on whenever its changelog is read."""

    def __init__(self, crawl: RecordedCrawl) -> None:
        super().__init__()
        self.topics = crawl.log.topics
        self._crawl = crawl

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        if topic == CHANGELOG:
            self._crawl.run(15)
        return super().read(topic, partition, start, end)


def test_a_crawl_that_goes_on_meanwhile_is_the_same_as_far_as_its_changelog_was_read() -> None:
    with RecordedCrawl(config(), SimulatedWeb(servers=12, largest=20, seed=5), Random(5), 0.1) as crawl:
        crawl.run(15)
        made = len(crawl.log.topics["schedule"])
        found = replayed(MovingLog(crawl), config())
        assert len(crawl.log.topics["schedule"]) > made
        assert (found.verdict, found.exact, found.disagreeing) == ("same", 1, 0), found


@pytest.fixture(scope="module")
def crawl() -> Iterator[RecordedCrawl]:
    with RecordedCrawl(config(), SimulatedWeb(servers=12, largest=20, seed=3), Random(3), 0.1) as recorded:
        recorded.run(1000)
        yield recorded


def urls_of(log: ListLog) -> dict[str, int]:
    """Every URL that was discovered, and the least depth at which it was."""
    found: dict[str, int] = {}
    for record in log.topics["discovered"]:
        one = decode_discovered(record.value)
        for path in one.paths:
            url = f"{one.scheme}://{one.server}{path}"
            found[url] = min(one.depth, found.get(url, one.depth))
    return found


def test_with_another_configuration_exactly_the_urls_that_it_refuses_differ(crawl: RecordedCrawl) -> None:
    strict = replayed(crawl.log, config(crawl={"max_depth": 2}), other=True, show=10_000)
    assert not strict.same_config
    (gone,) = [one for one in strict.differences if one.now == "unknown" and one.then == "fetched"]
    assert {depth for url, depth in urls_of(crawl.log).items() if url in gone.first} == {3}
    assert set(gone.first) <= {url for url, depth in urls_of(crawl.log).items() if depth > 2}
    assert strict.then["admitted"] - strict.now["admitted"] == sum(
        one.urls for one in strict.differences if one.now == "unknown" and one.then != "refused"
    )
    assert strict.now["refused_depth"] > 0 == strict.then.get("refused_depth", 0)


def test_another_scope_is_judged_as_the_extractor_would_have(crawl: RecordedCrawl) -> None:
    chosen = replace(config(), scope=ScopeSection(exclude=(r"/p1$",)))
    strict = replayed(crawl.log, chosen, other=True, show=10_000)
    expected = {url for url in urls_of(crawl.log) if url.endswith("/p1")}
    assert {url for one in strict.differences for url in one.first} == expected
    links = [path for record in crawl.log.topics["discovered"] for path in decode_discovered(record.value).paths]
    assert strict.now["refused_scope-exclude"] == links.count("/p1")


def test_a_result_that_is_gone_is_a_difference_with_its_urls_and_the_first_checkpoint_is_named(
    crawl: RecordedCrawl,
) -> None:
    log = crawl.log.copy()
    lost = next(
        one
        for one in log.topics["fetched"][20:]
        if {r.outcome for r in decode_fetched(one.value).results} == {"ok"}
        and decode_fetched(one.value).kind == "pages"
    )
    log.topics["fetched"].remove(lost)
    found = replayed(log, config())
    results = decode_fetched(lost.value)
    assert (found.verdict, found.same_config) == ("differs", True)
    (one,) = found.differences
    assert (one.then, one.now, one.judged) == ("fetched", "waiting", True)
    assert set(one.first) == {f"{r.scheme}://{results.server}{r.path}" for r in results.results}
    assert found.disagreeing > 0
    assert any("is the first that disagrees: confirmed" in note for note in found.notes)


def test_trimmed_topics_are_made_up_for_by_the_changelog_and_otherwise_named(crawl: RecordedCrawl) -> None:
    middle = crawl.log.topics["discovered"][10].offset
    log = crawl.log.copy()
    log.trim("discovered", middle)
    whole = replayed(log, config())
    assert (whole.verdict, whole.exact, whole.notes) == ("same", 1, [])
    folder = crawl.folder_like
    folder.trim("discovered", middle)
    partial = replayed(folder, config())
    assert partial.verdict == "partial"
    assert f"discovered[0] begins at offset {middle}: what stood before is not known" in partial.notes
    assert {one.judged for one in partial.differences} == {False}


def test_from_a_checkpoint_on_and_up_to_a_point_it_is_the_same_too(crawl: RecordedCrawl) -> None:
    fetched = crawl.log.topics["fetched"]
    third = {TopicPartition("fetched", 0): fetched[len(fetched) // 3].offset}
    later = {TopicPartition("fetched", 0): fetched[len(fetched) // 2].offset}
    part = replayed(crawl.log, config(), since=third, until=later)
    assert (part.verdict, part.exact) == ("same", 1)
    assert 0 < part.records < len(fetched)
    early = replayed(crawl.folder_like, config(), until=later)
    assert early.verdict == "nothing to compare with"
    log = crawl.log.copy()
    last = log.last_checkpoint("frontier", 0)
    assert last is not None
    log.trim(CHANGELOG, last.restorable_from)
    short = replayed(log, config())
    assert (short.verdict, short.exact) == ("same", 0)
    assert 0 < short.checkpoints < last.sequence, "the checkpoints that are left were compared"


def test_from_a_point_that_the_changelog_does_not_reach_back_to_nothing_is_judged(crawl: RecordedCrawl) -> None:
    log = crawl.log.copy()
    last = log.last_checkpoint("frontier", 0)
    assert last is not None
    log.trim(CHANGELOG, last.restorable_from)
    fetched = log.topics["fetched"]
    found = replayed(log, config(), since={TopicPartition("fetched", 0): fetched[len(fetched) // 3].offset})
    assert any("the replay began with an empty one" in note for note in found.notes)
    assert {one.judged for one in found.differences} == {False}
    assert (found.verdict, found.checkpoints, found.disagreeing) == ("partial", 0, 0)
