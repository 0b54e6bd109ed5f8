"""Servers that answer by path, and what they know of the web around them: whom to lead a crawler to."""

from __future__ import annotations

import asyncio
from random import Random

from msgspec import Struct

from tests.hostile.web import Server


class Around(Struct, frozen=True):
    """The web as one server sees it; the names are origins, such as ``http://127.0.0.1:80``."""

    here: str
    neighbours: tuple[str, ...]
    """Others that misbehave."""
    victims: tuple[str, ...]
    """Servers that did nobody any harm."""
    good: tuple[str, ...]
    """URLs that are crawled anyway."""
    random: Random


class ByPath(Server):
    """Answers every request by its path, and keeps the connection."""

    def __init__(self, around: Around) -> None:
        super().__init__()
        self.around = around

    def answer(self, path: str) -> bytes:
        raise NotImplementedError

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(self.answer(path_of(await self.request(reader))))
            await writer.drain()


def path_of(head: bytes) -> str:
    """Of a request."""
    parts = head.split(b" ", 2)
    return parts[1].decode("latin-1") if len(parts) == 3 else ""
