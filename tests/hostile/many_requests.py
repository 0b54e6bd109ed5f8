"""Thousands of hostile requests in a process of its own; prints what the process holds after each part of them as JSON.

Run as a program: the backend, how many parts, how many requests in each.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys

from tests.hostile import servers
from tests.hostile.test_misbehaviour import CASES
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, fetching, order_of, settings

AT_ONCE = 50
CAPS = {"fetch__max_body_bytes": 65_536, "fetch__max_header_bytes": 2048, "fetch__max_headers": 64}

# Those that make the server work for long, or wait, would make this a test of the server.
LONG = (servers.EndlessBody, servers.EndlessTrailers, servers.ResetsInHeaders, servers.ResetsInBody)
QUICK = [case.server for case in CASES if case.server not in LONG]


class MallocInfo(ctypes.Structure):
    """``struct mallinfo2`` of the C library: what was asked of it and not given back."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in [
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        ]
    ]


def allocated() -> int:
    """Bytes that are in use, of all libraries in this process.

    Not what is resident: that is the most there ever was at once, and grows by megabytes when fifty requests meet unluckily.
    """
    asked = ctypes.CDLL(None).mallinfo2
    asked.restype = MallocInfo
    info = asked()
    return int(info.uordblks + info.hblkhd)


def fetch(fetcher: Fetching, running: list[Server], count: int) -> int:
    """``count`` requests, round and round the servers; how many results there were."""
    results = 0
    for first in range(0, count, AT_ONCE):
        names = [running[(first + number) % len(running)].name for number in range(AT_ONCE)]
        answers = fetcher.gather([fetcher.start(order_of(name, "/")) for name in names])
        results += sum(len(answer.fetched.results) for answer in answers.values())
    for server in running:
        server.requests.clear()
    return results


def main(backend: str, parts: int, count: int) -> None:
    web = Web()
    running: list[Server] = [kind() for kind in QUICK]
    held = []
    with web.serving(*running), fetching(settings(fetch__backend=backend, **CAPS)) as fetcher:
        for _ in range(parts):
            results = fetch(fetcher, running, count)
            gc.collect()
            held.append(
                {
                    "results": results,
                    "in_flight": fetcher.stage.in_flight,
                    "objects": len(gc.get_objects()),
                    "blocks": sys.getallocatedblocks(),
                    "bytes": allocated(),
                }
            )
    print(json.dumps(held))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
