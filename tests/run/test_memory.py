"""A large crawl by one command takes as much memory at its end as in its middle, and little disk for each URL."""

import os
from pathlib import Path

import pytest

from bench.crawling.resident import crawl

URLS = int(os.environ.get("GREGOR_STORM_PAGES") or 50_000)
MOST_MB = 700
MOST_GROWTH_MB = 100
"""Between the middle and the end of fetching. Buffers of the database fill until about 45,000 URLs; from there on 80,000 more
took 20 MB."""
MOST_DISK_BYTES_PER_URL = 4_000


@pytest.mark.timeout(3600)
def test_memory_does_not_grow_with_the_number_of_urls(tmp_path: Path) -> None:
    course = crawl(tmp_path, URLS)
    assert course.told["type"] == "summary", course.told
    assert (course.requests, course.asked) == (URLS, URLS), "every URL once"
    middle, end = course.most(0.4, 0.6), course.most(0.8, 1.0)
    disk = {part: size / URLS for part, size in course.disk.items()}
    print(
        f"{URLS:,} URLs: {middle:.0f} MB in the middle, {end:.0f} at the end, {course.peak:.0f} at the most, with the report; "
        f"disk per URL: {disk['state']:.0f} bytes of state, {disk['archive']:.0f} of archive"
    )
    assert course.peak < MOST_MB
    assert end - middle < MOST_GROWTH_MB
    assert sum(disk.values()) < MOST_DISK_BYTES_PER_URL
