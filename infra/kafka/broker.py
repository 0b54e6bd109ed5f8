"""One broker process: a JVM on a leash, its log file, and the signals sent to it by pid."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from infra.kafka.errors import KafkaError, PortTaken

LEASH = Path(__file__).with_name("leash.py")
LOG4J = Path(__file__).with_name("log4j2.properties")

# About 200 MB resident. A broker that runs out of memory must die and be seen to, not limp on.
SMALL_JVM = ("-Xms64m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError")
_QUIET = ("-XX:-UsePerfData", f"-Dlog4j2.configurationFile={LOG4J}")
_TAIL_LINES = 25


def java_command(jars: Path, jvm: tuple[str, ...], main_class: str, *arguments: str) -> list[str]:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise KafkaError("Kafka runs on Java 17 or newer, which is not installed: apt-get install default-jre-headless")
    return [java, *jvm, *_QUIET, "-cp", f"{jars}/*", main_class, *arguments]


class Broker:
    """Start, end, stop and continue one process. It keeps its log over restarts and never outlives this process."""

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        if self.alive:
            raise KafkaError(f"{self.name} is running already (pid {self.pid}): stop or kill it first")
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        with self._log.open("ab") as log:
            # A session of its own: Ctrl-C reaches whoever started us, who then decides in what order brokers end.
            self._process = subprocess.Popen(
                [*leash, *self._command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def send(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def hold(self) -> None:
        """SIGSTOP, and wait until every thread of it stands still."""
        self.send(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait(self, patience: float) -> bool:
        """Whether it ended by itself in that many seconds."""
        try:
            self._running().wait(patience)
        except subprocess.TimeoutExpired:
            return False
        return True

    def death(self) -> KafkaError:
        """Why it is not running, from its exit code and the end of what it logged since the last start."""
        code = self._running().returncode
        tail = self.log_tail()
        if "BindException" in tail or "Address already in use" in tail:
            return PortTaken(f"{self.name} found its port taken:\n{tail}")
        return KafkaError(f"{self.name} ended at its start with exit code {code}; its log {self._log} ends:\n{tail}")

    def log_tail(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise KafkaError(f"{self.name} was never started: call start() or enter the cluster's `with` block")
        return self._process
