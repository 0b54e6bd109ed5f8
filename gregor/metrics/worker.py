"""The metrics of one worker process: its recorder, its survey of the brokers, its disks, and the server that shows them."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from gregor.config import Config
from gregor.metrics.disks import Disks
from gregor.metrics.exposition import Exposition
from gregor.metrics.recorder import Recorder
from gregor.metrics.server import Health, MetricsServer
from gregor.metrics.survey import Survey
from gregor.stage.catalogue import INFO
from gregor.stage.figures import Figures
from gregor.stage.running import Loop
from gregor.transport.kafka.clients import Clients
from gregor.transport.port import StageSpec


class WorkerMetrics:
    """Answers from its making on; ``watch`` when the loop is there, ``close`` at the end."""

    def __init__(self, config: Config, stage: StageSpec, disks: Mapping[str, Path]) -> None:
        self._config = config
        self._silent_after_s = config.metrics.silent_after_s
        self._info: Figures = {}
        self._recorder: Final = Recorder()
        recorder = self._recorder
        self._survey: Final = Survey(
            Clients(config.names, config.kafka), stage, lambda: recorder.positions, lambda: recorder.restoring
        )
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        sources = (lambda: self._info, self._recorder.figures, self._survey.figures, Disks(disks).figures)
        registry.register(Exposition({"crawl": config.crawl.name, "role": stage.name}, sources))
        self._server: Final = MetricsServer(config.metrics.host, config.metrics.port, registry, self.health)

    @property
    def port(self) -> int:
        return self._server.port

    def watch(self, loop: Loop, member: str) -> None:
        self._info = {INFO: {(member, _version(), self._config.config_version): 1}}
        loop.watch(self._recorder)
        self._survey.start()

    def health(self) -> Health:
        """A loop that comes round is healthy, whatever it does: a restore and a full disk keep it turning."""
        silent_s = self._recorder.silent_s
        healthy = silent_s < self._silent_after_s
        return Health(healthy, self._recorder.state if healthy else "silent", round(silent_s, 3))

    def close(self) -> None:
        self._server.close()
        self._survey.close()


def _version() -> str:
    try:
        return version("gregor-crawl")
    except PackageNotFoundError:
        return ""
