"""A rule that takes its time, so that whoever uses it can be killed in the middle."""

import time
from collections.abc import Iterator

from workers.extractor.plugin import Page


def number(page: Page) -> Iterator[dict[str, str]]:
    time.sleep(0.02)
    yield {"title": page.selector.css("title::text").get() or ""}
