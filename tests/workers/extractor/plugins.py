"""Functions that a configuration may name: one that works, and some that do not."""

import os
import time
from collections.abc import Iterator
from typing import Any

from workers.extractor.plugin import Link, Page


def works(page: Page) -> Iterator[dict[str, Any] | Link]:
    print("what a plug-in prints goes nowhere near the frames")
    for heading in page.selector.css("h2::text").getall():
        yield {"heading": heading, "status": page.status, "type": page.header("Content-Type")}
    yield Link("/from-plugin")


def raises(page: Page) -> Iterator[dict[str, Any]]:
    yield {"before": 1}
    raise ValueError("no price on this page")


def returns_nonsense(page: Page) -> list[Any]:
    return [{"fine": 1}, 17]


def yields_objects(page: Page) -> Iterator[dict[str, Any]]:
    yield {"object": object()}


def never_ends(page: Page) -> None:
    while True:
        time.sleep(0.01)


def dies(page: Page) -> None:
    os._exit(3)


def yields_for_ever(page: Page) -> Iterator[dict[str, Any]]:
    while True:
        yield {"x": 1}
