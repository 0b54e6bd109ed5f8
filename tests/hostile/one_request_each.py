"""One request to each of some servers, all at once, by a fetcher in a process of its own; prints outcomes and peak memory as JSON.

Run as a program: the backend, a good server, which is asked once before and once beside the others, and the others.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.workers.fetcher.fetching import fetching, order_of, settings

STATUS = Path("/proc/self/status")


def _bytes(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def main(backend: str, good: str, *others: str) -> None:
    with fetching(settings(fetch__backend=backend)) as fetcher:
        fetcher.get(good)
        before = _bytes("VmRSS")
        tickets = [fetcher.start(order_of(server, "/")) for server in (*others, good)]
        answers = fetcher.gather(tickets)
        results = [answers[ticket].result for ticket in tickets]
        said = {
            "grown": _bytes("VmHWM") - before,
            "others": [[one.outcome, one.status, one.detail] for one in results[:-1]],
            "good": results[-1].outcome,
        }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
