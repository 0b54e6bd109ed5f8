"""How exceptions are told of that nobody foresaw, where others may cause as many as they like: in full once, and then in a line each."""

import logging
from typing import Final

from gregor.config.problems import printable

MOST_PLACES: Final = 100
LONGEST: Final = 500

_told: Final[set[tuple[str, str, int]]] = set()
"""What was told in full: the exception's type, and where it was raised."""


def tell_unforeseen(log: logging.Logger, what: str, about: str, error: Exception) -> None:
    """``about`` is the page or server that it happened with, in whatever characters that has."""
    place = _place(error)
    in_full = place not in _told and len(_told) < MOST_PLACES
    if in_full:
        _told.add(place)
    log.error(
        "%s: %s (%s at %s:%d: %s)",
        what,
        printable(about, LONGEST),
        *place,
        printable(str(error), LONGEST),
        exc_info=error if in_full else None,
    )


def _place(error: Exception) -> tuple[str, str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__, "", 0
    return type(error).__name__, trace.tb_frame.f_code.co_filename, trace.tb_lineno
