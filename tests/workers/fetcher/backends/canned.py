"""What a newcomer writes: a backend whose answers stand in a dictionary, without a socket."""

from __future__ import annotations

from typing import Final

from gregor.url.literal import literal_in
from workers.fetcher.backends.backend import BackendOptions, Exchange, FetchBackend, FetchRequest

PAGES: Final = {"/": b"the front page", "/more": b"more of it"}


class CannedFetch:
    """Knows one server, by its address."""

    def __init__(self, options: BackendOptions) -> None:
        self._guard = options.guard

    async def open(self) -> None: ...

    async def fetch(self, request: FetchRequest) -> Exchange:
        address = self.address_of(request.server)
        if objection := self._guard.objection(address):
            return Exchange(outcome="address-refused", detail=objection)
        if request.before_send is not None:
            await request.before_send()
        body = PAGES.get(request.path)
        if body is None:
            return Exchange(outcome="client-error", status=404, address=address)
        cut = body[: request.caps.body_bytes]
        return Exchange(outcome="ok", status=200, address=address, body=cut, truncated="" if cut == body else "length")

    def address_of(self, server: str) -> str:
        return literal_in(server)

    async def close(self) -> None: ...


def make(options: BackendOptions) -> FetchBackend:
    return CannedFetch(options)
