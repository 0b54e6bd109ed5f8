"""What the contract needs from an engine beyond the port: members that die, freeze and lose the answer to a commit.

Everything here is about members of ONE crawl on ONE log. A harness is made fresh for each test, on empty topics.
"""

from abc import ABC, abstractmethod

from gregor.runtime.transport.port import Session, StageSpec, Transport


class Harness(ABC):
    """One engine, as the contract drives it."""

    partitions: int = 4
    """P of the crawl."""
    wait: float = 0.1
    """What a poll waits at the most; members of one group are polled in turn by one thread."""
    patience: float = 25.0
    """Seconds within which anything expected has happened."""

    @property
    @abstractmethod
    def transport(self) -> Transport:
        """For append, read, ends and committed. Another one after ``restart``."""

    @abstractmethod
    def open(self, stage: StageSpec, *, stoppable: bool = False) -> Session:
        """A member more in the stage's group. ``stoppable``: it will be frozen, so that it may have to live in a process of its own;
        the session is then a proxy with the same behaviour."""

    @abstractmethod
    def reopen(self, session: Session) -> Session:
        """Closes a session without drain and opens it again at once, as a restarted process with the same state folder does."""

    @abstractmethod
    def restart(self) -> None:
        """Everything ends without a word, sessions and transport, and a new transport stands on the same crawl."""

    @abstractmethod
    def kill(self, session: Session) -> None:
        """The member is gone without having left; whoever polls on gets its partitions in time."""

    @abstractmethod
    def freeze(self, session: Session) -> None:
        """The member does nothing, not even in the background, until ``thaw``."""

    @abstractmethod
    def thaw(self, session: Session) -> None: ...

    @abstractmethod
    def lose_answer(self, session: Session, *, happened: bool) -> None:
        """The session's next commit ends in UnknownOutcome; ``happened``: it was committed all the same."""

    @abstractmethod
    def tick(self) -> None:
        """Called after each round of polls; an engine with a clock of its own lets it go on when somebody is dead or frozen."""

    @abstractmethod
    def close(self) -> None: ...
