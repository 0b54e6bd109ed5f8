"""Whole crawls as processes: started, killed and awaited by the tests of the pipeline."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gregor.demo.server import DemoServer

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0
"""A guard against waiting for ever, far beyond what anything takes."""


def write_config(path: Path, server: DemoServer, **kafka: object) -> Path:
    """A configuration that crawls the demo site."""
    seeds = ", ".join(f'"{seed}"' for seed in server.site.seeds)
    lines = [
        "[crawl]",
        f'name = "{kafka.pop("crawl", "demo")}"',
        f"seeds = [{seeds}]",
        "[fetch]",
        "delay_s = 0.0",
        "delay_factor = 0.0",
        "urls_per_order = 4",
        'allow_addresses = ["127.0.0.0/8"]',
        "[robots]",
        "obey = false",
        "[partitions]",
        "partitions = 4",
        "[kafka]",
        *(f"{key} = {value!r}".replace("'", '"') for key, value in kafka.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def gregor(config: Path, *arguments: str | Path) -> Iterator["Running"]:
    """A gregor command as a process; it is gone afterwards."""
    running = Running([sys.executable, "-m", "gregor", "--config", str(config), *map(str, arguments)])
    try:
        yield running
    finally:
        running.kill()


class Running:
    """One process of gregor's command line."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ)
        )

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def restart(self) -> None:
        self.kill()
        self._process = self._start()

    @property
    def ended(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def terminate(self) -> tuple[int, str]:
        """SIGTERM; the exit code and everything that was printed."""
        self._process.terminate()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        printed, _ = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode, printed.decode()

    def wait_briefly(self, seconds: float) -> bool:
        """Whether it ended by itself within that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must come."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain until {what}"
        time.sleep(0.1)
