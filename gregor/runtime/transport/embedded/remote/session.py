"""The stage's side: a session whose log is in another process."""

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from gregor.errors import EXIT_ENVIRONMENT
from gregor.runtime.transport.embedded.remote.wire import (
    Answer,
    Close,
    Done,
    Failed,
    Frames,
    Gained,
    Gone,
    PauseCall,
    Poll,
    Question,
    Records,
    SessionError,
    pack_commit,
    pack_places,
    unpack_error,
    unpack_event,
)
from gregor.runtime.transport.port import Batch, Commit, Event, TopicPartition

NOTHING_YET: Final = 0


class RemoteSession:
    """``read_ahead``: asks for the next batch while the last one is being decided, so that neither process waits for the other; for a
    stage that always asks for as much and never pauses.

    ``on_stop`` is called when the other side wants the stage to end. Without the other side there is no log and nothing to finish: the
    process ends at once.
    """

    cheap_commit: bool = True

    def __init__(
        self, connection: socket.socket, member: str, on_stop: Callable[[], None], *, read_ahead: bool = False
    ) -> None:
        self._frames = Frames(connection)
        self._member = member
        self._on_stop = on_stop
        self._read_ahead = read_ahead
        self._epoch = NOTHING_YET
        self._asked = False
        """Whether a poll is under way."""
        self._ahead: Answer | None = None
        """Its answer, when it came before it was wanted."""

    @property
    def member(self) -> str:
        return self._member

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        answer = self._taken_ahead()
        if answer is None:
            self._ask(Poll(max_records, max_bytes, wait))
            answer = self._answer()
        match answer:
            case Records() | Gained() | Gone():
                self._epoch = answer.epoch
                if self._read_ahead and isinstance(answer, Records) and answer.records:
                    # The stage is busy now; what is there meanwhile waits here. No waiting for more: a commit may have to pass.
                    self._ask(Poll(max_records, max_bytes, 0.0))
                    self._asked = True
                return unpack_event(answer)
            case SessionError():
                raise unpack_error(answer)
            case Done(stop=True):
                self._on_stop()
        return Batch(self._epoch, (), {})

    def commit(self, commit: Commit) -> None:
        answer = self._exchange(pack_commit(commit))
        if isinstance(answer, SessionError):
            self._keep_told()
            raise unpack_error(answer)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._exchange(PauseCall(pack_places(partitions), resume=False))

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._exchange(PauseCall(pack_places(partitions), resume=True))

    def close(self, drain: bool = True) -> None:
        self._exchange(Close(drain))
        if drain:
            self._frames.close()

    def hang_up(self) -> None:
        """Go without a word, as a process does that is killed."""
        self._frames.close()

    def fail(self, message: str, remedy: str, exit_code: int) -> None:
        """The last word of a stage that cannot go on; one that has left already is not heard any more."""
        with suppress(OSError):
            self._exchange(Failed(message, remedy, exit_code))

    def _keep_told(self) -> None:
        """After a refused commit: records that were read ahead are of the epoch that is over and come again. What is told only once stays:
        that partitions are gone, and what everybody is told."""
        match self._ahead:
            case Gone():
                return
            case Records(broadcast=told) if told:
                self._ahead = Records(self._ahead.epoch, [], [], told)
            case _:
                self._asked, self._ahead = False, None

    def _taken_ahead(self) -> Answer | None:
        """The answer to a poll that was asked earlier, if there was one and it is not empty."""
        if not self._asked:
            return None
        answer = self._ahead or self._answer()
        self._asked, self._ahead = False, None
        empty = isinstance(answer, Records) and not (answer.records or answer.positions or answer.broadcast)
        return None if empty else answer

    def _exchange(self, question: Question) -> Answer:
        """The answer to a question. A poll under way is answered first: two processes that both send would wait for each other."""
        if self._asked and self._ahead is None:
            self._ahead = self._answer()
        self._ask(question)
        return self._answer()

    def _ask(self, question: Question) -> None:
        try:
            self._frames.send(question)
        except ConnectionError:
            _end()

    def _answer(self) -> Answer:
        answer = self._frames.answer()
        if answer is None:
            _end()
        return answer


def _end() -> NoReturn:
    os._exit(EXIT_ENVIRONMENT)
