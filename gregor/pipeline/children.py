"""Stages of an embedded crawl that run in processes of their own, watched and started again when they die."""

import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from gregor.config import Config
from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.pipeline.child import Setup
from gregor.transport.embedded.remote.service import Service
from gregor.transport.port import Session

_log: Final = logging.getLogger("gregor.pipeline")

MOST_DEATHS: Final = 5
WINDOW_S: Final = 60.0


class Child:
    """One stage in one process after another; ``run`` is for a thread of its own and returns when the stage has ended as asked.

    A process that dies leaves its group, what it had not committed never happened, and the next one goes on from there.
    """

    def __init__(self, role: str, config: Config, scratch: Path, open_session: Callable[[], Session]) -> None:
        self._role = role
        self._config = config
        self._scratch = scratch
        self._open = open_session
        self._stopping = threading.Event()
        self._service: Service | None = None
        self._deaths: list[float] = []

    def run(self) -> None:
        while (code := self._live()) is not None:
            now = time.monotonic()
            self._deaths = [at for at in self._deaths if now - at < WINDOW_S] + [now]
            if len(self._deaths) > MOST_DEATHS:
                raise GregorError(
                    f"the {self._role}'s process died {len(self._deaths)} times within {WINDOW_S:g} s, last with {code}",
                    exit_code=EXIT_ENVIRONMENT,
                    remedy="see whether the machine has run out of memory" if code == -signal.SIGKILL else "",
                )

    def stop(self) -> None:
        """From any thread."""
        self._stopping.set()
        if self._service is not None:
            self._service.stop()

    def _live(self) -> int | None:
        """One process from its start to its end; None: it ended as asked, otherwise its exit code."""
        ours, theirs = socket.socketpair()
        session = self._open()
        service = self._service = Service(session, ours)
        if self._stopping.is_set():
            service.stop()
        setup = Setup(
            role=self._role, member=session.member, scratch=str(self._scratch / session.member), config=self._config
        )
        command = [sys.executable, "-m", "gregor.pipeline.child", str(theirs.fileno())]
        with theirs:
            # A session of its own: a terminal's Ctrl-C is for this process alone.
            process = subprocess.Popen(
                command, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, start_new_session=True
            )
        with suppress(ConnectionError):
            # One that dies before it has read this is found to be dead by the service.
            ours.sendall(msgspec.json.encode(setup) + b"\n")
        service.run()
        code = process.wait()
        if service.failure is not None:
            raise service.failure
        if service.finished:
            return None
        _log.warning("the %s's process ended with %d; its work goes on in a new one", self._role, code)
        return code
