"""Processes that read pages, from the stage's side: tasks go out in any number, answers come back in their order.

A task that takes too long costs its process its life: nothing less stops a user's function, or an XPath of the eighth
degree. The answer is then TimedOut, and a new process takes the next task.
"""

import os
import select
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from gregor.config import Config
from gregor.runtime.child_process import child_command, child_environment
from workers.extractor.child import READY, PageTask, encode

START_TIMEOUT_S: Final = 60.0
_PIECE: Final = 1 << 20

T = TypeVar("T")


class TimedOut(msgspec.Struct, frozen=True):
    """In place of an answer."""

    seconds: float


class Crashed(msgspec.Struct, frozen=True):
    """In place of an answer: the process ended by itself."""

    code: int


class Pool:
    """``size`` processes for each thread that has tasks, started when they are first needed."""

    def __init__(self, size: int, config: Config) -> None:
        self._setup = msgspec.json.encode(config)
        self._limit_s = config.extract.time_limit_s
        self._size = size
        self._idle: list[_Child] = []
        self._starting: list[_Child] = []

    def ready(self, wanted: int) -> int:
        """How many processes are idle. Those that are missing are started, and nobody waits for them."""
        there = [child for child in self._starting if child.is_ready()]
        self._starting = [child for child in self._starting if child not in there]
        self._idle += there
        for _ in range(wanted - len(self._idle) - len(self._starting)):
            self._starting.append(_Child(self._setup))
        return len(self._idle)

    def run(self, tasks: Sequence[PageTask], answer: type[T]) -> list[T | TimedOut | Crashed]:
        """The answers to all tasks, in their order."""
        decode = msgspec.msgpack.Decoder(answer).decode
        answers: list[T | TimedOut | Crashed] = [TimedOut(0.0)] * len(tasks)
        waiting = deque(range(len(tasks)))
        busy: dict[int, tuple[_Child, int, float]] = {}
        while waiting or busy:
            while waiting and len(busy) < self._size:
                child = self._child()
                number = waiting.popleft()
                child.send(encode(tasks[number]))
                busy[child.descriptor] = (child, number, time.monotonic() + self._limit_s)
            for descriptor in self._ready(busy):
                child, number, deadline = busy[descriptor]
                frame = child.receive()
                if frame is not None:
                    answers[number] = decode(frame)
                    self._idle.append(child)
                elif child.ended:
                    answers[number] = Crashed(child.kill())
                elif time.monotonic() >= deadline:
                    child.kill()
                    answers[number] = TimedOut(self._limit_s)
                else:
                    continue
                del busy[descriptor]
        return answers

    def _child(self) -> "_Child":
        try:
            return self._idle.pop()
        except IndexError:
            child = _Child(self._setup)
        child.wait_until_ready()
        return child

    def _ready(self, busy: dict[int, tuple["_Child", int, float]]) -> list[int]:
        """Children with something to read, and those whose time is over."""
        next_deadline = min(deadline for _, _, deadline in busy.values())
        poll = select.poll()
        for descriptor in busy:
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        heard = {descriptor for descriptor, _ in poll.poll(max(0.0, next_deadline - time.monotonic()) * 1000)}
        now = time.monotonic()
        return [one for one, (_, _, deadline) in busy.items() if one in heard or now >= deadline]

    def close(self) -> None:
        for child in (*self._idle, *self._starting):
            child.kill()
        self._idle.clear()
        self._starting.clear()


class _Child:
    """One process and the frame that is coming from it."""

    def __init__(self, setup: bytes) -> None:
        self._process = subprocess.Popen(
            child_command("workers.extractor.child"),
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input = self._process.stdin
        self.descriptor = self._process.stdout.fileno()
        os.set_blocking(self.descriptor, False)
        self._buffer = bytearray()
        self.ended = False
        self._give_up = time.monotonic() + START_TIMEOUT_S
        self.send(setup)

    def is_ready(self) -> bool:
        """Whether it can take its first task. Raises when it never will."""
        frame = self.receive()
        if frame is None and not self.ended and time.monotonic() < self._give_up:
            return False
        if frame != READY:
            code = self.kill()
            raise RuntimeError(f"a process that reads pages did not start (exit code {code}); its error is above")
        return True

    def wait_until_ready(self) -> None:
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN | select.POLLHUP)
        while not self.is_ready():
            poll.poll(1000)

    def send(self, data: bytes) -> None:
        try:
            self._input.write(len(data).to_bytes(4, "big") + data)
            self._input.flush()
        except BrokenPipeError:
            self.ended = True

    def receive(self) -> bytes | None:
        """A whole frame; None: it is not there yet, or never will be (``ended``)."""
        while True:
            try:
                piece = os.read(self.descriptor, _PIECE)
            except BlockingIOError:
                break
            if not piece:
                self.ended = True
                break
            self._buffer += piece
        if len(self._buffer) < 4:
            return None
        length = int.from_bytes(self._buffer[:4], "big")
        if len(self._buffer) < 4 + length:
            return None
        frame = bytes(self._buffer[4 : 4 + length])
        del self._buffer[: 4 + length]
        return frame

    def kill(self) -> int:
        self._process.kill()
        self._process.stdout.close()  # type: ignore[union-attr]
        with suppress(BrokenPipeError):
            self._input.close()
        return self._process.wait()
