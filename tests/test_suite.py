"""The suite itself ends whatever its tests do, and says which one it was."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.processes import PATIENCE_S, REPOSITORY

LIVES = "def test_lives(): pass\n"
DIES = """
import os, time

def test_before(): pass

def test_dies():
    time.sleep(1)
    os._exit(1)
"""
"""As a test does whose time is up: pytest-timeout ends the process that it hangs in, long after what came before was told."""
STARTS_A_CHILD = """
import subprocess, sys

def test_child():
    program = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    assert subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL).returncode != 0
"""


def pytest_run(*arguments: str | Path, ignoring_interrupts: bool = False) -> tuple[int, str]:
    """A run by this project's settings, as `make test` begins it; from a shell's background it would ignore SIGINT."""
    settings = ("-c", REPOSITORY / "pyproject.toml", "-p", "no:cacheprovider", "-p", "tests.conftest")
    command = [sys.executable, "-m", "pytest", *map(str, (*settings, *arguments))]
    if ignoring_interrupts:
        program = (
            "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        )
        command = [sys.executable, "-c", program, *command]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("files", [[DIES], [DIES, *[LIVES] * 5], [*[LIVES] * 5, DIES]], ids=["only", "first", "last"])
def test_a_test_that_takes_its_process_with_it_ends_the_run_and_is_named(tmp_path: Path, files: list[str]) -> None:
    for number, content in enumerate(files):
        (tmp_path / f"test_file_{number}.py").write_text(content)
    code, printed = pytest_run("-n", "2", "--dist", "loadfile", tmp_path)
    assert code == 1, printed
    dying = f"test_file_{files.index(DIES)}.py::test_dies"
    told = [line for line in printed.splitlines() if line.startswith("worker 'gw") and "crashed while" in line]
    assert any(dying in line for line in told), f"with the worker's name\n{printed}"


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_tests_start_can_be_interrupted_however_the_run_was_started(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_child.py").write_text(STARTS_A_CHILD)
    code, printed = pytest_run("-n", workers, tmp_path, ignoring_interrupts=True)
    assert code == 0, printed


def test_this_run_does_not_ignore_interrupts() -> None:
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
