"""Text that strangers wrote, made fit for terminals and logs: an escape sequence in it moves no cursor, a newline forges no line, and what
cannot be seen (zero-width characters, those that turn the direction of writing) is seen.

Whatever the project prints goes through here: commands by `gregor.cli.say`, log lines and tracebacks of every process by `log_printable`.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import Final

# What lies within is printable or not by the tables of Python; most text has none of it.
_SUSPECT = re.compile(r"[^\x20-\x7e]+")
LOG_FORMAT: Final = "%(message)s"


def printable(text: str) -> str:
    """One line: whatever is no letter, sign or plain blank is escaped as in JSON."""
    return text if text.isprintable() else _SUSPECT.sub(_shown, text)


def escaped(text: str) -> str:
    """As in JSON, whatever it is: two escapes for what lies beyond the first 65,536 characters."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _shown(run: re.Match[str]) -> str:
    return "".join(character if character.isprintable() else escaped(character) for character in run[0])


def _lines(text: str) -> str:
    """Several lines that are meant to be."""
    return "\n".join(map(printable, text.split("\n")))


class PrintableFormatter(logging.Formatter):
    """A message is one line. A traceback has lines, of which the last hold what an exception says: each is made printable."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        return _lines(super().formatException(ei))  # type: ignore[arg-type]

    def formatStack(self, stack_info: str) -> str:
        return _lines(super().formatStack(stack_info))


def log_printable(level: int | None = None, form: str = LOG_FORMAT) -> None:
    """Make what this process logs printable, and tracebacks that end it or one of its threads.

    Without a level nothing is set up: warnings and worse go to stderr, as they do by default.
    """
    sys.excepthook = _tell
    threading.excepthook = lambda args: _tell(args.exc_type, args.exc_value, args.exc_traceback)
    if level is None:
        if logging.lastResort is not None:
            logging.lastResort.setFormatter(PrintableFormatter(form))
        return
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter(form))
    logging.basicConfig(level=level, handlers=[handler])


def printed_traceback(error: BaseException) -> Iterable[str]:
    """Its lines."""
    return _lines("".join(traceback.format_exception(error)).rstrip("\n")).split("\n")


def _tell(_: type[BaseException], error: BaseException | None, __: TracebackType | None) -> None:
    if error is not None and not isinstance(error, SystemExit) and sys.stderr is not None:
        sys.stderr.write("\n".join(printed_traceback(error)) + "\n")
