"""Free loopback ports for servers that are started, killed and started again on the same port.

They are taken from outside the kernel's ephemeral range. A port inside it can be given to any outgoing connection
while its broker is down; a client that keeps trying to reconnect over loopback can even connect to itself and so keep
the broker out.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infra.kafka.errors import KafkaError, PortTaken

HOST = "127.0.0.1"
_LOWEST = 10_000
_TRIES = 1_000


@contextmanager
def held_ports(count: int, fixed: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """`fixed` and then `count` free ports, all bound until the block ends, so that no two runs choose the same."""
    with ExitStack() as held:
        for port in fixed:
            held.enter_context(_bound(port))
        chosen: list[int] = []
        candidates = _outside_ephemeral_range()
        for port in random.sample(candidates, k=min(_TRIES, len(candidates))):
            if len(chosen) == count:
                break
            try:
                held.enter_context(_bound(port))
            except PortTaken:
                continue
            chosen.append(port)
        if len(chosen) < count:
            raise KafkaError(
                f"expected {count} free ports on {HOST}, found {len(chosen)}: end some servers and try again"
            )
        yield (*fixed, *chosen)


def _bound(port: int) -> socket.socket:
    # SO_REUSEADDR, as the broker itself has it: without it a port counts as taken for a minute after its broker has ended, while
    # the kernel remembers connections. With it two processes may both bind a port on which neither listens; both listening they cannot be.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen()
    except OSError as error:
        bound.close()
        raise PortTaken(
            f"port {port} on {HOST} is taken ({error.strerror}): choose another, or end what listens there"
        ) from error
    return bound


def _outside_ephemeral_range() -> list[int]:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    outside = [port for port in range(_LOWEST, 65_536) if not low <= port <= high]
    return outside or list(range(_LOWEST, 65_536))
