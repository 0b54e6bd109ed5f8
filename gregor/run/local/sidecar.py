"""What a local cluster shows to people: a process with an address in the browser, whose end ends nothing else."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gregor.errors import GregorError
from gregor.run.local.member import WorkerProcess

_log: Final = logging.getLogger("gregor.run")


class Sidecar:
    """Started again when it dies, as a worker is; one that fails again and again stays down, and the crawl goes on without it."""

    def __init__(
        self,
        name: str,
        address: str,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.address = address
        self.member: Final = WorkerProcess(name, name, command, log, environment)
        self._given_up = False

    def tend(self) -> None:
        if self._given_up:
            return
        try:
            self.member.tend()
        except GregorError as error:
            self._given_up = True
            _log.warning("%s is given up, and the crawl goes on without it: %s", self.member.name, error)
