"""Thousands of hostile requests in a process of its own; prints what the process holds after each part of them as JSON.

Run as a program: how many parts, how many requests in each.
"""

from __future__ import annotations

import gc
import json
import sys

import psutil

from tests.hostile import servers
from tests.hostile.test_misbehaviour import CASES
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, fetching, order_of, settings

AT_ONCE = 50
CAPS = {"fetch__max_body_bytes": 65_536, "fetch__max_header_bytes": 2048, "fetch__max_headers": 64}

# Those that make the server work for long, or wait, would make this a test of the server.
LONG = (servers.EndlessBody, servers.EndlessTrailers, servers.ResetsInHeaders, servers.ResetsInBody)
QUICK = [case.server for case in CASES if case.server not in LONG]


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


def main(parts: int, count: int) -> None:
    web = Web()
    running: list[Server] = [kind() for kind in QUICK]
    held = []
    with web.serving(*running), fetching(settings(**CAPS)) as fetcher:
        for _ in range(parts):
            results = fetch(fetcher, running, count)
            gc.collect()
            rss = psutil.Process().memory_info().rss
            held.append(
                {"results": results, "rss": rss, "objects": len(gc.get_objects()), "in_flight": fetcher.stage.in_flight}
            )
    print(json.dumps(held))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
