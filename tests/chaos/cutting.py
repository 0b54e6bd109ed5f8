"""A proxy that cuts a connection at the worst moment: when a transaction is being committed."""

import asyncio
from contextlib import suppress
from typing import Literal

from tests.chaos.proxy import Proxy

END_TXN = 26

Where = Literal["before", "behind"]


class CuttingProxy(Proxy):
    """``cut_next`` says how the next requests that end transactions fare: they get lost on their way, or their answers do."""

    def __init__(self) -> None:
        super().__init__()
        self.cut_next: list[Where] = []
        self.cuts: list[Where] = []
        """What was done so far."""

    async def _ask(
        self, client: asyncio.StreamReader, broker: asyncio.StreamWriter, answers: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await client.readexactly(4)
                request = await client.readexactly(int.from_bytes(size))
                where = self.cut_next.pop(0) if self.cut_next and _kind(request) == END_TXN else None
                while self.mute:  # noqa: ASYNC110  another thread changes it
                    await asyncio.sleep(0.02)
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if where is not None:
                    # From here on the client hears nothing more on this connection.
                    answers.transport.abort()
                    self.cuts.append(where)
                if where != "before":
                    broker.write(size + request)
                    await broker.drain()
        broker.close()


def _kind(request: bytes) -> int:
    return int.from_bytes(request[:2])
