"""Stories of URLs, told from the folder of a real crawl."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from gregor.config import Config
from gregor.demo.server import serve
from gregor.inspect.explain import ExplainRequest, Story, explain
from gregor.inspect.explain.story import UrlCheck
from gregor.operate.commands import trim_of
from gregor.operate.config_history import recall_config
from gregor.operate.control_state import control_state
from gregor.operate.crawl_handle import FolderHandle, log_folder, send_to_folder
from gregor.outputs.archive import RecordPlace, open_archive
from gregor.outputs.archive.index import build_index
from gregor.runtime.transport.port import TopicPartition
from schemas.control import Pause
from tests.inspect.explain.site import EventfulSite, config_of, crawl_until_only_retries_are_left


class Told:
    """A crawl that is over, and its stories."""

    def __init__(self, site: EventfulSite, config: Config, folder: Path) -> None:
        self.site = site
        self.config = config
        self.folder = folder

    def story(self, url: str, config: Config | None = None) -> Story:
        access = FolderHandle(self.folder)
        try:
            known = control_state(access.reader)
            asked = ExplainRequest(
                crawl=access.crawl,
                where=access.where,
                reader=access.reader,
                held=known,
                config=config or self.config,
                source="the test's",
                archive=self.folder / "archive",
            )
            return explain(asked, url, 5)
        finally:
            access.close()

    def of(self, path: str, host: int = 0, config: Config | None = None) -> Story:
        return self.story(self.site.url(host, path), config)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("eventful") / "crawl"
    with serve(EventfulSite()) as server:
        assert isinstance(server.site, EventfulSite)
        config = config_of(server.site)
        crawl_until_only_retries_are_left(config, folder)
        yield Told(server.site, config, folder)


def refused(story: Story) -> list[str]:
    return [check.reason for check in story.recomputed.refusals]


def check(story: Story, about: str) -> UrlCheck:
    return next(one for one in story.recomputed.checks if one.about == about)


def test_a_page_that_was_fetched_has_its_whole_story(told: Told) -> None:
    story = told.of("/a")
    found = story.logged.discoveries
    assert found.first is not None
    assert (found.first.kind, found.first.referrer, found.first.depth) == ("link", told.site.url(0, "/"), 2)
    assert found.times >= 2, "twice on the first page"
    assert [result.outcome for result in story.logged.results] == ["ok"]
    assert [order.attempt for order in story.logged.orders] == [1] or "schedule" in story.logged.gaps
    (response,) = story.logged.responses
    assert response.file.endswith(".warc.gz")
    assert response.length > 0
    assert story.state is not None
    assert (story.state.life, story.state.depth) == ("fetched", 2)
    assert refused(story) == []
    assert story.recomputed.same_config
    assert story.next.what.startswith("nothing: it was fetched")


def test_the_place_in_the_archive_is_the_same_with_and_without_an_index(told: Told) -> None:
    archive = open_archive(told.folder / "archive")
    (before,) = told.of("/a").logged.responses
    page = archive.page_at(RecordPlace(before.file, before.file_offset, before.length))
    assert (page.url, page.status, page.body) == (told.site.url(0, "/a"), 200, b"<p>/a</p>")
    build_index(archive, parquet=False)
    assert told.of("/a").logged.responses == [before]


def test_a_seed_was_given_by_the_user(told: Told) -> None:
    first = told.of("/").logged.discoveries.first
    assert first is not None
    assert (first.kind, first.referrer, first.depth, first.hops) == ("seed", "", 1, 0)


def test_a_url_that_failed_is_tried_again_at_a_time(told: Told) -> None:
    story = told.of("/flaky")
    assert [(result.outcome, result.status) for result in story.logged.results] == [("server-error", 500)]
    assert story.state is not None
    assert story.state.retry_ms > story.logged.results[0].started_ms + 1_000_000
    assert (story.next.what, story.next.when_ms) == ("it is tried again", story.state.retry_ms)


def test_a_redirect_says_where_to_and_the_target_that_it_was_found_by_it(told: Told) -> None:
    assert told.of("/moved").logged.results[0].location == "/a"
    assert "redirect" in told.of("/a").logged.discoveries.kinds or told.of("/a").logged.discoveries.times >= 2


def test_what_robots_txt_refuses_is_dropped_and_says_so(told: Told) -> None:
    story = told.of("/private/x")
    assert [(one.kind, one.reason) for one in story.logged.verdicts] == [("refused", "robots")]
    assert story.logged.result_count == 0
    assert refused(story) == ["robots"]
    assert story.state is not None
    assert story.state.life == "refused"
    assert story.next.what == "nothing: it is known and refused (robots)"


def test_the_recomputed_reason_of_a_refusal_is_the_verdict_s(told: Told) -> None:
    for path, reason in (("/deep/4", "depth"), ("/r/r/r/r/r/r", "repeated-segments")):
        story = told.of(path)
        assert [one.reason for one in story.logged.verdicts] == [reason]
        assert refused(story) == [reason]
        assert story.next.what.startswith("nothing: it is")


def test_a_url_that_was_never_seen_says_why(told: Told) -> None:
    for url, reasons in (
        ("http://out.example/", ["scope-host"]),
        (told.site.url(0, "/file.zip"), ["extension"]),
        (told.site.url(0, "/private/never"), ["robots"]),
        (told.site.url(1, "/more"), ["budget"]),
        (told.site.url(0, "/nobody-links-here"), []),
    ):
        story = told.story(url)
        assert not story.logged.seen
        assert story.state is not None
        assert story.state.life == "unknown"
        assert refused(story) == reasons
        assert story.next.origin == "recomputed"
        assert story.next.what.startswith("nothing: ")


def test_other_spellings_of_a_url_have_its_story(told: Told) -> None:
    url = told.site.url(0, "/a")
    story = told.story(url.replace("http://", "HTTP://") + "/../a#there")
    assert story.canonical == url.replace("/a", "/a")
    assert story.logged.result_count == 1
    assert url in check(story, "canonical form").answer


@pytest.mark.parametrize(
    ("text", "reason"),
    [("mailto:a@b", "scheme"), ("http://", "invalid"), ("", "invalid"), ("http://user:secret@a/", "credentials")],
)
def test_a_text_that_is_no_url_has_a_story_of_one_sentence(told: Told, text: str, reason: str) -> None:
    story = told.story(text)
    assert (story.canonical, story.partition) == ("", -1)
    assert refused(story) == [reason]
    assert story.next.what.startswith("nothing: there is none: ")


def test_a_name_without_a_scheme_is_meant_for_https(told: Told) -> None:
    assert told.story("a.example:8443/x").canonical == "https://a.example:8443/x"
    assert told.story("a.example").canonical == "https://a.example/"


def test_another_configuration_is_named_as_such_and_judges_otherwise(told: Told) -> None:
    other = replace(told.config, crawl=replace(told.config.crawl, max_depth=1, scope="any"))
    assert refused(told.of("/a", config=other)) == ["depth"]
    listed = replace(told.config, crawl=replace(told.config.crawl, follow_links=False))
    assert refused(told.of("/a", config=listed)) == ["not-followed"]
    assert refused(told.of("/", config=listed)) == []
    assert told.of("/a", config=other).recomputed.same_config is False
    assert refused(told.story("http://out.example/", other)) == []


def test_the_crawl_s_own_configuration_is_recalled_from_its_folder(told: Told) -> None:
    access = FolderHandle(told.folder)
    recalled = recall_config(control_state(access.reader))
    access.close()
    assert recalled == told.config


def test_a_pause_is_part_of_the_story_and_what_is_trimmed_is_told(told: Told, tmp_path: Path) -> None:
    copy = Told(told.site, told.config, tmp_path / "crawl")
    shutil.copytree(told.folder, copy.folder)
    server = copy.site.url(0, "").removeprefix("http://")
    send_to_folder(log_folder(copy.folder), Pause(paused=True, server=server))
    send_to_folder(log_folder(copy.folder), Pause(paused=True))
    assert copy.of("/flaky").paused == ["crawl", "server"]
    assert copy.of("/flaky").next.what == "it is tried again, once its crawl and its server go on (paused)"
    places = {TopicPartition(topic, partition): 10**9 for topic in ("discovered", "fetched") for partition in (0, 1)}
    send_to_folder(log_folder(copy.folder), trim_of(places))
    story = copy.of("/a")
    assert (story.logged.discoveries.records, story.logged.result_count) == (0, 0)
    assert {"discovered", "fetched"} <= story.logged.gaps.keys()
    assert story.state is not None
    assert story.state.life == "fetched"
