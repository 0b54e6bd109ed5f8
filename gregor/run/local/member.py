"""One worker process of a local cluster: started, watched, started again when it dies, and ended in order."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gregor.errors import EXIT_ENVIRONMENT, GregorError
from infra.kafka.broker import LEASH

_log: Final = logging.getLogger("gregor.run")

MOST_FAILURES: Final = 5
WINDOW_S: Final = 60.0
_TAIL: Final = 4000
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


class WorkerProcess:
    """One process after another under one name, with one folder and one log file. None of them outlives this process."""

    def __init__(
        self, name: str, role: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """``environment``: in place of this process's own."""
        self.name = name
        self.role = role
        self.lives = 0
        self._command = list(command)
        self._log = log
        self._environment = environment
        self._failures: list[float] = []
        self._used_s = 0.0
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it ended in order, so that nobody waits for it."""
        return self._process.poll() == 0

    @property
    def cpu_s(self) -> float:
        """Seconds on a processor in all of its lives, as far as they were seen."""
        return self._used_s + cpu_of(self.pid)

    def tend(self) -> None:
        """Start it again if it died. A kill is nobody's fault; one that fails again and again by itself raises GregorError."""
        used = cpu_of(self.pid)
        code = self._process.poll()
        if code is None or code == 0:
            return
        self._used_s += used
        if code > 0:
            self._note_failure(code)
        _log.warning("%s ended with %d and is started again", self.name, code)
        self._process = self._start()

    def ask_to_stop(self) -> None:
        """SIGTERM, which also reaches a process that was held still."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.send_signal(signal.SIGCONT)

    def wait(self, patience: float) -> bool:
        """Whether it ended in that many seconds."""
        try:
            self._process.wait(max(0.0, patience))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _note_failure(self, code: int) -> None:
        now = time.monotonic()
        self._failures = [at for at in self._failures if now - at < WINDOW_S] + [now]
        if len(self._failures) >= MOST_FAILURES:
            raise GregorError(
                f"{self.name} failed {len(self._failures)} times within {WINDOW_S:g} s, at last with exit code {code}; "
                f"its log {self._log} ends:\n{self._tail()}",
                exit_code=EXIT_ENVIRONMENT,
            )

    def _tail(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - _TAIL))
            return log.read().decode(errors="replace").rstrip()

    def _start(self) -> subprocess.Popen[bytes]:
        self.lives += 1
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C reaches this process alone, which then ends the others in order.
            return subprocess.Popen(
                [*leash, *self._command],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def cpu_of(pid: int) -> float:
    """Of a process and of its own children that have ended; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) * _TICK_S
