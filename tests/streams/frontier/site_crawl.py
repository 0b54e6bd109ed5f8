"""Several partitions of the frontier, ``discovered`` and ``sites-found`` as lists: each reads, commits, aborts, dies and moves alone."""

from collections import deque
from typing import Any

from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Output, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRow, SiteRows, decode_discovery
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder
from schemas.sites_found import FoundSite, SitesFound, decode_site_note
from schemas.verdicts import Verdict, decode_verdict
from streams.frontier.dispatch.dispatch import Quota
from tests.streams.frontier.rig import T0, Rig, configure

PARTITIONS = 4


class Member:
    """One partition, and how far it has read."""

    def __init__(self, crawl: "SiteCrawl", partition: int) -> None:
        self._crawl = crawl
        self.partition = partition
        self.rig = Rig(crawl.config, partition)
        self.position = self._committed = 0
        self._outputs: list[Output] = []
        self.orders: list[FetchOrder] = []
        """That were committed."""
        self._made: list[FetchOrder] = []

    @property
    def counters(self) -> dict[str, int]:
        return self.rig.counters

    def read(self, count: int = 1_000_000) -> int:
        """The next records; gives how many there were."""
        records = self._crawl.discovered[self.partition][self.position : self.position + count]
        received = [Received(record, decode_discovery(record.value)) for record in records]
        if received:
            self.rig.frontier.take_in(received, self._crawl.now)
        self._outputs += self.rig.frontier.forwarded()
        self.position += len(records)
        return len(records)

    def tick(self) -> int:
        """Gives how many URLs have moved."""
        quota = Quota(1 << 62)
        self._made += self.rig.frontier.dispatch(self._crawl.now, quota)
        self._outputs += self.rig.frontier.forwarded()
        return quota.moved

    def confirm(self, fetched: Fetched) -> None:
        self.rig.frontier.confirm(fetched, self._crawl.now)

    def commit(self) -> None:
        self._outputs += [*self.rig.frontier.verdicts(), *self.rig.frontier.told()]
        self.rig.commit()
        self._crawl.append(self._outputs)
        self._outputs = []
        self._committed = self.position
        self.orders += self._made
        self._made = []

    def abort(self) -> None:
        self.rig.abort()
        self._forget()

    def restart(self) -> None:
        self.rig.resume()
        self._forget()

    def move(self, *, truncated: bool = True) -> None:
        if truncated:
            self.rig.truncate()
        self.rig.move(3)
        self._forget()

    def _forget(self) -> None:
        self._outputs = []
        self._made = []
        self.position = self._committed

    def missing(self) -> int:
        """What is discovered and not accounted for."""
        counts = self.counters
        refused = sum(count for name, count in counts.items() if name.startswith("refused_"))
        kinds = ("admitted", "duplicates", "forwarded", "waiting")
        return counts.get("discovered", 0) - refused - sum(counts.get(kind, 0) for kind in kinds)


class SiteCrawl:
    """Use as a context. The coordinator is the test, or what it brings along."""

    def __init__(self, **sections: dict[str, Any]) -> None:
        given = {"partitions": PARTITIONS, "placement": "sites", **sections.pop("partitions", {})}
        self.config = configure(partitions=given, **sections)
        partitions = self.config.partitions.partitions
        self.placement = HashPlacement(4096, partitions, self.config.partitions.partition_by)
        self.now = T0
        self.discovered: list[list[Record]] = [[] for _ in range(partitions)]
        self.sites_found: list[Record] = []
        self.verdicts: list[Verdict] = []
        self.members = [Member(self, partition) for partition in range(partitions)]

    def __enter__(self) -> "SiteCrawl":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for member in self.members:
            member.rig.close()

    def append(self, outputs: list[Output]) -> None:
        for one in outputs:
            log = self.discovered[one.partition] if one.topic == "discovered" else self.sites_found
            if one.topic == "verdicts":
                self.verdicts.append(decode_verdict(one.value))
            else:
                log.append(Record(one.topic, one.partition, len(log), one.key, one.value, one.header, self.now))

    def home(self, site: str) -> int:
        return self.placement.partition(site)

    def send(self, found: Discovered, partition: int | None = None) -> None:
        """By an extractor; None: it knows no slot."""
        place = self.home(found.server) if partition is None else partition
        self.append([Output("discovered", place, found.server.encode(), encode(found))])

    def give(self, partition: int, *rows: SiteRow) -> None:
        """Rows, as a coordinator writes them, or somebody who pretends."""
        self.append([Output("discovered", partition, b"sites", encode(SiteRows(sites=rows)))])

    def place(self, site: str, slot: int, **facts: Any) -> None:
        """In one commit of the coordinator."""
        row = SiteRow(site=site, slot=slot, **facts)
        for partition in dict.fromkeys((slot, self.home(site))):
            self.give(partition, row)

    def told(self) -> list[FoundSite]:
        """All that the coordinator was ever told."""
        notes = [decode_site_note(record.value) for record in self.sites_found]
        return [site for note in notes if isinstance(note, SitesFound) for site in note.sites]

    def settle(self) -> None:
        """Until nobody has anything to do."""
        quiet = deque(self.members)
        while quiet:
            member = quiet.popleft()
            if member.read() + member.tick():
                quiet = deque(self.members)
            member.commit()

    def total(self, name: str) -> int:
        return sum(member.counters.get(name, 0) for member in self.members)
