"""How sites are doing, told from the checkpoints of the coordinator and of the frontier's partitions."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from gregor.run.topology import COORDINATOR, FRONTIER
from gregor.runtime.transport.port import LogReader


class SitesStatus(Struct, frozen=True, kw_only=True):
    """The sites of a crawl at one moment."""

    known: int
    found: int
    """Whose names are being resolved."""
    waiting: int
    """For somebody to approve them."""
    placed: int
    blocked: int
    unresolvable: int
    by_slot: list[int]
    """Partition of the frontier to the sites that it has, blocked ones among them."""
    asked: int
    """Sites that the coordinator was told of, and whose homes wait for its answer."""
    links_waiting: int
    """Links that wait for their sites to be placed."""
    links_held: int
    """Those of them whose sites wait for an approval or an address."""
    forwarded: int
    """Links that went from one partition to another."""
    coordinators: int | None
    """Processes; None: cannot be told."""

    @property
    def links_unanswered(self) -> int:
        """Links that wait for nothing but the coordinator, or for their turn to be handed over."""
        return self.links_waiting - self.links_held


def sites_status(
    reader: LogReader, counters: Mapping[str, int], partitions: int, coordinators: int | None
) -> SitesStatus:
    """``counters``: of all stages, added up."""

    def of(name: str) -> int:
        return counters.get(name, 0)

    return SitesStatus(
        known=of("sites_known"),
        found=of("sites_found"),
        waiting=of("sites_waiting"),
        placed=of("sites_placed"),
        blocked=of("sites_blocked"),
        unresolvable=of("sites_unresolvable"),
        by_slot=[_owned(reader, partition) for partition in range(partitions)],
        asked=of("sites_asked"),
        links_waiting=of("waiting"),
        links_held=of("waiting_held"),
        forwarded=of("forwarded"),
        coordinators=coordinators,
    )


def _owned(reader: LogReader, partition: int) -> int:
    checkpoint = reader.last_checkpoint(FRONTIER.name, partition)
    return checkpoint.counters.get("sites_owned", 0) if checkpoint is not None else 0


def sites_wait_for(sites: SitesStatus) -> Iterator[str]:
    """For people."""
    if sites.links_unanswered:
        nobody = f", of which no worker runs (`gregor worker {COORDINATOR.name}`)" if sites.coordinators == 0 else ""
        what = f"{sites.asked:,} new sites" if sites.asked else "sites that were just placed"
        yield f"{sites.links_unanswered:,} links of {what} for the coordinator's answer{nobody}"
    if sites.found:
        yield f"{sites.found:,} sites for the addresses of their names"
    if sites.waiting:
        yield f"{sites.waiting:,} sites to be approved (`gregor sites --state waiting`)"
    if sites.links_held:
        yield f"{sites.links_held:,} links for their sites to be approved or to have an address"
