"""The processes that replay changelogs, without anything to replay."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.runtime.state.changelog import StoreIdentity
from gregor.runtime.state.store import StateReader, StateSpec, StateWriter
from gregor.runtime.transport.kafka import restore_pool
from gregor.runtime.transport.kafka.restore_pool import RestorePool, Worker
from gregor.runtime.transport.kafka.restore_worker import RestoreTask
from tests.runtime.transport.embedded_folder import SMALL


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


def task(folder: Path, spec: StateSpec) -> RestoreTask:
    identity = StoreIdentity(cluster="c", topic="t", crawl="k", partition=0)
    return RestoreTask(
        names=Names("k"),
        kafka=KafkaSection(),
        topic="t",
        folder=folder,
        spec=spec,
        options=SMALL,
        identity=identity,
        start=0,
        end=0,
    )


class Held:
    """Has something that cannot be sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def apply(self, state: StateReader, deltas: object, writer: StateWriter) -> None: ...


def of_the_program(state: StateReader, deltas: object, writer: StateWriter) -> None: ...


of_the_program.__module__ = "__main__"


def test_functions_that_no_other_process_can_have_are_none_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("__main__.of_the_program", of_the_program, raising=False)
    for apply in (Held().apply, of_the_program):
        assert RestorePool().start(task(tmp_path, StateSpec(("seen",), apply))) is None


def test_a_process_that_died_while_it_had_nothing_to_do_gets_no_task(tmp_path: Path) -> None:
    one, worker = RestorePool(), Worker()
    one._idle.append(worker)
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    started = one.start(task(tmp_path, StateSpec(("seen",), _apply)))
    assert started is not None
    assert started.pid != worker.pid
    started.close()


def _apply(state: StateReader, deltas: object, writer: StateWriter) -> None: ...


@pytest.mark.parametrize(
    ("limit", "most"), [("100000 100000", 1), ("250000 100000", 2), ("50000 100000", 1), ("max 100000", 4)]
)
def test_a_container_has_as_many_as_it_is_allowed(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(4))
    monkeypatch.setattr(restore_pool, "CPU_LIMIT", tmp_path / "cpu.max")
    (tmp_path / "cpu.max").write_text(limit + "\n")
    assert RestorePool()._most == most
