"""What misbehaving servers leave behind in the fetcher: nothing."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.hostile import servers
from tests.hostile.web import Web
from tests.workers.fetcher.fetching import fetching, settings

MIB = 1024 * 1024
PARTS, COUNT = 4, 2500


def test_memory_stays_flat_over_ten_thousand_hostile_requests() -> None:
    command = [sys.executable, "-m", "tests.hostile.many_requests", str(PARTS), str(COUNT)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    held = json.loads(done.stdout)
    assert [part["results"] for part in held] == [COUNT] * PARTS
    assert [part["in_flight"] for part in held] == [0] * PARTS
    # From the second part on everything that is made once has been made. One object kept for each request would be thousands, one
    # kilobyte of it in a place that Python does not count several MiB.
    assert held[-1]["objects"] - held[1]["objects"] < 500
    assert held[-1]["rss"] - held[1]["rss"] < 5 * MIB


def test_a_bomb_is_defused_long_before_its_size(web: Web) -> None:
    with web.serving(bomb := servers.ZstdBomb()), fetching(settings(fetch__max_body_bytes=4 * MIB)) as fetcher:
        answer = fetcher.get(bomb.name)
    assert (answer.result.outcome, answer.result.truncated) == ("protocol", "disconnect")
    assert "on the wire" in answer.result.detail
    assert answer.result.body_bytes <= 2 * MIB
