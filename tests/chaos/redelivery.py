"""Requests that a site had more often than ordered: each must be one of an order that was delivered again, to a member that took over
its partition before its results were committed.

The members' logs tell when a partition began for one of them, where the group stood, and how far the topic reached:

    2026-11-16 19:06:39,561 INFO gregor.kafka.session partition 3 begins: schedule at 120 of 140

Orders from 120 to 139 may have been begun by somebody else. So an order may be asked once, and once more for each such beginning.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from gregor.runtime.transport.port import LogReader
from schemas.fetched import decode_fetched
from schemas.schedule import decode_order

_BEGINS: Final = re.compile(
    r"^(\S+ \S+) INFO \S+ partition ([0-9]+) begins: schedule at ([0-9]+) of ([0-9]+)$", re.MULTILINE
)


class Beginning(Struct, frozen=True):
    """A partition of ``schedule`` begins for a fetcher."""

    time_ms: float
    partition: int
    first: int
    end: int


def extra_requests(log: LogReader, requested: Mapping[str, int], logs: Path) -> int:
    """How many of them there were; fails when one has no reason, or when a URL was asked less often than the results say."""
    beginnings = list(_beginnings(logs))
    asked, finished = _results(log)
    most: Counter[str] = Counter()
    for partition in log.ends("schedule"):
        for record in log.read("schedule", partition, 0):
            order = decode_order(record.value)
            again = sum(
                1
                for one in beginnings
                if one.partition == partition
                and one.first <= record.offset < one.end
                and one.time_ms <= finished[order.lease]
            )
            for url in order.urls:
                most[f"{url.scheme}://{order.server}{url.path}"] += again
    wrong = {
        url: f"{times} requests, of which results tell of {asked[url]}; {most[url]} more may have been"
        for url, times in requested.items()
        if not asked[url] <= times <= asked[url] + most[url]
    }
    assert not wrong, f"only orders that were delivered again repeat requests: {wrong}"
    return sum(requested[url] - times for url, times in asked.items() if url in requested)


def _beginnings(logs: Path) -> Iterator[Beginning]:
    for path in logs.glob("fetcher-*.log"):
        for moment, *numbers in _BEGINS.findall(path.read_text(errors="replace")):
            at = datetime.strptime(moment, "%Y-%m-%d %H:%M:%S,%f")
            yield Beginning(at.timestamp() * 1000, *map(int, numbers))


def _results(log: LogReader) -> tuple[Counter[str], dict[str, int]]:
    """URL to how often results tell of a request for it; lease to when its order was done."""
    asked: Counter[str] = Counter()
    finished: dict[str, int] = defaultdict(int)
    for partition in log.ends("fetched"):
        for record in log.read("fetched", partition, 0):
            one = decode_fetched(record.value)
            finished[one.lease] = one.finished_ms
            if one.kind == "pages":
                asked.update(
                    f"{result.scheme}://{one.server}{result.path}" for result in one.results if result.started_ms
                )
    return asked, finished
