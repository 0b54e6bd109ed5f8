"""Good servers beside ten times as many that misbehave, each in another way every few seconds: the good ones do not notice.

The short form is part of the tests. `make storm STORM=soak` runs the long one alone: GREGOR_STORM_SOAK_S=1200.
"""

import math
import os
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from gregor.demo.tree import numbers
from tests.chaos.processes import seeded
from tests.chaos.soak.chameleon import Asked
from tests.chaos.soak.crawling import GOOD_DELAY_S, Crawled, Good, asked_of, configure, crawl, good_web, hostile_web
from tests.chaos.soak.hostile_web import Plan
from tests.chaos.soak.judging import Pace, check_archive, check_good, check_itself, check_manners, pace_of

SOAK_S: Final = float(os.environ.get("GREGOR_STORM_SOAK_S") or 45)
HOSTILE: Final = 200
GOOD: Final = 20
PAGES: Final = int(SOAK_S / GOOD_DELAY_S)
"""Of a good server: alone it would be done when the time is over. A crawl whose good servers were done sooner would end by itself, once
the hostile ones are given up or ask to be left alone for days."""
PAGES_ALONE: Final = 12
MOST_MB: Final = 1000
MOST_LATE: Final = 2.0
"""How many times as long a good server may wait between two requests as when the good ones are alone, on average and for most of them."""
LINKED: Final = 200
SERVER_ATTEMPTS: Final = min(100, max(5, round(SOAK_S / 12)))
"""Orders in vain before a hostile server is given up: with the usual five nearly all of them are after four minutes."""


@pytest.mark.alone
@pytest.mark.timeout(3600)
def test_good_servers_are_crawled_whole_and_on_time_beside_servers_that_misbehave_in_every_way(tmp_path: Path) -> None:
    seed = seeded("hostile soak").getrandbits(32)
    alone = pace_alone(tmp_path)
    with good_web(tmp_path, GOOD, PAGES) as good:
        crawled = soak(tmp_path, seed, good)
        log = asked_of(tmp_path / "hostile.jsonl")
        pace = pace_of(good.asked())
        tell(crawled, log, good, alone, pace)
        check_itself(crawled, tmp_path / "crawl")
        check_good(good)
        check_manners(log)
        responses = check_archive(tmp_path / "crawl" / "archive", good)
    print(f"{responses:,} responses in the archive")
    assert crawled.peak_mb < MOST_MB
    assert pace.median_s < MOST_LATE * alone.median_s


def pace_alone(folder: Path) -> Pace:
    """Of the same servers, with fewer pages and nobody beside them."""
    place = folder / "alone"
    place.mkdir()
    with good_web(place, GOOD, PAGES_ALONE) as good:
        crawled = crawl(
            configure(place / "gregor.toml", good.site.seeds, SERVER_ATTEMPTS), place / "crawl", good, least_s=math.inf
        )
        assert crawled.code == 0, crawled.printed
        check_good(good)
        return pace_of(good.asked())


def soak(folder: Path, seed: int, good: Good) -> Crawled:
    linked = tuple(good.site.url(0, path) for path in list(numbers(PAGES))[:LINKED])
    authority = folder / "authority.pem"
    plan = Plan(seed=seed, servers=HOSTILE, good=linked, log=str(folder / "hostile.jsonl"), authority=str(authority))
    with hostile_web(folder, plan) as names:
        seeds = [*good.site.seeds, *(f"{origin}/" for origin in names.hostile)]
        config = configure(folder / "gregor.toml", seeds, SERVER_ATTEMPTS)
        return crawl(config, folder / "crawl", good, least_s=SOAK_S, trusted=authority)


def tell(crawled: Crawled, log: list[Asked], good: Good, alone: Pace, pace: Pace) -> None:
    kinds = Counter(one.kind for one in log)
    print(
        f"{crawled.seconds:.0f} s, {HOSTILE} hostile servers asked {len(log):,} times ({len(kinds)} kinds of answer), "
        f"{GOOD} good ones {len(good.asked()):,} times; {crawled.peak_mb:.0f} MB at the most"
    )
    print(
        f"good servers: {pace.median_s:.3f} s between requests, alone {alone.median_s:.3f} ({pace.median_s / alone.median_s:.2f}); "
        f"the slowest {pace.slowest_s / alone.slowest_s:.2f}; the longest wait {pace.longest_s:.1f} s, alone {alone.longest_s:.1f}"
    )
    print("most frequent:", ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(12)))
