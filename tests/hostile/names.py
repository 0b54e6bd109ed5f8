"""A name server on loopback whose answers a test decides, one question at a time."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
from collections.abc import Callable, Sequence

from tests.hostile.web import Web

A, AAAA = 1, 28
NXDOMAIN = 3

Zone = Callable[[str, int], Sequence[str] | None]
"""(name, how often it was asked for before) to its addresses; None: there is no such name."""


class NameServer(asyncio.DatagramProtocol):
    """Answers questions for A and AAAA records, with a time to live of 0."""

    def __init__(self, zone: Zone) -> None:
        self.asked: list[tuple[str, int]] = []
        self.port = 0
        self._zone = zone
        self._transport: asyncio.DatagramTransport | None = None

    def open(self, web: Web) -> None:
        async def listen() -> None:
            loop = asyncio.get_running_loop()
            self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
            self.port = self._transport.get_extra_info("sockname")[1]

        web.run(listen())

    def close(self, web: Web) -> None:
        async def leave() -> None:
            assert self._transport is not None
            self._transport.close()

        web.run(leave())

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        name, question = _question(data)
        (kind,) = struct.unpack("!H", question[-4:-2])
        times = sum(1 for asked in self.asked if asked == (name, kind))
        self.asked.append((name, kind))
        addresses = self._zone(name, times)
        flags = 0x8180 | (NXDOMAIN if addresses is None else 0)
        records = [_record(ipaddress.ip_address(one)) for one in addresses or () if _kind(one) == kind]
        head = data[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        assert self._transport is not None
        self._transport.sendto(head + question + b"".join(records), address)


def _kind(address: str) -> int:
    return AAAA if ":" in address else A


def _record(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bytes:
    kind = A if address.version == 4 else AAAA
    return struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(address.packed)) + address.packed


def _question(data: bytes) -> tuple[str, bytes]:
    labels, at = [], 12
    while data[at]:
        labels.append(data[at + 1 : at + 1 + data[at]].decode().lower())
        at += 1 + data[at]
    return ".".join(labels), data[12 : at + 5]
