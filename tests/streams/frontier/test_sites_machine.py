"""Coordinator, homes and slots against a dictionary of what was sent: records late, twice and out of order between partitions, aborts,
restarts, moves to empty folders from truncated logs, rows again and late, extractors with tables of any age.

What must be true: a site has one owner, the slot that the coordinator gave it. Every link is admitted there once, refused with a count,
or waits. What is sent to a home arrives at the slot in the same order.

Histories are drawn from a seed by weights: nearly every step does something, which Hypothesis's do not.
"""

from random import Random
from typing import Any

import pytest

from gregor.runtime.state import snapshot
from gregor.runtime.transport.port import Output
from gregor.url.canonical import Url
from schemas.codec import Undecodable
from schemas.discovered import decode_discovered
from schemas.fetched import Outcome
from streams.frontier.inspect import PartitionView
from streams.frontier.sites import sites
from tests.streams.frontier.rig import answer, links
from tests.streams.frontier.site_coordinator import SiteCoordinator
from tests.streams.frontier.site_crawl import PARTITIONS, Member, SiteCrawl

SERVERS = ("a.example", "b.example", "x.c.example", "y.c.example", "d.example:8080")
STEPS = 120
CONFIGS: tuple[dict[str, dict[str, Any]], ...] = (
    {},
    {"partitions": {"partition_by": "domain"}},
    {"partitions": {"partition_by": "domain"}, "sites": {"admit": "approved"}},
    {"sites": {"admit": "approved", "waiting_links": 3}, "revisit": {"mode": "fixed", "interval_hours": 1.0}},
)
OUTCOMES: tuple[Outcome, ...] = ("ok", "ok", "timeout", "cancelled")
LIVES = ("queued", "leased", "retrying", "confirmed", "failed", "dropped")


