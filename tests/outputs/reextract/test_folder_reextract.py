"""`gregor reextract` of a crawl in a folder: what a crawl with the new rules would have taken, from the topic and from the archive."""

import json
import threading
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gregor import cli
from gregor.config import Config, load
from gregor.demo.server import serve
from gregor.demo.site import DemoSite
from gregor.errors import EXIT_USAGE
from gregor.outputs.archive.items import items_of
from gregor.outputs.reextract import to_file
from gregor.outputs.reextract.sources import Range, TopicSource
from gregor.run.embedded import EmbeddedCrawl
from gregor.runtime.transport.embedded.read_only import ReadOnlyLog
from gregor.runtime.transport.port import Record
from schemas.items import Item, decode_item
from tests.run.configured import write_config

RULES = """
[[item]]
name = "drawer"
match = '/(beetles|mantises)/'
[item.fields]
title = {css = "h1", required = true}
links = {css = "a::attr(href)", type = "url", many = true}
[extract]
page_facts = ["title", "text", "links"]
"""

Taken = tuple[str, str, int, str]


def taken(item: Item) -> Taken:
    """What does not depend on when the page was fetched."""
    return item.url, item.rule, item.number, json.dumps(item.fields, sort_keys=True)


class Crawled:
    """A crawl without rules, and what one with them took of the same site."""

    def __init__(self, folder: Path, config: Config, expected: list[Taken], rules: Path) -> None:
        self.folder = folder
        self.config = config
        """With the rules."""
        self.expected = expected
        self.rules = rules

    def run(self, *args: str, code: int = 0) -> None:
        assert cli.run(["reextract", *args, "--folder", str(self.folder)]) == code


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("reextracted")
    rules = folder / "rules.toml"
    rules.write_text(RULES)
    with serve(DemoSite(hosts=2, pages_per_host=15)) as server:
        plain = load(write_config(folder / "gregor.toml", server), {}).config
        new = load(rules, {}).config
        crawl(plain, folder / "plain")
        ruled = replace(plain, item=new.item, extract=new.extract)
        crawl(ruled, folder / "fresh")
    log = ReadOnlyLog(folder / "fresh" / "state")
    try:
        return Crawled(folder / "plain", ruled, sorted(map(taken, items_of(log))), rules)
    finally:
        log.close()


def crawl(config: Config, folder: Path) -> None:
    job = EmbeddedCrawl(config, folder)
    job.run()
    job.close()


def lines(path: Path) -> list[Taken]:
    return sorted(taken(decode_item(line)) for line in path.read_bytes().splitlines())


def test_old_pages_and_new_rules_give_the_items_of_a_new_crawl(crawled: Crawled, tmp_path: Path) -> None:
    assert {rule for _, rule, _, _ in crawled.expected} == {"drawer", "page"}
    crawled.run(str(tmp_path / "topic.jsonl"), "--config", str(crawled.rules))
    assert lines(tmp_path / "topic.jsonl") == crawled.expected
    archive = str(crawled.folder / "archive")
    crawled.run(str(tmp_path / "archive.jsonl"), "--config", str(crawled.rules), "--archive", archive)
    assert (tmp_path / "archive.jsonl").read_bytes() == (tmp_path / "topic.jsonl").read_bytes()
    crawled.run(str(tmp_path / "tables"), "--as", "parquet", "--config", str(crawled.rules), "--processes", "2")
    rows = pyarrow.parquet.read_table(tmp_path / "tables" / "drawer.parquet").num_rows
    assert rows == sum(rule == "drawer" for _, rule, _, _ in crawled.expected)
    assert {path.name for path in tmp_path.iterdir()} == {"topic.jsonl", "archive.jsonl", "tables"}, (
        "nothing else is left"
    )


def test_pages_of_one_partition_from_an_offset_on(crawled: Crawled, tmp_path: Path) -> None:
    log = ReadOnlyLog(crawled.folder / "state")
    partition, (_, end) = max(log.ends("pages").items(), key=lambda one: one[1][1])
    log.close()
    crawled.run(str(tmp_path / "a"), "--config", str(crawled.rules), "--from", f"{partition}:0")
    crawled.run(str(tmp_path / "b"), "--config", str(crawled.rules), "--from", f"{partition}:{end - 5}")
    part = lines(tmp_path / "a")
    assert 0 < len(part) <= len(crawled.expected)
    assert set(lines(tmp_path / "b")) < set(part)


def test_mistakes_are_told_in_one_line(crawled: Crawled, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").write_text("mine")
    rules = ("--config", str(crawled.rules))
    for args, told in (
        ((), "expected either a file or --topic, found neither"),
        ((str(tmp_path / "a"), "--topic", "x"), "expected either a file or --topic, found both"),
        (("--topic", "x", *rules), "expected a cluster for --topic"),
        ((str(tmp_path / "there"), *rules), "expected a file that is not there yet"),
        ((str(tmp_path / "a"),), "expected rules for items, found none"),
        ((str(tmp_path / "a"), *rules, "--archive", str(tmp_path)), "expected an archive in"),
    ):
        crawled.run(*args, code=EXIT_USAGE)
        _, err = capsys.readouterr()
        assert told in err.splitlines()[-1], err
    assert (tmp_path / "there").read_text() == "mine"


class Dying(Exception):
    """In place of a kill: nothing of the run comes after it."""


class Interrupted(TopicSource, frozen=True):
    """Pages, until the process dies."""

    left: int = 0

    def read(self, starts: Mapping[int, int]) -> Iterator[Record]:
        yield from islice(super().read(starts), self.left)
        raise Dying


@settings(max_examples=8)
@given(deaths=st.lists(st.integers(0, 40), min_size=1, max_size=3), batch=st.integers(1, 9), eager=st.booleans())
def test_however_often_it_dies_the_file_is_that_of_one_run(
    crawled: Crawled, deaths: list[int], batch: int, eager: bool
) -> None:
    log = ReadOnlyLog(crawled.folder / "state")
    ranges: dict[int, Range] = dict(log.ends("pages"))
    config = replace(crawled.config, item=())

    def run(output: Path, source: TopicSource) -> None:
        to_file.to_file(log, config, source, output, "jsonl", threading.Event())

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        place = Path(folder)
        patch.setattr(to_file, "BATCH", batch)
        patch.setattr(to_file, "NOTE_EVERY_S", 0.0 if eager else 1000.0)
        run(place / "whole", TopicSource(log, ranges))
        for left in deaths:
            with pytest.raises(Dying):
                run(place / "broken", Interrupted(log, ranges, left=left))
        run(place / "broken", TopicSource(log, ranges))
        assert (place / "broken").read_bytes() == (place / "whole").read_bytes()
    log.close()
