"""How fast the fetcher is: beside a bare aiohttp loop on the same nginx, and with ten thousand slow servers at once.

Run: python bench/fetcher.py [--quick] [--json]

Each measurement is a process of its own, bare loop and fetcher in turn; of these pairs the one with the median ratio counts, because
whatever else the machine does disturbs both halves of a pair alike.
"""

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.engines.provision import run
from bench.fetching.crawling import Measured, Plan, bare, through_the_stage
from bench.fetching.nginx import PAGES, nginx
from bench.report import finish, machine, options

CONNECTIONS: Final = 64
URLS_PER_ORDER: Final = 16
SLOW_SERVERS: Final = 10_000
SLOW_SECONDS: Final = 10.0


def main() -> None:
    chosen = options(__doc__)
    figures = {**_speed(chosen.quick), **_slow_servers(chosen.quick)}
    print(machine("aiohttp", "uvloop", "rocksdict"))
    finish(figures, chosen.json)


def _speed(quick: bool) -> dict[str, float]:
    with nginx() as port:
        plan = Plan(
            servers=_servers(256 if quick else 2048, port),
            paths=tuple(f"/{number % PAGES}.html" for number in range(URLS_PER_ORDER)),
            connections=CONNECTIONS,
        )
        runs = [(_apart(bare, plan), _apart(through_the_stage, plan)) for _ in range(3 if quick else 5)]
    pairs = sorted(((_rate(stage), _rate(loop)) for loop, stage in runs), key=lambda pair: pair[0] / pair[1])
    rate, bare_rate = pairs[len(pairs) // 2]
    return {"pages_per_s": rate, "bare_pages_per_s": bare_rate, "ratio_bare": round(rate / bare_rate, 3)}


def _slow_servers(quick: bool) -> dict[str, float]:
    """Every server is asked several times, one request after the other; the ideal is to wait for nothing but the servers.

    So many in flight make a rate of their number over the mean time of one request and the turn to the next (Little's law). Counting
    answers in a window would say something else: they come in waves as long as a server takes, of which a window holds some whole and
    some not. How long it takes until all are in flight, which is the making of ten thousand connections, shows in the figure for the
    whole run.
    """
    requests = 3 if quick else 8
    command = [sys.executable, "-m", "bench.fetching.slow_servers", str(SLOW_SECONDS)]
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    try:
        plan = Plan(
            servers=_servers(SLOW_SERVERS, port),
            paths=tuple(f"/{number}" for number in range(requests)),
            connections=SLOW_SERVERS,
            # The other end is one process on the same machine; how soon it accepts is not the question.
            connect_timeout_s=60.0,
        )
        measured = _apart(through_the_stage, plan)
    finally:
        process.communicate()
    if set(measured.outcomes) != {"ok"} or not measured.all_at_once:
        raise SystemExit(f"not every slow server was waited for, or not all at once: {measured.outcomes}")
    ideal = SLOW_SERVERS / SLOW_SECONDS
    return {
        "slow_servers_efficiency": round(SLOW_SECONDS / measured.cycle_s, 3),
        "slow_servers_whole_run": round(measured.pages / measured.seconds / ideal, 3),
        "rss_mb": round(measured.rss_mb),
    }


def _servers(count: int, port: int) -> tuple[str, ...]:
    """As many addresses, each a server of its own."""
    return tuple(f"127.1.{number // 250}.{number % 250 + 1}:{port}" for number in range(count))


def _rate(measured: Measured) -> float:
    return round(measured.pages / measured.seconds)


def _apart(work: Callable[[Plan], Measured], plan: Plan) -> Measured:
    """In a process of its own, so that neither its memory nor its caches are another measurement's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (plan,))


if __name__ == "__main__":
    run(main)
