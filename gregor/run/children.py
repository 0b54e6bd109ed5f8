"""Stages of an embedded crawl in processes of their own, watched and started again when they die."""

import logging
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from gregor.config import Config
from gregor.errors import EXIT_ENVIRONMENT, GregorError
from gregor.run.child import Setup
from gregor.runtime.child_process import child_command, child_environment
from gregor.runtime.role import Role
from gregor.runtime.transport.embedded.remote.service import Service
from gregor.runtime.transport.port import Session

_log: Final = logging.getLogger("gregor.run")

MOST_DEATHS: Final = 5
WINDOW_S: Final = 60.0


class Child:
    """A stage in one process after another, the first of which starts at once: while it does, the log can be opened.

    ``run`` is for a thread of its own and returns when the stage has ended as asked. A process that dies leaves its group, what it had
    not committed never happened, and the next one goes on from there.
    """

    def __init__(self, role: Role, config: Config, scratch: Path) -> None:
        self._role = role
        self._config = config
        self._scratch = scratch
        self._stopping = threading.Event()
        self._service: Service | None = None
        self._deaths: list[float] = []
        self._process: _Process | None = _Process()
        self.ready = threading.Event()
        """Set once the stage has asked for its first records."""

    def run(self, open_session: Callable[[], Session]) -> None:
        try:
            while (code := self._live(open_session())) is not None:
                now = time.monotonic()
                self._deaths = [at for at in self._deaths if now - at < WINDOW_S] + [now]
                if len(self._deaths) > MOST_DEATHS:
                    raise GregorError(
                        f"the {self._role.name}'s process died {len(self._deaths)} times within {WINDOW_S:g} s, last with {code}",
                        exit_code=EXIT_ENVIRONMENT,
                        remedy="see whether the machine has run out of memory" if code == -signal.SIGKILL else "",
                    )
        finally:
            self.ready.set()

    def stop(self) -> None:
        """From any thread."""
        self._stopping.set()
        if self._service is not None:
            self._service.stop()

    def close(self) -> None:
        """End a process that was started and never run."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _live(self, session: Session) -> int | None:
        """One process from its start to its end; None: it ended as asked, otherwise its exit code."""
        process, self._process = self._process or _Process(), None
        service = self._service = Service(session, process.connection, self.ready.set)
        if self._stopping.is_set():
            service.stop()
        scratch = str(self._scratch / session.member)
        process.begin(Setup(role=self._role.module, member=session.member, scratch=scratch, config=self._config))
        service.run()
        code = process.end()
        if service.failure is not None:
            raise service.failure
        if service.finished:
            return None
        _log.warning("a process of the %s ended with %d; its work goes on in a new one", self._role.name, code)
        return code


class _Process:
    """Started, and waiting to be told what to do."""

    def __init__(self) -> None:
        self.connection, theirs = socket.socketpair()
        command = child_command("gregor.run.child", str(theirs.fileno()), str(os.getpid()))
        with theirs:
            # A session of its own: a terminal's Ctrl-C is for this process alone.
            self._process = subprocess.Popen(
                command,
                env=child_environment(),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def begin(self, setup: Setup) -> None:
        with suppress(ConnectionError):
            # One that dies before it has read this is found to be dead by the service.
            self.connection.sendall(msgspec.json.encode(setup) + b"\n")

    def end(self) -> int:
        """Its exit code, once it has seen that nobody is there any more."""
        self.connection.close()
        return self._process.wait()
