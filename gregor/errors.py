"""Every exception that gregor raises on purpose, and the exit code each one ends a command with.

    GregorError                    1
     +-- CheckFailed               1   a check ran and what it looked at is not as it should be
     +-- UsageError                3   a command line that cannot mean anything
     |    +-- ConfigError          3   a configuration file, variable or flag that cannot be obeyed
     +-- BrokerUnreachable         2   no broker answered within kafka.give_up_after_s
     +-- TopologyError             2   a topic is missing or has another partition count
     +-- NoRoom                    2   a disk is full
     +-- NoAccess                  2   the system does not let us use a file or folder
     +-- StateError                4
     |    +-- FolderInUse          4   another process holds the folder
     |    +-- ForeignState         4   state of another crawl or cluster, or ahead of the changelog
     |    +-- CorruptState         4   state that cannot be read back
     +-- TransportError            2   the log refused something and trying again will not help
     |    +-- CommitFailed         2   a checkpoint did not come through; which of the three decides what is done next
     |         +-- Aborted         2   nothing was committed and the input is already rewound: drop what is pending, go on
     |         +-- Fenced          2   another member owns the partitions now: nothing was committed, give them up
     |         +-- UnknownOutcome  2   it may have been committed: never rewind, treat all partitions as newly assigned

Exit codes: 0 done; 1 a check failed; 2 the broker or the environment is not there; 3 configuration or usage;
4 the state folder was refused; 5 a crawl has nothing to do before a time that is far away; 6 nothing is left of a crawl
but sites that somebody has to approve; 130 interrupted; 141 the reader of our output went away. An exception outside
this tree is a bug in gregor: it keeps its traceback and ends with 70.

A message says what was expected and what was found; `remedy` says what to do and is the last part of the text.
"""

import errno
import os
from typing import ClassVar, Final

EXIT_OK: Final = 0
EXIT_CHECK_FAILED: Final = 1
EXIT_ENVIRONMENT: Final = 2
EXIT_USAGE: Final = 3
EXIT_STATE: Final = 4
EXIT_WAITING: Final = 5
EXIT_APPROVALS: Final = 6
EXIT_BUG: Final = 70
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141


class GregorError(Exception):
    """Root of everything that a caller may want to catch."""

    default_exit_code: ClassVar[int] = EXIT_CHECK_FAILED
    default_remedy: ClassVar[str] = ""

    def __init__(self, message: str, *, exit_code: int | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = self.default_exit_code if exit_code is None else exit_code
        self.remedy = self.default_remedy if remedy is None else remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class CheckFailed(GregorError):
    """A command whose purpose is to check found something wrong."""


class UsageError(GregorError):
    """A command line that cannot be obeyed, however the configuration reads."""

    default_exit_code = EXIT_USAGE


class ConfigError(UsageError):
    """A setting that is unknown, of the wrong type or impossible; says where, and which known key is nearest.

    `problems` holds one line for each thing that is wrong; the message is the first of them.
    """

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.problems = problems or (message,)


class BrokerUnreachable(GregorError):
    """No broker answered within the time that the configuration allows."""

    default_exit_code = EXIT_ENVIRONMENT
    default_remedy = "start it, or correct kafka.bootstrap"


class TopologyError(GregorError):
    """The topics on the cluster are not those of this crawl's {N, P}."""

    default_exit_code = EXIT_ENVIRONMENT
    default_remedy = "`gregor topics --create` mends it"


class NoRoom(GregorError):
    """A disk is full, or a quota is used up."""

    default_exit_code = EXIT_ENVIRONMENT
    default_remedy = "free some and run the same command again: nothing is lost"


def no_room(where: object, error: Exception) -> NoRoom | None:
    """What a full disk is called; None: the error is about something else. RocksDB has but one kind of error, so that its words count."""
    if not any(os.strerror(number) in str(error) for number in (errno.ENOSPC, errno.EDQUOT)):
        return None
    return NoRoom(f"expected room for {where}, found none: {error}")


class NoAccess(GregorError):
    """A file or folder that the system does not let us use: not ours, read-only, on a disk that is ill. What is in it may be well."""

    default_exit_code = EXIT_ENVIRONMENT
    default_remedy = "run as a user who may use it, or name another place"


_NO_ACCESS: Final[dict[int, str | None]] = {
    errno.EACCES: None,
    errno.EPERM: None,
    errno.EROFS: "name a place that can be written to",
    errno.EMFILE: "allow this process more open files (ulimit -n)",
    errno.ENFILE: "let other processes close some files",
    errno.EIO: "see to its disk",
}
"""Number of an error that says nothing about what a file holds, to what helps; None: what helps in general."""


def no_access(where: object, error: Exception) -> NoAccess | None:
    """What it is called when the system refuses a file; None: the error is about something else. The words of RocksDB count, as above."""
    found = f"{where}: {error}"
    named = isinstance(error, OSError) and error.filename is not None
    if isinstance(error, OSError) and named:
        found = f"{error.filename}: {error.strerror}"
    for number, remedy in _NO_ACCESS.items():
        if os.strerror(number) in found:
            return NoAccess(f"expected a place that this user can read and write, found {found}", remedy=remedy)
    return NoAccess(f"expected a place that can be used, found {found}", remedy="name another") if named else None


class StateError(GregorError):
    """A state folder that must not be used as it is."""

    default_exit_code = EXIT_STATE


class FolderInUse(StateError):
    """Another process holds the lock of the folder."""

    default_remedy = "stop that process, or give this one a state.folder of its own"


class ForeignState(StateError):
    """The folder belongs to another crawl or cluster, or is ahead of its changelog."""

    default_remedy = "`gregor rebuild` throws the folder away and restores it from the changelog"


class CorruptState(StateError):
    """Bytes in the folder that this version of gregor cannot have written."""

    default_remedy = "`gregor rebuild` throws the folder away and restores it from the changelog"


def placement_remedy(begun_with: str, instead: str) -> str:
    """What mends a command whose partitions.placement is not that of the crawl; ``instead``: what else would do."""
    return (
        f'set partitions.placement = "{begun_with}" (in the environment: GREGOR_PARTITIONS__PLACEMENT={begun_with}), '
        f"with which the crawl was begun, or {instead}: sites do not move"
    )


class TransportError(GregorError):
    """The transport cannot go on."""

    default_exit_code = EXIT_ENVIRONMENT


class CommitFailed(TransportError):
    """A checkpoint did not come through."""


class Aborted(CommitFailed):
    """Nothing was committed, and the inputs are rewound to the last checkpoint."""


class Fenced(CommitFailed):
    """Nothing was committed, because a newer owner of the partitions exists."""


class UnknownOutcome(CommitFailed):
    """The checkpoint may or may not have been committed; only the log can tell."""
