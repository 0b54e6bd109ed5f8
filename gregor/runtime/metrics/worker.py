"""The metrics of one worker process: its recorder, its survey of the brokers, its disks, and the server that shows them."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.process_collector import ProcessCollector

from gregor.config import Config
from gregor.runtime.loops.running import Loop
from gregor.runtime.metrics.disks import Disks
from gregor.runtime.metrics.exposition import Exposition
from gregor.runtime.metrics.metric_defs import INFO
from gregor.runtime.metrics.metric_values import Figures
from gregor.runtime.metrics.recorder import Recorder
from gregor.runtime.metrics.server import Health, MetricsServer
from gregor.runtime.metrics.survey import Survey
from gregor.runtime.role import Role
from gregor.runtime.transport.kafka.clients import Clients


class WorkerMetrics:
    """Answers from its making on; ``watch`` when the loop is there, ``close`` at the end."""

    def __init__(self, config: Config, role: Role, home: Path) -> None:
        self._config = config
        self._silent_after_s = config.metrics.silent_after_s
        self._info: Figures = {}
        self._recorder: Final = Recorder(role.counters)
        recorder = self._recorder
        self._survey: Final = Survey(
            Clients(config.names, config.kafka), role.spec, lambda: recorder.positions, lambda: recorder.restoring
        )
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        sources = (
            lambda: self._info,
            self._recorder.figures,
            self._survey.figures,
            Disks({"state": home, **role.folders(config, home)}).figures,
        )
        registry.register(Exposition({"crawl": config.crawl.name, "role": role.name}, sources))
        self._server: Final = MetricsServer(
            config.metrics.host, config.metrics.port, registry, self.health, config.metrics.names
        )

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
