"""Calls that may never return, made in a thread that can be left behind.

librdkafka's send_offsets_to_transaction ignores its time-out when the group's coordinator has died (confluentinc/librdkafka issues 5456
and 5511). The caller waits as long as it wants to; a call that is left behind keeps its own objects alive and nobody waits for it.
"""

import queue
import threading
from collections.abc import Callable


class Aside:
    """One thread, one call at a time."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[[], None], queue.SimpleQueue[BaseException | None]] | None]
        self._calls = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(self._calls,), daemon=True, name="aside").start()

    def call(self, function: Callable[[], None], seconds: float) -> None:
        """What the function raises is raised here. TimeoutError: it has not returned, and this object is not to be used again."""
        answer: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._calls.put((function, answer))
        try:
            error = answer.get(timeout=seconds)
        except queue.Empty:
            self._calls.put(None)
            raise TimeoutError(f"a call did not return within {seconds:g} s") from None
        if error is not None:
            raise error

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
