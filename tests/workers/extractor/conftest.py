"""Property tests judge answers, not the machine: no deadline. Tests of what pages say are put to every reader that is here."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from workers.extractor import readers

settings.register_profile("extractor", deadline=None)
settings.load_profile("extractor")


@pytest.fixture(scope="module", params=["python", "native"] if readers.NATIVE_VERSION else ["python"])
def reader(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the one that reads pages meanwhile."""
    before, readers.READER = readers.READER, request.param
    yield request.param
    readers.READER = before
