"""The pages of one batch, shared between this process and others: those of one server are all in one partition, and one process reads it.

A page that goes to another process and comes back as links costs both of them; only for large pages is that little beside reading them.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

LARGE: Final = 64 * 1024

T = TypeVar("T")
S = TypeVar("S")


def share(
    sizes: Sequence[int],
    here: Callable[[int], T],
    elsewhere: Callable[[int], S],
    helpers: Callable[[], int],
) -> list[T | S]:
    """What became of each page, by its number: of small ones ``here``; of large ones ``elsewhere``, in as many threads as ``helpers``
    says when there are any, and here as well once the small ones are done."""
    by_size = sorted(range(len(sizes)), key=lambda number: -sizes[number])
    large = deque(number for number in by_size if sizes[number] >= LARGE)
    small = sorted({*range(len(sizes))}.difference(large))
    answers: dict[int, T | S] = {}
    threads = [_Helper(large, elsewhere, answers) for _ in range(min(helpers(), len(large)))] if large else []
    for thread in threads:
        thread.start()
    for number in small:
        answers[number] = here(number)
    while (number := _taken(large.pop)) is not None:
        answers[number] = here(number)
    for thread in threads:
        thread.join()
        if thread.failure is not None:
            raise thread.failure
    return [answers[number] for number in range(len(sizes))]


class _Helper(threading.Thread):
    """Takes the largest page that is left as long as there is one."""

    def __init__(self, large: deque[int], read: Callable[[int], S], answers: dict[int, T | S]) -> None:
        super().__init__(name="extractor", daemon=True)
        self._large = large
        self._read = read
        self._answers = answers
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while (number := _taken(self._large.popleft)) is not None:
                self._answers[number] = self._read(number)
        except Exception as error:
            self.failure = error


def _taken(take: Callable[[], int]) -> int | None:
    """From one end of what is left; None: nothing is."""
    try:
        return take()
    except IndexError:
        return None
