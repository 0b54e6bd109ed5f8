"""A crawl on one machine, killed with all its processes at random moments and begun again by the same command each time."""

import io
import os
from collections import Counter
from collections.abc import Set
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from gregor.demo.server import DemoServer, serve
from gregor.demo.site import DemoSite
from gregor.operate.crawl_handle import FolderHandle
from gregor.outputs.archive.reader import open_archive
from gregor.runtime.loops.window import OrderWindow
from gregor.runtime.transport.port import Position, TopicPartition
from schemas.schedule import decode_order
from tests.chaos.processes import gregor, seeded
from tests.run.configured import write_config

KILLS = int(os.environ.get("GREGOR_STORM_KILLS") or 10)
LEAST_KILLS = KILLS // 3
"""Fewer, and the site was too small to be killed in."""
PAGES_PER_HOST = 15 * KILLS
LATENCY_S = 0.05
"""Holds the crawl up on the fastest machine, so that there is something to kill."""


def in_flight(folder: Path) -> set[str]:
    """URLs of the orders that the log has no results of, while nobody works on it."""
    if not (folder / "state" / "folder.json").exists():
        return set()
    access = FolderHandle(folder)
    try:
        positions = access.reader.committed("fetcher", ("schedule",))
        found: set[str] = set()
        for partition, (first, _) in access.reader.ends("schedule").items():
            position = positions.get(TopicPartition("schedule", partition), Position(first))
            window = OrderWindow(position)
            for record in access.reader.read("schedule", partition, position.offset):
                if window.accept(record.offset):
                    order = decode_order(record.value)
                    found |= {f"{url.scheme}://{order.server}{url.path}" for url in order.urls}
        return found
    finally:
        access.close()


def storm(config: Path, folder: Path, server: DemoServer) -> Counter[str]:
    """How often each URL was in flight at a kill. One kill in four comes whenever it comes, the others while pages are fetched."""
    moments = seeded("crawl on one machine")
    caught: Counter[str] = Counter()
    kills = 0
    for number in range(KILLS):
        before = len(server.log)
        with gregor(config, "crawl", "--output", folder) as running:
            while number % 4 and len(server.log) < before + 8 and not running.wait_briefly(0.01):
                pass
            kills += not running.wait_briefly(moments.uniform(0.0, 1.5))
        caught.update(in_flight(folder))
    print(f"{kills} kills, {len(server.log)} requests, {sum(caught.values())} URLs in flight")
    assert kills >= LEAST_KILLS, "the crawl ended before it could be killed"
    assert caught, "no kill hit an order"
    return caught


@pytest.mark.timeout(1800)
def test_killed_at_random_it_fetches_the_same_pages_archives_each_once_and_asks_again_only_for_what_was_in_flight(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "crawl"
    with serve(DemoSite(pages_per_host=PAGES_PER_HOST), latency_s=LATENCY_S) as server:
        config = write_config(tmp_path / "gregor.toml", server)
        caught = storm(config, folder, server)
        with gregor(config, "crawl", "--output", folder) as running:
            code, printed = running.wait()
        assert code == 0, printed
        requested, urls, pages = server.requested(), server.site.urls(), server.site.pages()
    assert requested.keys() == urls
    again = {url: count - 1 for url, count in requested.items() if count - 1 > caught[url]}
    assert again == {}, "asked for again without having been in flight at a kill"
    judge_archive(folder / "archive", urls, pages)


def judge_archive(folder: Path, urls: Set[str], pages: Set[str]) -> None:
    archive = open_archive(folder)
    found = Counter((page.url, page.facts.lease) for page in archive)
    assert set(found.values()) == {1}, "nothing twice"
    assert Counter(url for url, _ in found) == Counter(urls), "and every URL"
    read: Counter[str] = Counter()
    for one in archive.files.values():
        data = (folder / one.file).read_bytes()
        assert len(data) >= one.length
        for record in ArchiveIterator(io.BytesIO(data[: one.length]), check_digests="raise"):
            if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                assert record.content_stream().read().startswith(b"<!")
                read[record.rec_headers["WARC-Target-URI"]] += 1
    assert read == Counter(pages), "another reader finds the same"
    sizes = {path.name: path.stat().st_size for path in folder.glob("*.warc.gz")}
    assert sizes == {one.file: one.length for one in archive.files.values()}, "nothing is left behind what is committed"
