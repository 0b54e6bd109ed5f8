"""What the extractor remembers beside the filter's URLs stays within its bounds, however long the texts are."""

import pytest

from gregor.url.canonical import Url
from schemas.codec import LARGEST_RECORD, encode
from workers.extractor.filter.entries import Entry, Refused, new_group
from workers.extractor.filter.repetitions import MOST_BYTES, Repetitions
from workers.extractor.hrefs import LINK_BYTES, LONGEST, Hrefs
from workers.extractor.sitemap_owners import MOST_NAMED, MOST_SERVERS, SitemapOwners

pytestmark = pytest.mark.usefixtures("reader")

GROUP = new_group(("http", "h.example", "/", 0, 0))


@pytest.mark.parametrize("length", [1, LONGEST - 10])
def test_links_as_they_are_written_are_bounded_in_bytes_too(length: int) -> None:
    most = 1000
    hrefs = Hrefs(most)
    for number in range(200):
        directory = f"/{number}/"
        known = hrefs.of(Url("http", "h.example", directory), directory)
        for link in range(20):
            href = f"/{link}" + "x" * length
            hrefs.remember(known, href, Entry(group=GROUP, path=href))
        hrefs.trim()
    assert len(hrefs) <= most
    assert len(hrefs) * (2 * length + 300) <= most * LINK_BYTES
    assert len(hrefs) > 0


def test_a_directory_of_links_that_lead_nowhere_counts_their_reasons() -> None:
    hrefs = Hrefs(1600)
    known = hrefs.of(Url("http", "h.example", "/"), "/")
    for number in range(1000):
        hrefs.remember(known, f"/{number}", Refused(reason="scope-host", url="http://else.example/" + "x" * 2000))
    assert len(hrefs) <= 1600 * LINK_BYTES // 16 // 2000 + 1


def test_repetitions_of_long_urls_are_reported_as_far_as_they_fit_and_the_rest_is_counted() -> None:
    repetitions = Repetitions(10.0, 10_000, lambda server: 1)
    size = MOST_BYTES // 16
    met = {Entry(group=GROUP, path="/" + "x" * size, near=True): 1 for _ in range(20)}
    repetitions.add(met)
    records = list(repetitions.flush(1))
    assert all(len(encode(record)) <= LARGEST_RECORD for record in records)
    assert sum(len(record.paths) for record in records) == sum(len(record.counts) for record in records) == 16
    assert repetitions.lost == 4


def test_the_repetitions_of_a_server_are_one_record_unless_they_are_long() -> None:
    repetitions = Repetitions(10.0, 10_000, lambda server: 1)
    repetitions.add({Entry(group=GROUP, path=f"/{number}", near=True): number for number in range(1, 1000)})
    (record,) = repetitions.flush(1)
    assert (len(record.paths), record.paths[0], record.counts[0]) == (999, "/999", 999)


def test_servers_that_name_sitemaps_are_bounded_altogether() -> None:
    vouched = SitemapOwners()
    sitemaps = MOST_NAMED // MOST_SERVERS + 1
    for sitemap in range(sitemaps):
        for server in range(MOST_SERVERS):
            vouched.add(f"http://h.example/{sitemap}", f"s{server}.example")
    assert not vouched.holds("http://h.example/0", "s0.example")
    assert vouched.holds("http://h.example/1", "s0.example")
    assert vouched.holds(f"http://h.example/{sitemaps - 1}", f"s{MOST_SERVERS - 1}.example")
