"""Processes that a test starts, kills, stops and continues by pid, with a random seed that is printed."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 180.0
"""A guard against waiting for ever, far beyond what anything takes."""


def seeded(name: str) -> random.Random:
    """Random moments that can be had again: the seed is printed, and GREGOR_CHAOS_SEED sets it."""
    seed = int(os.environ.get("GREGOR_CHAOS_SEED") or random.randrange(2**32))
    print(f"{name}: GREGOR_CHAOS_SEED={seed}")
    return random.Random(seed)


@contextmanager
def running(*command: str | Path) -> Iterator["Running"]:
    """A Python program as a process; it is gone afterwards."""
    process = Running([sys.executable, *map(str, command)])
    try:
        yield process
    finally:
        process.kill()


def gregor(config: Path, *arguments: str | Path) -> AbstractContextManager["Running"]:
    """A gregor command as a process."""
    return running("-m", "gregor", "--config", config, *arguments)


class Running:
    """One process, restarted at will; what all of its lives printed is kept."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        # A file: a pipe that nobody reads would stop a process that has much to say.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as this object
        self.lives = 0
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _start(self) -> subprocess.Popen[bytes]:
        self.lives += 1
        self._printed_before = os.fstat(self._output.fileno()).st_size
        return subprocess.Popen(self._command, cwd=REPOSITORY, stdout=self._output, stderr=subprocess.STDOUT)

    def signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        """kill -9, and begin again at once."""
        self.kill()
        self._process = self._start()

    def stop(self) -> None:
        """SIGSTOP: it does nothing, not even in the background."""
        self.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.signal(signal.SIGCONT)

    @property
    def ended(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    @property
    def printed(self) -> str:
        """What all of its lives printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        # At a place of its own: the process writes wherever the file's own place is.
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def terminate(self) -> tuple[int, str]:
        """SIGTERM; the exit code and everything that was printed. One that had no time to begin, and nothing to say, is ended by the
        signal itself, which is in order."""
        self.signal(signal.SIGTERM)
        code, printed = self.wait()
        silent = os.fstat(self._output.fileno()).st_size == self._printed_before
        return (0 if silent and code == -signal.SIGTERM else code), printed

    def wait(self) -> tuple[int, str]:
        self._process.wait(PATIENCE_S)
        return self._process.returncode, self.printed

    def wait_briefly(self, seconds: float) -> bool:
        """Whether it ended by itself within that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def until(condition: Callable[[], bool], what: str, every: float = 0.1, workers: Sequence[Running] = ()) -> None:
    """Wait for something that must come, while all ``workers`` live."""
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        for worker in workers:
            assert worker.ended is None, f"a worker ended while waiting until {what}:\n{worker.wait()[1]}"
        if time.monotonic() > give_up:
            for worker in workers:
                # Each says where its threads stand.
                worker.signal(signal.SIGUSR1)
                worker.wait_briefly(1.0)
                worker.kill()
                print(worker.printed)
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(every)
