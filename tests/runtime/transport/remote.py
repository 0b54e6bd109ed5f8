"""A session in a process of its own, so that it can be stopped, continued and killed; here stands its proxy."""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gregor.config import Names
from gregor.config.sections import KafkaSection
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.transport.kafka.transport import KafkaTransport
from gregor.runtime.transport.port import Assigned, Commit, Event, StageSpec, TopicPartition
from tests.runtime.transport.embedded_folder import SMALL
from tests.runtime.transport.member import STAGES

_SPAWN = multiprocessing.get_context("spawn")


class RemoteSession:
    """Behaves like the session it stands for, except that the state of its partitions stays where it is."""

    cheap_commit = False

    def __init__(self, stage: StageSpec, names: Names, kafka: KafkaSection, folder: Path) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, stage.name, names, kafka, folder), daemon=True)
        self._process.start()
        theirs.close()
        self._member = self._ask("member")

    @property
    def member(self) -> str:
        return str(self._member)

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        event: Event = self._ask("poll", max_records, max_bytes, wait)
        return event

    def commit(self, commit: Commit) -> None:
        self._ask("commit", commit)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._ask("pause", list(partitions))

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._ask("resume", list(partitions))

    def close(self, drain: bool = True) -> None:
        self._ask("close", drain)
        self._process.join()

    def signal(self, number: signal.Signals) -> None:
        if self._process.is_alive() and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.join()

    def _ask(self, method: str, *arguments: Any) -> Any:
        self._pipe.send((method, arguments))
        failed, answer = self._pipe.recv()
        if failed:
            raise answer
        return answer


def _serve(pipe: Connection, stage: str, names: Names, kafka: KafkaSection, folder: Path) -> None:
    spec = next(one for one in STAGES if one.name == stage)
    session = KafkaTransport(names, kafka, folder, SharedMemory(SMALL)).open(spec)
    while True:
        method, arguments = pipe.recv()
        try:
            answer = session.member if method == "member" else getattr(session, method)(*arguments)
        except Exception as error:
            pipe.send((True, error))
            continue
        if isinstance(answer, Assigned):
            bare = {partition: replace(one, state=None) for partition, one in answer.partitions.items()}
            answer = Assigned(answer.epoch, bare)
        pipe.send((False, answer))
        if method == "close":
            return
