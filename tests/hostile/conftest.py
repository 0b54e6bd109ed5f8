"""The hostile web, and two fetchers: one with the patience for a busy machine, one that gives up at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.web import Web
from tests.workers.fetcher.fetching import Fetching, fetching, settings

SMALL_CAPS = {
    "fetch__max_body_bytes": 65_536,
    "fetch__max_header_bytes": 2048,
    "fetch__max_headers": 64,
}


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


@pytest.fixture(scope="module")
def fetcher() -> Iterator[Fetching]:
    with fetching(settings(**SMALL_CAPS)) as one:
        yield one


@pytest.fixture(scope="module")
def hasty() -> Iterator[Fetching]:
    """For servers that are waited for until a time-out; no answer in time is expected of them."""
    times = {"fetch__connect_timeout_s": 0.4, "fetch__first_byte_timeout_s": 0.4, "fetch__total_timeout_s": 0.6}
    with fetching(settings(**SMALL_CAPS, **times)) as one:
        yield one
