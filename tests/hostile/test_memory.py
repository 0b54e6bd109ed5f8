"""What misbehaving servers leave behind in the fetcher: nothing."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.hostile import codings
from tests.hostile.web import Web
from tests.workers.fetcher.fetching import fetching, settings

MIB = 1024 * 1024
PARTS, COUNT = 5, 2000


def test_memory_stays_flat_over_ten_thousand_hostile_requests(backend: str) -> None:
    command = [sys.executable, "-m", "tests.hostile.many_requests", backend, str(PARTS), str(COUNT)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    held = json.loads(done.stdout)
    assert [part["results"] for part in held] == [COUNT] * PARTS
    assert [part["in_flight"] for part in held] == [0] * PARTS
    # From the third part on everything that is made once has been made. One object kept for each request would be thousands, one
    # kilobyte of it in a place that Python does not count 4 MiB.
    assert held[-1]["objects"] - held[2]["objects"] < 500
    assert held[-1]["blocks"] - held[2]["blocks"] < 2000
    assert held[-1]["bytes"] - held[2]["bytes"] < MIB


def test_a_bomb_is_defused_long_before_its_size(web: Web, backend: str) -> None:
    config = settings(fetch__backend=backend, fetch__max_body_bytes=4 * MIB)
    with web.serving(bomb := codings.ZstdBomb()), fetching(config) as fetcher:
        answer = fetcher.get(bomb.name)
    assert (answer.result.outcome, answer.result.truncated) == ("protocol", "disconnect")
    assert "on the wire" in answer.result.detail
    assert answer.result.body_bytes <= 2 * MIB
