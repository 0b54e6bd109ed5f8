"""Names to addresses: c-ares, with a bounded cache of answers and of failures."""

import asyncio
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct

ANSWER_S: Final = 300.0
"""How long an answer is used, unless its own time to live is shorter."""
FAILURE_S: Final = 30.0
REMEMBERED: Final = 65_536
MOST_ADDRESSES: Final = 16


class NoAddress(OSError):
    """A name that has no address, or whose servers do not say."""


class _Entry(Struct, frozen=True):
    expires: float
    addresses: tuple[str, ...]
    failure: str


class CachingResolver(AbstractResolver):
    """One for an event loop. Lookups of one name at one time share one question."""

    def __init__(self, nameservers: Sequence[str], *, shortest_s: float, failure_s: float = FAILURE_S) -> None:
        """``nameservers`` empty: those of the machine. ``failure_s``: how long a failure is remembered."""
        self._failure_s = failure_s
        self._shortest = shortest_s
        # No text options: pycares 5 hands c-ares pointers to memory that it has already freed.
        self._resolver = aiodns.DNSResolver(nameservers=list(nameservers) if nameservers else None)
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._asking: dict[str, asyncio.Task[_Entry]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        entry = self._known(host) or await self._ask(host)
        if entry.failure:
            raise NoAddress(entry.failure)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in entry.addresses
        ]

    def peek(self, host: str) -> str:
        """The first address that is remembered; empty: none."""
        entry = self._entries.get(host)
        return entry.addresses[0] if entry is not None and entry.addresses else ""

    async def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        await self._resolver.close()

    def _known(self, host: str) -> _Entry | None:
        entry = self._entries.get(host)
        return entry if entry is not None and entry.expires > time.monotonic() else None

    async def _ask(self, host: str) -> _Entry:
        task = self._asking.get(host)
        if task is None:
            task = asyncio.create_task(self._look_up(host))
            self._asking[host] = task
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        # The question goes on when one of those who wait for it gives up.
        return await asyncio.shield(task)

    async def _look_up(self, host: str) -> _Entry:
        now = time.monotonic()
        try:
            answer = await self._resolver.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except (aiodns.error.DNSError, ValueError, UnicodeError) as error:
            entry = _Entry(now + self._failure_s, (), _reason(host, error))
        else:
            nodes = answer.nodes[:MOST_ADDRESSES]
            # "%" begins the scope of an IPv6 address; a bytes address is ASCII.
            addresses = tuple(dict.fromkeys(_text(node.addr[0]) for node in nodes))
            ttl = min((node.ttl for node in nodes), default=0)
            lives = min(ANSWER_S, max(self._shortest, float(ttl)))
            entry = _Entry(now + lives, addresses, "" if addresses else f"{host} has no address")
        self._entries[host] = entry
        self._entries.move_to_end(host)
        if len(self._entries) > REMEMBERED:
            self._entries.popitem(last=False)
        return entry


class TimedResolver(AbstractResolver):
    """Says how long each question took. Closing it leaves the resolver open, which belongs to whoever made it."""

    def __init__(self, resolver: CachingResolver, took: Callable[[float], None]) -> None:
        self._resolver = resolver
        self._took = took

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        begun = time.monotonic()
        try:
            return await self._resolver.resolve(host, port, family)
        finally:
            self._took(time.monotonic() - begun)

    async def close(self) -> None: ...


def _text(address: bytes | str) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def _reason(host: str, error: Exception) -> str:
    said = error.args[1] if len(error.args) > 1 else str(error)
    return f"{host}: {said}"
