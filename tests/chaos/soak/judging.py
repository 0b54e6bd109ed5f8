"""What must be true after a soak, from the logs of the servers, the archive, and what gregor says of itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Final

from fastwarc.warc import ArchiveIterator, WarcRecordType
from msgspec import Struct

from gregor.demo.server import LoggedRequest, requested
from tests.chaos.processes import REPOSITORY
from tests.chaos.siege import is_valid
from tests.chaos.soak.chameleon import Asked
from tests.chaos.soak.crawling import GOOD_DELAY_S, HOSTILE_DELAY_S, Crawled, Good
from tests.chaos.soak.hostile_web import OUT_OF_SCOPE

RULES: Final = ("/robots.txt", "/rules/")
"""What a robots.txt may be redirected to."""
ROUNDING_S: Final = 0.005
"""Delays are told in whole milliseconds."""


class Pace(Struct, frozen=True):
    """How a group of servers was asked."""

    mean_s: dict[str, float]
    """Between two requests to a server, over all of them."""
    longest_s: float

    @property
    def median_s(self) -> float:
        return median(self.mean_s.values())

    @property
    def slowest_s(self) -> float:
        return max(self.mean_s.values())


def pace_of(log: Iterable[LoggedRequest]) -> Pace:
    times: dict[str, list[float]] = defaultdict(list)
    for one in log:
        times[one.host].append(one.time)
    gaps = [after - before for some in times.values() for before, after in pairwise(some)]
    return Pace({host: (some[-1] - some[0]) / (len(some) - 1) for host, some in times.items()}, max(gaps))


def check_good(good: Good) -> None:
    """Every URL was asked for, once, and no server too early."""
    log = good.asked()
    expected, found = good.site.urls(), requested(log)
    missed, strange = sorted(expected - found.keys()), sorted(found.keys() - expected)
    assert not missed, f"good servers were not asked for {len(missed)} of {len(expected)} URLs: {missed[:5]}"
    assert not strange, f"good servers were asked for {len(strange)} URLs that they do not have: {strange[:5]}"
    again = {url: times for url, times in found.items() if times > 1}
    assert not again, f"good servers were asked again: {again}"
    early = too_early((Asked(one.time, one.host, one.path, "", 0.0) for one in log), GOOD_DELAY_S)
    assert not early, f"good servers were asked too early: {early[:5]}"


def check_manners(log: Sequence[Asked]) -> None:
    """However they behaved, no server was asked faster than its delay, and nobody beyond the scope for a page."""
    early = too_early(log)
    assert not early, f"{len(early)} requests came too early: {early[:5]}"
    pages = [one.path for one in log if one.server.startswith(OUT_OF_SCOPE) and not one.path.startswith(RULES)]
    assert not pages, f"a server out of scope was asked for {pages[:5]}"


def too_early(log: Iterable[Asked], delay_s: float = HOSTILE_DELAY_S) -> list[tuple[Asked, Asked]]:
    """Both requests. They may have been a little further apart than their server saw them: it reads when it has a turn."""
    by_server: dict[str, list[Asked]] = defaultdict(list)
    for one in log:
        by_server[one.server].append(one)
    return [
        (before, after)
        for some in by_server.values()
        for before, after in pairwise(some)
        if after.time - before.time + before.late_s < delay_s - ROUNDING_S
    ]


def check_archive(folder: Path, good: Good) -> int:
    """Two other readers find every record whole, with right digests; each answer of a good server is in one. Gives how many there are."""
    responses: Counter[str] = Counter()
    for path in sorted(folder.glob("*.warc.gz")):
        assert is_valid(path), path
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                assert record.verify_block_digest(), (path, record.record_id)
                if record.record_type in (WarcRecordType.response, WarcRecordType.revisit):
                    responses[record.headers["WARC-Target-URI"]] += 1
    answered = good.answered()
    archived = Counter({url: count for url, count in responses.items() if url in answered})
    assert archived == answered, (
        f"in one only: {list((archived - answered).items())[:5]}, {list((answered - archived).items())[:5]}"
    )
    return responses.total()


def check_itself(crawled: Crawled, folder: Path) -> None:
    """It ended as one ends that is interrupted; nothing went wrong inside, and it kept every promise that it can prove by itself."""
    assert not crawled.ended_early, f"the crawl ended by itself with {crawled.code}:\n{crawled.printed[-5000:]}"
    assert crawled.code == 130, (crawled.code, crawled.printed[-5000:])
    for sign in ("Traceback", "process ended with", "internal"):
        at = crawled.printed.find(sign)
        assert at < 0, crawled.printed[max(0, at - 2000) : at + 5000]
    audit = _gregor("audit", folder)
    assert audit.returncode == 0, audit.stdout + audit.stderr
    letters = _gregor("dead-letters", "--folder", folder, "--json")
    assert json.loads(letters.stdout)["letters"] == [], letters.stdout[:2000]


def _gregor(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gregor", *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
