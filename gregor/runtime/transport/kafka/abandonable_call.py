"""Calls that may never return, made in a thread that can be left behind.

librdkafka's send_offsets_to_transaction ignores its time-out when the group's coordinator has died (confluentinc/librdkafka issues 5456
and 5511). The caller waits as long as it wants to; a call that is left behind keeps its own objects alive and nobody waits for it.
"""

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

_LOOK_S: Final = 0.05


class AbandonableCall:
    """One thread, one call at a time."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], None], queue.SimpleQueue[BaseException | None]] | None]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls,), daemon=True, name="abandonable-call").start()

    def call(self, function: Callable[[], None], in_vain: Callable[[], bool]) -> None:
        """What the function raises is raised here. TimeoutError: it has not returned, ``in_vain``, which is asked now and then, says that
        it will not, and this object is not to be used again."""
        began = time.monotonic()
        answer: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._calls.put((function, answer))
        while True:
            try:
                error = answer.get(timeout=_LOOK_S)
            except queue.Empty:
                if in_vain():
                    self._calls.put(None)
                    raise TimeoutError(f"a call did not return within {time.monotonic() - began:.1f} s") from None
                continue
            if error is not None:
                raise error
            return

    def close(self) -> None:
        self._calls.put(None)


def _serve(
    calls: "queue.SimpleQueue[tuple[Callable[[], None], queue.SimpleQueue[BaseException | None]] | None]",
) -> None:
    while (asked := calls.get()) is not None:
        function, answer = asked
        try:
            function()
        except BaseException as error:
            answer.put(error)
        else:
            answer.put(None)
        # Otherwise the last call's producer would live until the next call.
        del asked, function, answer


def after(seconds: float) -> Callable[[], bool]:
    """Whether that time has passed."""
    at = time.monotonic() + seconds
    return lambda: time.monotonic() > at