class History:
    """The real partitions, a coordinator, and what was sent."""

    def __init__(self, number: int, random: Random) -> None:
        self.random = random
        sections = {name: dict(keys) for name, keys in CONFIGS[number].items()}
        sections["sites"] = {"resolve": False, "root_page": False, **sections.get("sites", {})}
        self.crawl = SiteCrawl(**sections)
        self.coordinator = SiteCoordinator(self.crawl)
        self.by_domain = self.crawl.config.partitions.partition_by == "domain"
        self.exact = self.crawl.config.sites.waiting_links > 1000
        """Whether nothing is refused for want of room."""
        self.sent: dict[str, set[str]] = {}
        self.links = 0
        self.records = 0
        self.sent_home: dict[str, set[int]] = {}
        self.ever_blocked: set[str] = set()

    def site_of(self, server: str) -> str:
        if not self.by_domain:
            return server
        return "c.example" if ".c." in server else server.partition(":")[0]

    def step(self) -> None:
        acts = (self.extractor, self.partition, self.everybody, self.coordinate, self.somebody, self.row_again)
        self.random.choices(acts, (6, 10, 2, 3, 1, 1))[0]()
        self.check()

    def extractor(self) -> None:
        """Routes by no table, by the newest, or by one that is wrong; or it only tells of a site."""
        random = self.random
        server = random.choice(SERVERS)
        paths = [f"/{random.randrange(40)}" for _ in range(random.choice((0, 1, 2, 5)))]
        table = self.coordinator.slots.get(self.site_of(server))
        place = random.choice((None, None, table, table, table, random.randrange(PARTITIONS)))
        self.records += 1
        self.crawl.send(links(server, *paths, referrer_lease=str(self.records)), place)
        self.sent.setdefault(server, set()).update(paths)
        self.links += len(paths)
        if place is None or place == self.crawl.home(server):
            self.sent_home.setdefault(self.site_of(server), set()).add(self.records)

    def partition(self) -> None:
        """What one does becomes durable, or has never happened."""
        random = self.random
        member = random.choice(self.crawl.members)
        member.read(random.randrange(1, 8))
        if member.orders and random.random() < 0.5:
            member.confirm(answer(random.choice(member.orders[-4:]), random.choice(OUTCOMES)))
        if random.random() < 0.7:
            member.tick()
        self.crawl.now += random.choice((0, 1_000, 100_000, 4_000_000))
        endings = (member.commit, self.more_follows, member.abort, member.restart, member.move)
        random.choices(endings, (8, 3, 4, 1, 1))[0]()

    def more_follows(self) -> None:
        """Before the checkpoint."""

    def everybody(self) -> None:
        for member in self.crawl.members:
            member.read(6)
            member.tick()
            member.commit()

    def coordinate(self) -> None:
        coordinator = self.coordinator
        coordinator.work(self.random.randrange(1, 4))
        endings = (coordinator.commit, coordinator.abort, coordinator.restart, coordinator.move)
        self.random.choices(endings, (8, 2, 1, 1))[0]()

    def somebody(self) -> None:
        """Decides."""
        site = self.site_of(self.random.choice(SERVERS))
        blocks = self.random.random() < 0.4
        if blocks:
            self.ever_blocked.add(site)
        self.coordinator.decide("block" if blocks else "approve", site)

    def row_again(self) -> None:
        """Any row that ever came to a partition, with those that came with it."""
        member = self.random.choice(self.crawl.members)
        rows = [one for one in self.crawl.discovered[member.partition] if b'"type":"sites"' in (one.value or b"")]
        if rows:
            again = self.random.choice(rows)
            self.crawl.append([Output("discovered", member.partition, b"sites", again.value or b"")])

    def check(self) -> None:
        """Every link is accounted for, every site has one owner."""
        owners: dict[str, int] = {}
        for member in self.crawl.members:
            counts = member.counters
            assert member.missing() == 0
            assert counts.get("admitted", 0) + counts.get("recrawled", 0) == sum(counts.get(name, 0) for name in LIVES)
            assert 0 <= counts.get("waiting_held", 0) <= counts.get("waiting", 0)
            for site in {self.site_of(server) for server in SERVERS}:
                if member.rig.frontier.owns(site):
                    assert owners.setdefault(site, member.partition) == member.partition
                    assert self.coordinator.sites[site].slot == member.partition
        assert self.crawl.total("sites_owned") == len(owners)

    def end(self) -> None:
        """Everybody goes on until nothing is left to do; then every site is approved."""
        self._settle()
        for site, row in self.coordinator.sites.items():
            if row.state == "blocked":
                self._nothing_is_queued_of(site, row.slot)
            if row.state != "placed":
                self.coordinator.decide("approve", site)
        self._settle()
        self.check()
        total = self.crawl.total
        assert total("waiting") == total("waiting_held") == total("sites_asked") == 0
        assert total("discovered") - total("forwarded") == self.links
        assert not any(one.reason in ("misplaced", "placed-elsewhere") for one in self.crawl.verdicts)
        for server, paths in self.sent.items():
            self._every_link_is_known_at_the_slot_alone(server, paths)
        for site, numbers in self.sent_home.items():
            self._what_was_sent_home_is_in_order(site, numbers)
        for member in self.crawl.members:
            member.move()

    def _settle(self) -> None:
        for _ in range(20):
            self.crawl.settle()
            read = self.coordinator.work()
            self.coordinator.commit()
            if not read:
                return
        raise AssertionError("it does not come to rest")

    def _nothing_is_queued_of(self, site: str, slot: int) -> None:
        view = PartitionView(self.crawl.members[slot].rig.replica.reader)
        for server in SERVERS:
            assert self.site_of(server) != site or not view.standing(Url("http", server, "/")).queued

    def _every_link_is_known_at_the_slot_alone(self, server: str, paths: set[str]) -> None:
        site = self.site_of(server)
        slot = self.coordinator.sites[site].slot
        for member in self.crawl.members:
            known = {path for path in paths if _is_known(member, server, path)}
            if member.partition != slot:
                assert not known
            elif self.exact and site not in self.ever_blocked:
                assert known == paths

    def _what_was_sent_home_is_in_order(self, site: str, numbers: set[int]) -> None:
        slot = self.coordinator.sites[site].slot
        came = []
        for record in self.crawl.discovered[slot]:
            try:
                lease = decode_discovered(record.value).referrer_lease
            except Undecodable:
                continue
            if lease and int(lease) in numbers:
                came.append(int(lease))
        assert came == sorted(set(came))


def _is_known(member: Member, server: str, path: str) -> bool:
    return PartitionView(member.rig.replica.reader).standing(Url("http", server, path)).life != "unknown"


@pytest.mark.parametrize("number", range(len(CONFIGS)))
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_to_whom_a_site_has_one_owner_and_a_link_one_end(
    number: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that a hand-over takes several checkpoints, and a commit has several pieces of a snapshot.
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 60)
    monkeypatch.setattr(sites, "HANDED_RECORDS", 2)
    monkeypatch.setattr(sites, "REMEMBERED", 2)
    history = History(number, Random(seed * 100 + number))
    try:
        for _ in range(STEPS):
            history.step()
        history.end()
    finally:
        history.coordinator.close()
        history.crawl.close()
