"""A process that shows a cluster to people, and whose end ends nothing else."""

import sys
from pathlib import Path

import pytest

from gregor.run.local.member import MOST_FAILURES
from gregor.run.local.sidecar import Sidecar
from tests.chaos.processes import until


def test_one_that_fails_again_and_again_stays_down_and_nobody_is_troubled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no port is free')"]
    attendant = Sidecar("views", "http://127.0.0.1:1/", command, tmp_path / "views.log")

    def given_up() -> bool:
        attendant.tend()
        return "is given up" in caplog.text

    until(given_up, "it is given up")
    lives = attendant.member.lives
    attendant.tend()
    assert attendant.member.lives == lives == MOST_FAILURES
    assert "no port is free" in caplog.text


def test_one_that_is_killed_comes_back(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    attendant = Sidecar("ui", "http://127.0.0.1:1/", command, tmp_path / "ui.log")
    first = attendant.member.pid
    attendant.member.kill()
    attendant.tend()
    assert attendant.member.pid != first
    attendant.member.kill()
