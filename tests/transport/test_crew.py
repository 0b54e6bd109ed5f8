"""The processes that replay changelogs, without anything to replay."""

import os
import signal
import time
from pathlib import Path

import pytest

from gregor.transport.kafka.crew import Worker


def ends_well(worker: Worker) -> bool:
    """Once it has nothing to do any more, as one does that has started as it should."""
    worker._input.close()
    return worker._process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_stops_a_whole_group_does_not_end_a_process_that_starts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = Worker()
    for _ in range(20):
        os.kill(worker.pid, number)
        time.sleep(0.01)
    assert ends_well(worker)
    assert capfd.readouterr().err == ""
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_process_takes_no_modules_from_the_folder_in_which_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    assert ends_well(Worker())
