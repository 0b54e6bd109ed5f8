"""The coordinator on the embedded log."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gregor.config import Config
from gregor.runtime.transport.embedded.settings import EmbeddedSettings
from gregor.runtime.transport.port import Transport
from streams.coordinator.stage import SPEC
from tests.runtime.transport.embedded_folder import opened
from tests.streams.coordinator.contract import CoordinatorOnAnEngine
from tests.streams.coordinator.rig import PARTITIONS, configure


class TestCoordinatorOnTheEmbeddedLog(CoordinatorOnAnEngine):
    @pytest.fixture
    def config(self) -> Config:
        return configure()

    @pytest.fixture
    def transport(self, tmp_path: Path) -> Iterator[Transport]:
        with opened(tmp_path / "log", EmbeddedSettings(crawl="sites", partitions=PARTITIONS), (SPEC,)) as one:
            yield one
