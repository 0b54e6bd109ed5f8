"""What is asked before a large crawl, with what is assumed where nothing is said."""

import math
from typing import Annotated

from msgspec import Meta, Struct

from gregor.errors import UsageError

MOST_MACHINES = 100_000

Positive = Annotated[float, Meta(gt=0)]


class Question(Struct, frozen=True, kw_only=True):
    """Of ``pages``, ``days`` and ``machines`` two are given, or one: then the crawl has one machine, or machines have one day."""

    pages: float | None = None
    days: float | None = None
    machines: int | None = None
    cores: int = 8
    memory_gb: float = 32.0
    disk_gb: float = 2000.0
    disk_mb_s: float = 200.0
    """What the disks of a machine write."""
    network_gbit: float = 10.0
    """Between the machines, of each."""
    bandwidth: float = 0.0
    """Mbit/s of the crawl's line to the Internet; 0: no limit."""
    page_kb: float = 140.0
    wire_kb: float = 0.0
    """Of a page on the wire; 0: as large as the page, as if nobody compressed."""
    extract_factor: float = 1.0
    """How many times as long as a page of the profile a real one takes the extractor."""
    servers: int = 0
    """0: not known."""
    delay: float = 1.0
    archive: bool = True
    replication: int = 0
    """0: three, or as many as there are machines."""
    retention_hours: float = 24.0
    known: float = 3.0
    """Known URLs for each page that is fetched."""
    load: float = 0.7
    """Share of the processors that is used: the rest is for bursts, restarts and the system."""
    partitions: int = 0
    """0: twice as many as the largest role has workers, at least 8."""
    workers: int = 0
    """Of the largest role; 0: as many as its share of the processors."""
    price: float = 0.0
    """Of a machine for an hour."""

    @property
    def wire(self) -> float:
        return self.wire_kb or self.page_kb


_POSITIVE = (
    "pages",
    "days",
    "machines",
    "cores",
    "memory_gb",
    "disk_gb",
    "disk_mb_s",
    "network_gbit",
    "page_kb",
    "known",
    "extract_factor",
    "load",
)
_NOT_NEGATIVE = (
    "bandwidth",
    "wire_kb",
    "servers",
    "delay",
    "replication",
    "retention_hours",
    "partitions",
    "workers",
    "price",
)


def require_sense(question: Question) -> None:
    """Raises UsageError with one line about the first thing that cannot be meant."""
    if question.pages is None and question.days is None and question.machines is None:
        raise UsageError(
            "expected --pages, --days or --machines, found none of them", remedy="say two of the three, or one"
        )
    for name in (*_POSITIVE, *_NOT_NEGATIVE):
        value = getattr(question, name)
        if value is None:
            continue
        least = "above 0" if name in _POSITIVE else "0 or more"
        if not math.isfinite(value) or value < 0 or (value == 0 and name in _POSITIVE):
            raise UsageError(f"--{name.replace('_', '-')}: expected a number {least}, found {value:g}")
    if question.load > 1:
        raise UsageError(f"--load: expected a share of at most 1, found {question.load:g}")
    if question.machines is not None and question.machines > MOST_MACHINES:
        raise UsageError(f"--machines: expected at most {MOST_MACHINES:,}, found {question.machines:,}")
    if question.partitions and question.partitions.bit_count() != 1:
        raise UsageError(f"--partitions: expected a power of two, found {question.partitions}")
    if question.pages is not None and question.days is not None and question.machines is not None:
        raise UsageError(
            "expected two of --pages, --days and --machines, found all three", remedy="leave one to the plan"
        )
    if question.machines is not None and question.replication > question.machines:
        raise UsageError(
            f"--replication: expected at most one copy a machine ({question.machines}), found {question.replication}"
        )
