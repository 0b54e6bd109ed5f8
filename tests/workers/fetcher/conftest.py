"""Servers and a fetcher for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.web import Web
from tests.workers.fetcher.fetching import Fetching, fetching, settings


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


@pytest.fixture(scope="module")
def fetcher() -> Iterator[Fetching]:
    with fetching(settings()) as one:
        yield one
