"""The whole audit of a crawl, in the order that lets it run meanwhile."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gregor.audit.archived import Archived
from gregor.audit.finding import Finding
from gregor.audit.gather import Gatherer
from gregor.audit.moment import moment_of
from gregor.audit.orders import Orders
from gregor.audit.politeness import check_politeness
from gregor.audit.spill import Spill
from gregor.audit.states import States
from gregor.audit.sums import check_sums
from gregor.audit.urls import Urls
from gregor.config import Config
from gregor.transport.port import LogReader


class Places(Struct, frozen=True, kw_only=True):
    """Where to look, and where to work."""

    archive: Path | None = None
    """Folder of the WARC files; None: it is not on this machine."""
    spill: Path | None = None
    """Folder for what does not fit into memory; None: the system's for temporary files."""


def audit(log: LogReader, config: Config, partitions: int, places: Places, tolerance_ms: int) -> list[Finding]:
    """Every invariant, proved or refuted."""
    spill = Spill(places.spill)
    try:
        return list(_findings(log, config, partitions, places, tolerance_ms, spill))
    finally:
        spill.close()


def _findings(
    log: LogReader, config: Config, partitions: int, places: Places, tolerance_ms: int, spill: Spill
) -> Iterator[Finding]:
    moment = moment_of(log, partitions)
    states = States(log, moment, spill)
    of_states = list(states.check())
    archived = Archived(log, moment, places.archive, spill)
    archived.read()
    totals = Gatherer(log, moment, spill).gather()
    orders = Orders(moment, totals, config, spill)
    of_orders = list(orders.check(states.leased))
    yield from Urls(moment, spill, tolerance_ms).check()
    yield from of_orders
    yield check_politeness(spill, tolerance_ms)
    yield from archived.check()
    yield from of_states
    yield check_sums(moment, totals, orders)
