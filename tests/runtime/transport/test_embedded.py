"""The embedded transport keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.transport.contract import TransportContract
from tests.runtime.transport.embedded_harness import EmbeddedHarness
from tests.runtime.transport.harness import Harness


class TestEmbedded(TransportContract):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> Iterator[Harness]:
        harness = EmbeddedHarness(tmp_path / "crawl")
        yield harness
        harness.close()
