"""How a loop runs: step after step until it is asked to stop, then what is finished is committed and the session is left."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from gregor.runtime.loops.observer import NOBODY, LoopSnapshot, Observer
from gregor.runtime.metrics.metric_values import Measured
from gregor.runtime.transport.port import Record, Restores, Session
from schemas.control import STOP_KEY

_log: Final = logging.getLogger("gregor.runtime.loops")

LONGEST_WAIT_S: Final = 0.2
"""How long a stop or the clock may have to wait for a quiet input."""


class Closes(Protocol):
    def close(self) -> None: ...


class Loop(ABC):
    """One stage in one session, in one thread."""

    def __init__(self, session: Session, stage: Closes) -> None:
        self._session = session
        self._closes = stage
        self._stopping = threading.Event()
        self._heeds_from: int | None = None
        self._observer: Observer = NOBODY
        self.commits = 0

    @property
    def held(self) -> bool:
        """Whether the stage cannot finish its checkpoint at present, so that nothing is taken."""
        return False

    @property
    @abstractmethod
    def owned(self) -> Sequence[int]:
        """Partitions that are at work."""

    @abstractmethod
    def step(self, wait: float) -> None:
        """One event and what follows from it; waits for it no longer than ``wait`` seconds."""

    @abstractmethod
    def checkpoint(self) -> None:
        """Commit everything that is pending, if anything is."""

    @abstractmethod
    def drain(self) -> None:
        """Commit what the stage has kept back, if it keeps anything back."""

    def turn(self, wait: float) -> None:
        """One step, and whoever watches hears of it."""
        self.step(wait)
        if self._observer.turned():
            self._observer.saw(self._moment())

    def run(self) -> None:
        """Until ``stop``; then the last checkpoint, and the group is left."""
        drain = False
        try:
            while not self._stopping.is_set():
                self.turn(LONGEST_WAIT_S)
            self.checkpoint()
            self.drain()
            drain = True
        finally:
            self._session.close(drain)
            self._closes.close()

    def watch(self, observer: Observer) -> None:
        """Tell somebody how it goes, from now on."""
        self._observer = observer

    def _moment(self) -> LoopSnapshot:
        return LoopSnapshot(
            owned=self.owned,
            restoring=self._session.restoring() if isinstance(self._session, Restores) else {},
            held=self.held,
            figures=self._closes.figures() if isinstance(self._closes, Measured) else {},
        )

    def heed_stops(self, start: int) -> None:
        """End when ``control`` has a `stop` at this offset or later; an earlier one was meant for those who ran then."""
        self._heeds_from = start

    def hear(self, broadcast: Iterable[Record]) -> None:
        """What everybody is told, before the stage is."""
        if self._heeds_from is None:
            return
        stops = (one for one in broadcast if one.topic == "control" and one.key == STOP_KEY)
        if any(one.offset >= self._heeds_from for one in stops):
            _log.info("the whole crawl is to stop: leaving after the last checkpoint")
            self.stop()

    def stop(self) -> None:
        """May be called from any thread or signal handler."""
        self._stopping.set()
