"""Names to addresses beside the stage: questions go into a thread with an event loop of its own, answers are taken when they are there.

A name is asked for three times within seconds before it counts as one without an address: name servers drop questions, too.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from msgspec import Struct

from gregor.runtime.resolver import CachingResolver, NoAddress
from gregor.url.literal import host_of

TRIES: Final = 3
PAUSE_S: Final = 1.0
"""Before the second attempt; before the third it is twice as long."""
PATIENCE_S: Final = 5.0
"""For the answer to one question."""
SHORTEST_ANSWER_S: Final = 10.0
CLOSING_S: Final = 5.0


class Answer(Struct, frozen=True):
    """What became of one question."""

    token: bytes
    """As it was asked with."""
    site: str
    failure: str = ""
    """Why there is no address; empty: there is one."""


class NameLookup(Protocol):
    """Who is asked. Called from one thread."""

    def ask(self, token: bytes, site: str, servers: Sequence[str]) -> None:
        """Whether one of the servers has an address."""
        ...

    def answers(self) -> list[Answer]:
        """Since the last call."""
        ...

    def close(self) -> None: ...


class DnsLookup:
    """The name servers of the machine, or those given, through c-ares."""

    def __init__(
        self, name_servers: Sequence[str] = (), *, pause_s: float = PAUSE_S, patience_s: float = PATIENCE_S
    ) -> None:
        self._name_servers = name_servers
        self._pause_s = pause_s
        self._patience_s = patience_s
        self._answers: deque[Answer] = deque()
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._resolver: CachingResolver | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="names", daemon=True)
        self._thread.start()

    def ask(self, token: bytes, site: str, servers: Sequence[str]) -> None:
        self._loop.call_soon_threadsafe(self._begin, self._answer(token, site, tuple(servers)))

    def answers(self) -> list[Answer]:
        taken = []
        while self._answers:
            taken.append(self._answers.popleft())
        return taken

    def close(self) -> None:
        with suppress(TimeoutError):
            # What does not end by then ends with the loop.
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(CLOSING_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _begin(self, question: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(question)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._resolver is not None:
            await self._resolver.close()

    async def _answer(self, token: bytes, site: str, servers: Sequence[str]) -> None:
        failure = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(self._pause_s * attempt)
            failure = await self._failure(servers)
            if not failure:
                break
        self._answers.append(Answer(token, site, failure))

    async def _failure(self, servers: Sequence[str]) -> str:
        """Why none of them has an address; empty: one has."""
        if self._resolver is None:
            # Made here, because it belongs to the loop.
            # What failed is asked for again by the attempts themselves, and long after by the registry.
            self._resolver = CachingResolver(self._name_servers, shortest_s=SHORTEST_ANSWER_S, failure_s=0.0)
        failure = ""
        for server in servers:
            try:
                await asyncio.wait_for(self._resolver.resolve(host_of(server)), self._patience_s)
                return ""
            except TimeoutError:
                failure = f"{server}: no name server answered within {self._patience_s:g} s"
            except NoAddress as error:
                failure = str(error)
            except OSError as error:
                failure = f"{server}: {error}"
        return failure
