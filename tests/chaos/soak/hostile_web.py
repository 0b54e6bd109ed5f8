"""All misbehaving servers of the soak and their two victims, in a process of their own.

Run: python -m tests.chaos.soak.hostile_web PLAN, a file with a ``Plan`` as JSON. Its first line of output is a ``Names`` as JSON; it ends
when its input does.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import socket
import ssl
import sys
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import trustme
from msgspec import Struct

from tests.chaos.soak.chameleon import Chameleon, Journal, Victim
from tests.hostile.around import Around

PER_ADDRESS: Final = 4
TLS_EVERY: Final = 8
PAST: Final = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
IN_SCOPE: Final = "127.78.0.1"
OUT_OF_SCOPE: Final = "127.78.0.2"


class Plan(Struct, frozen=True):
    seed: int
    servers: int
    good: tuple[str, ...]
    log: str
    """File of a line of JSON, an ``Asked``, for each request."""
    authority: str
    """File where the certificate goes that the crawl is to trust."""


class Names(Struct, frozen=True):
    """Origins."""

    hostile: tuple[str, ...]
    victims: tuple[str, ...]


def address_of(number: int) -> str:
    block = number // PER_ADDRESS
    return f"127.77.{block // 250}.{1 + block % 250}"


def free_port(address: str) -> int:
    with socket.socket() as one:
        one.bind((address, 0))
        return int(one.getsockname()[1])


def certified(authority: trustme.CA, address: str, number: int) -> ssl.SSLContext | None:
    """Most speak no TLS; of the others every second has a certificate that holds."""
    if number % TLS_EVERY:
        return None
    faults = (
        authority.issue_cert(address, not_after=PAST),
        trustme.CA().issue_cert(address),
        authority.issue_cert("other.example"),
    )
    which = number // TLS_EVERY
    leaf = faults[which // 2 % len(faults)] if which % 2 else authority.issue_cert(address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


def run(plan: Plan) -> None:
    # Unbuffered, so that each line is in the file before anything is answered.
    with Path(plan.log).open("ab", buffering=0) as log:
        asyncio.run(serve(plan, Journal(log.write)))


async def serve(plan: Plan, journal: Journal) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(plan.authority)
    victims = [Victim(address, journal) for address in (IN_SCOPE, OUT_OF_SCOPE)]
    for victim in victims:
        await victim.open()
    wheres = [(address_of(number), free_port(address_of(number))) for number in range(plan.servers)]
    origins = tuple(
        f"http{'' if number % TLS_EVERY else 's'}://{address}:{port}" for number, (address, port) in enumerate(wheres)
    )
    names = Names(origins, tuple(f"http://{victim.name}" for victim in victims))
    lives = [asyncio.create_task(journal.keep())]
    for number, (address, port) in enumerate(wheres):
        random = Random(f"{plan.seed}/{number}")
        around = Around(origins[number], origins, names.victims, plan.good, random)
        server = Chameleon(address, around, certified(authority, address, number), journal)
        await server.open(port)
        lives.append(asyncio.create_task(server.live()))
    print(msgspec.json.encode(names).decode(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    # What the servers cost is not the crawl's.
    os.nice(10)
    run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan))
