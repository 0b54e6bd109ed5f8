"""The whole audit of a crawl, in the order that lets it run meanwhile."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gregor.config import Config
from gregor.inspect.audit.archived import Archived
from gregor.inspect.audit.cut import cut_of
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.gather import Gatherer
from gregor.inspect.audit.orders import Orders
from gregor.inspect.audit.politeness import check_politeness
from gregor.inspect.audit.sites import SiteChecks
from gregor.inspect.audit.states import States
from gregor.inspect.audit.sums import check_sums
from gregor.inspect.audit.urls import UrlChecks
from gregor.run.placement import placement_of
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.transport.port import LogReader


class Places(Struct, frozen=True, kw_only=True):
    """Where to look, and where to work."""

    archive: Path | None = None
    """Folder of the WARC files; None: it is not on this machine."""
    sort_folder: Path | None = None
    """Folder for what does not fit into memory; None: the system's for temporary files."""


def audit(log: LogReader, config: Config, partitions: int, places: Places, tolerance_ms: int) -> list[Finding]:
    """Every invariant, proved or refuted."""
    sorter = ExternalSort(places.sort_folder)
    try:
        return list(_findings(log, config, partitions, places, tolerance_ms, sorter))
    finally:
        sorter.close()


def _findings(
    log: LogReader, config: Config, partitions: int, places: Places, tolerance_ms: int, sorter: ExternalSort
) -> Iterator[Finding]:
    cut = cut_of(log, partitions)
    states = States(log, cut, sorter)
    of_states = list(states.check())
    archived = Archived(log, cut, places.archive, sorter)
    archived.read()
    sites = SiteChecks(log, cut, config, sorter) if config.partitions.placement == "sites" else None
    if sites is not None:
        sites.read()
    totals = Gatherer(log, cut, sorter, placement_of(config).site if sites is not None else None).gather()
    orders = Orders(cut, totals, config, sorter)
    of_orders = list(orders.check(states.leased))
    yield from UrlChecks(cut, sorter, tolerance_ms).check()
    yield from of_orders
    yield check_politeness(sorter, tolerance_ms)
    yield from archived.check()
    yield from of_states
    if sites is not None:
        yield from sites.check(totals)
    yield check_sums(cut, totals, orders)
