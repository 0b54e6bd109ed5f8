"""What misbehaving servers leave behind in the fetcher: nothing."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.hostile import servers
from tests.hostile.test_misbehaviour import CASES
from tests.hostile.web import Server, Web
from tests.workers.fetcher.fetching import Fetching, fetching, order_of, settings

REQUESTS = 10_000
WARM_UP = 2_500
AT_ONCE = 50
MIB = 1024 * 1024

# Those that make the server work for long, or wait, would make this a test of the server.
LONG = (servers.EndlessBody, servers.EndlessTrailers, servers.ResetsInHeaders, servers.ResetsInBody, servers.HugeRobots)
QUICK = [case.server for case in CASES if case.server not in LONG]


@contextlib.contextmanager
def quick_servers(web: Web) -> Iterator[list[Server]]:
    running = [kind() for kind in QUICK]
    with web.serving(*running):
        yield running


def fetch(fetcher: Fetching, running: list[Server], count: int) -> int:
    """``count`` requests, round and round the servers."""
    outcomes = 0
    for first in range(0, count, AT_ONCE):
        names = [running[(first + number) % len(running)].name for number in range(min(AT_ONCE, count - first))]
        answers = fetcher.gather([fetcher.start(order_of(name, "/")) for name in names])
        outcomes += sum(len(answer.fetched.results) for answer in answers.values())
    for server in running:
        server.requests.clear()
    return outcomes


def resident() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is measured as Linux counts it")
def test_memory_stays_flat_over_ten_thousand_hostile_requests(web: Web) -> None:
    caps = {"fetch__max_body_bytes": 65_536, "fetch__max_header_bytes": 2048, "fetch__max_headers": 64}
    with quick_servers(web) as running, fetching(settings(**caps)) as fetcher:
        assert fetch(fetcher, running, WARM_UP) == WARM_UP
        before = resident()
        assert fetch(fetcher, running, REQUESTS - WARM_UP) == REQUESTS - WARM_UP
        after = resident()
        assert fetcher.stage.in_flight == 0
    # 7,500 requests that each left a kilobyte would show.
    assert after - before < 7 * MIB


def test_a_bomb_is_defused_long_before_its_size(web: Web) -> None:
    with web.serving(bomb := servers.ZstdBomb()), fetching(settings(fetch__max_body_bytes=4 * MIB)) as fetcher:
        answer = fetcher.get(bomb.name)
    assert (answer.result.outcome, answer.result.truncated) == ("protocol", "disconnect")
    assert "on the wire" in answer.result.detail
    assert answer.result.body_bytes <= 2 * MIB
