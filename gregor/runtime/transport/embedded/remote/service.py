"""The log's side: answers one stage of another process, in a thread of its own."""

import socket
import threading
from collections.abc import Callable

from gregor.errors import GregorError, TransportError
from gregor.runtime.transport.embedded.remote.wire import (
    Answer,
    Close,
    Done,
    Failed,
    Finish,
    Frames,
    PauseCall,
    Poll,
    Question,
    pack_error,
    pack_event,
    unpack_commit,
)
from gregor.runtime.transport.port import InvalidCommit, Session, TopicPartition


class Service:
    """One session, served until the stage closes it or its process is gone; then the group is left, and what was not committed never
    happened."""

    def __init__(self, session: Session, connection: socket.socket, asked: Callable[[], None] = lambda: None) -> None:
        """``asked`` is told of every question."""
        self._session = session
        self._asked = asked
        self._frames = Frames(connection)
        self._stopping = threading.Event()
        self.finished = False
        """Whether the stage closed its session by itself."""
        self.failure: GregorError | None = None

    def run(self) -> None:
        try:
            while (question := self._frames.question()) is not None:
                self._asked()
                try:
                    self._frames.send(self._answer(question))
                except ConnectionError:
                    break
                if self.finished:
                    break
        finally:
            self._session.close(drain=True)
            self._frames.close()

    def stop(self) -> None:
        """The next poll tells the stage to commit and leave. From any thread."""
        self._stopping.set()

    def _answer(self, question: Question) -> Answer:
        try:
            match question:
                case Poll():
                    if self._stopping.is_set():
                        return Done(stop=True)
                    return pack_event(self._session.poll(question.max_records, question.max_bytes, question.wait))
                case Finish():
                    self._session.commit(unpack_commit(question))
                case PauseCall():
                    places = [TopicPartition(topic, partition) for topic, partition in question.places]
                    (self._session.resume if question.resume else self._session.pause)(places)
                case Close(drain=True):
                    self._session.close()
                    self.finished = True
                case Close():
                    # The stage could not finish: it says why next, or its process ends, and the end of the connection is its leave.
                    pass
                case Failed():
                    self.failure = GregorError(question.message, remedy=question.remedy, exit_code=question.exit_code)
                    self.finished = True
        except (TransportError, InvalidCommit) as error:
            return pack_error(error)
        return Done()
