"""The hostile web, and two fetchers: one with the patience for a busy machine, one that gives up at once.

All of it is met by every backend that connects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gregor.config.sections import OFFLINE_BACKENDS
from tests.hostile.web import Web
from tests.workers.fetcher.fetching import Fetching, fetching, settings
from workers.fetcher.backends.registry import BACKENDS

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


@pytest.fixture(scope="session", params=sorted(set(BACKENDS) - OFFLINE_BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    """Its name."""
    return str(request.param)


@pytest.fixture(scope="module")
def fetcher(backend: str) -> Iterator[Fetching]:
    with fetching(settings(fetch__backend=backend, **SMALL_CAPS)) as one:
        yield one


@pytest.fixture(scope="module")
def hasty(backend: str) -> Iterator[Fetching]:
    """For servers that are waited for until a time-out; no answer in time is expected of them."""
    times = {"fetch__connect_timeout_s": 0.4, "fetch__first_byte_timeout_s": 0.4, "fetch__total_timeout_s": 0.6}
    with fetching(settings(fetch__backend=backend, **SMALL_CAPS, **times)) as one:
        yield one
