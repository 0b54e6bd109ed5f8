"""A whole cluster under fire: workers and brokers killed, held still and robbed of their disks while they crawl; then audit is the judge.

The short form is part of the tests. `make storm STORM=cluster` runs the long one: GREGOR_STORM_KILLS=30 GREGOR_STORM_BROKERS=3 and the
whole museum.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from gregor.demo.museum import HOUSES, House, Museum
from gregor.run.local.cluster import ClusterPlan
from tests.chaos.blows import Blow, Storm, report
from tests.chaos.processes import seeded
from tests.chaos.siege import besieged

LONG: Final = "GREGOR_STORM_BROKERS" in os.environ
KILLS: Final = int(os.environ.get("GREGOR_STORM_KILLS") or 30) if LONG else 4
BROKERS: Final = int(os.environ.get("GREGOR_STORM_BROKERS") or 1)
ROLES: Final = ("frontier", "fetcher", "extractor", "archiver")
FEW_HOUSES: Final = tuple(House(name=f"Pavilion {number}", pages=30, mirrors=number == 0) for number in range(4))
LATENCY_S: Final = 1.5 if LONG else 0.05
"""Of the site, so that the whole storm falls within the crawl."""


def blows(moments: Random, kills: int, brokers: int) -> Iterator[Blow]:
    """Hands of five or six blows, in each of which every role and a broker are hit, until that many processes are killed."""
    killed = 0
    while killed < kills:
        roles = moments.sample(ROLES, len(ROLES))
        hand = [Blow("kill", roles[0]), Blow("kill", roles[1]), Blow("rob", roles[2]), Blow("hold", roles[3])]
        hand += [Blow("kill broker")] + ([Blow("hold broker")] if brokers > 1 else [])
        moments.shuffle(hand)
        killed += sum("hold" not in one.deed for one in hand)
        yield from hand


@pytest.mark.timeout(5400)
def test_whatever_is_killed_the_crawl_is_whole_and_every_promise_kept(tmp_path: Path) -> None:
    moments = seeded("cluster storm")
    museum = Museum(houses=HOUSES if LONG else FEW_HOUSES)
    plan = ClusterPlan(brokers=BROKERS, workers=dict.fromkeys(ROLES, 2))
    began = time.monotonic()
    with besieged(tmp_path / "cluster", museum, plan, latency_s=LATENCY_S) as siege:
        storm = Storm(siege, moments, list(blows(moments, KILLS, BROKERS)), BROKERS)
        siege.until_done(storm.strike)
        findings = siege.check()
        report(siege, storm, findings, time.monotonic() - began)
