"""Where sites are placed: each has one slot, which alone admits its URLs, and links that wait for one are all accounted for."""

from collections.abc import Callable, Iterable, Iterator

from gregor.config import Config
from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.entries import (
    ASKED,
    HASH,
    PARTITION,
    ROW,
    ROW_PLACE,
    SITES,
    TABLE_AFTER,
    TABLE_BEFORE,
    TOLD,
    WORKED,
    RowEntry,
    hashed,
    pack,
    site_row,
)
from gregor.inspect.audit.finding import Check, Finding
from gregor.inspect.audit.gather import TopicTotals
from gregor.operate.site_table import SiteTable
from gregor.run.placement import placement_of
from gregor.run.topology import FRONTIER
from gregor.runtime.state.external_sort import Entry, ExternalSort
from gregor.runtime.transport.port import LogReader
from schemas.codec import Undecodable
from schemas.sites_found import SitesFound, decode_site_note
from streams.frontier.inspect import PartitionView


class SiteChecks:
    """``read`` comes before ``discovered`` is read, ``check`` after everything is."""

    def __init__(self, log: LogReader, cut: Cut, config: Config, sorter: ExternalSort) -> None:
        self._log = log
        self._cut = cut
        self._sorter = sorter
        self._placement = placement_of(config)
        self._once = Check("sites-once", "every site has one slot, by one grant, as topic sites says")
        self._inside = Check("sites-in-slot", "no URL was admitted outside the slot of its site")
        self._links = Check(
            "links-waiting", "links that wait for their sites, or were forwarded, are all accounted for"
        )
        self._whole = cut.whole("discovered")
        if not self._whole:
            self._once.note = self._inside.note = self._links.note = "discovered was trimmed"

    def read(self) -> None:
        self._read_table(TABLE_BEFORE)
        for partition in range(self._cut.partitions):
            state = self._log.state(FRONTIER.spec, partition)
            if state is None:
                continue
            view = PartitionView(state)
            at = PARTITION.pack(partition)
            for server in view.servers_with_urls():
                self._put(self._placement.site(server), WORKED + at, server)
            for site in view.owned_sites():
                self._put(site, WORKED + at, site)
            for site in view.asked_sites():
                self._put(site, ASKED + at, site)

    def check(self, totals: TopicTotals) -> Iterator[Finding]:
        self._read_told()
        self._read_table(TABLE_AFTER)
        for _, entries in self._sorter.groups(SITES, HASH):
            self._judge(entries)
        self._check_forwarded(totals.forwarded)
        yield self._once.finding()
        yield self._inside.finding()
        yield self._links.finding()

    def _read_table(self, kind: bytes) -> None:
        """A row and its grant are committed together: what the table said before ``discovered`` was read has its grant there."""
        room = self._sorter.room(f"sites-{kind.decode()}")
        room.mkdir()
        with SiteTable(self._log, room) as table:
            for row in table.rows():
                told = RowEntry(row.site, row.slot, row.state, row.version)
                self._sorter.put(SITES + hashed(row.site) + kind, pack(told))
            if kind == TABLE_AFTER and table.unreadable:
                self._once.note = f"{table.unreadable:,} records of sites are no rows"

    def _read_told(self) -> None:
        """What is left of ``sites-found``; only what the coordinator has passed is ever trimmed."""
        for partition, (first, end) in self._log.ends("sites-found").items():
            for record in self._log.read("sites-found", partition, first, end):
                try:
                    note = decode_site_note(record.value)
                except Undecodable:
                    continue
                if isinstance(note, SitesFound) or note.action == "add":
                    for one in note.sites:
                        self._put(one.site, TOLD, one.site)

    def _put(self, site: str, key: bytes, about: str) -> None:
        self._sorter.put(SITES + hashed(site) + key, pack(RowEntry(about, -1, "", 0)))

    def _judge(self, entries: Iterable[Entry]) -> None:
        owners = _Owners(self._placement.partition, self._cut.partitions)
        before: RowEntry | None = None
        after: RowEntry | None = None
        told = False
        worked: list[tuple[int, str]] = []
        asked: list[tuple[int, str]] = []
        for key, value in entries:
            kind, place, one = key[:1], key[1:], site_row(value)
            if kind == ROW:
                owners.take(ROW_PLACE.unpack(place)[0], one)
            elif kind == TABLE_BEFORE:
                before = one
            elif kind == TABLE_AFTER:
                after = one
            elif kind == TOLD:
                told = True
            else:
                (worked if kind == WORKED else asked).append((PARTITION.unpack(place)[0], one.site))
        self._check_owner(owners, before, after)
        for partition, server in worked:
            self._check_inside(owners, partition, server)
        for partition, site in asked:
            known = told or before is not None or after is not None
            self._links.require(
                known, f"{site} waits in partition {partition}, and the coordinator was never told of it"
            )

    def _check_owner(self, owners: "_Owners", before: RowEntry | None, after: RowEntry | None) -> None:
        found = sorted(owners.granted)
        self._once.require(len(found) < 2, f"{owners.site} was granted to partitions {found}")
        if before is not None and before.state == "placed":
            if not owners.seen and not self._whole:
                self._once.unknown += 1
                return
            self._once.require(
                found == [before.slot], f"{before.site} has slot {before.slot}, and grants for {found or 'none'}"
            )
            home = self._placement.partition(before.site)
            self._once.require(
                home in owners.seen, f"{before.site} has slot {before.slot}, and no pointer at its home {home}"
            )
        if found and after is None:
            self._once.fail(f"{owners.site} was granted to partition {found[0]}, and is not in topic sites")
        elif found and after is not None and (after.state not in ("placed", "blocked") or after.slot not in found):
            self._once.fail(
                f"{after.site} was granted to partition {found[0]}, and is {after.state} with slot {after.slot} in sites"
            )

    def _check_inside(self, owners: "_Owners", partition: int, server: str) -> None:
        if not owners.granted and not self._whole:
            self._inside.unknown += 1
            return
        where = f"the slot is {sorted(owners.granted)[0]}" if owners.granted else "its site has no slot"
        self._inside.require(partition in owners.granted, f"partition {partition} has URLs of {server}; {where}")

    def _check_forwarded(self, links: int) -> None:
        """What partitions counted as forwarded stands in ``discovered``, in the same transactions. Counters were read first."""
        if not self._whole:
            self._links.unknown += 1
            return
        counted = sum(self._cut.counters(partition).get("forwarded", 0) for partition in range(self._cut.partitions))
        if self._moved_on():
            self._links.require(links >= counted, f"links forwarded: expected {counted:,} or more, found {links:,}")
        else:
            self._links.equal(links, counted, "links forwarded")

    def _moved_on(self) -> bool:
        for partition in range(self._cut.partitions):
            last, then = self._log.last_checkpoint(FRONTIER.name, partition), self._cut.checkpoints.get(partition)
            if (last.sequence if last else 0) != (then.sequence if then else 0):
                return True
        return False


class _Owners:
    """Who takes a site for its own, by the rows that stand in ``discovered``: each partition for itself, as the frontier decides."""

    def __init__(self, home: Callable[[str], int], partitions: int) -> None:
        self._home = home
        self._partitions = partitions
        self._known: dict[int, RowEntry] = {}
        self.granted: set[int] = set()
        self.site = ""

    @property
    def seen(self) -> set[int]:
        """Partitions that were told of it."""
        return set(self._known)

    def take(self, partition: int, row: RowEntry) -> None:
        self.site = row.site
        known = self._known.get(partition)
        if known is not None and (known.slot not in (-1, row.slot) or row.version <= known.version):
            return
        here = row.slot == partition
        if not here and (self._home(row.site) != partition or row.slot >= self._partitions):
            return
        self._known[partition] = row
        if here and row.state == "placed":
            self.granted.add(partition)
