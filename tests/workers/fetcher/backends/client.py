"""A backend by itself, in an event loop of its own that stands still between two calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import uvloop
from msgspec.structs import replace

from tests.workers.fetcher.fetching import made_by
from workers.fetcher.backends.backend import Caps, Exchange, FetchRequest

T = TypeVar("T")

CAPS = Caps(connect_s=60.0, first_byte_s=60.0, total_s=120.0, body_bytes=65_536, header_bytes=2048, headers=64)
"""Small where bytes are counted, with the patience for a busy machine."""


def request_for(server: str, path: str = "/", caps: Caps | None = None, **fields: Any) -> FetchRequest:
    given: dict[str, Any] = {"scheme": "http", "headers": {}, "caps": caps or CAPS, **fields}
    return FetchRequest(server=server, path=path, **given)


def caps(**changes: Any) -> Caps:
    return replace(CAPS, **changes)


class Client:
    """Asks the backend as the fetcher does."""

    def __init__(self, backend: str, **options: Any) -> None:
        self.backend = made_by(backend, **options)()
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self.run(self.backend.open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def get(self, server: str, path: str = "/", caps: Caps | None = None, **fields: Any) -> Exchange:
        return self.run(self.backend.fetch(request_for(server, path, caps, **fields)))

    def close(self) -> None:
        self.run(self.backend.close())
        self._runner.close()


@contextlib.contextmanager
def opened(backend: str, **options: Any) -> Iterator[Client]:
    client = Client(backend, **options)
    try:
        yield client
    finally:
        client.close()
