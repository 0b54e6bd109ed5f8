"""Ctrl-C and SIGTERM for a command that ends in good order when it is asked to."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for an end; a second Ctrl-C does not wait for it."""
    stop = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
