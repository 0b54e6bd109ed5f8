"""The coordinator in its loop, on an engine: what is committed, taken over and put right. Each engine inherits it."""

from collections.abc import Callable
from pathlib import Path

from gregor.config import Config
from gregor.run.progress import look
from gregor.runtime.loops.running import Loop
from gregor.runtime.role import Scratch
from gregor.runtime.transport.port import Output, Transport
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.discovered import Discovered, SiteRows, decode_discovery
from schemas.sites_found import SiteCommand, SitesFound
from streams.coordinator.inspect import SiteFilter, StateSites, TopicSites
from streams.coordinator.role import make
from streams.coordinator.stage import SPEC
from tests.streams.coordinator.rig import PARTITIONS, command, found

SITES = tuple(f"www{number}.example.org" for number in range(100))


class CoordinatorOnAnEngine:
    """``transport`` and ``config`` are fixtures."""

    def loop(self, transport: Transport, config: Config, tmp_path: Path) -> Loop:
        scratch = Scratch(tmp_path / "scratch", home=tmp_path, lasting=False)
        placement = HashPlacement(config.partitions.repositories, config.partitions.partitions)
        return make(config, placement, transport.open(SPEC), scratch)

    def tell(self, transport: Transport, *notes: SitesFound | SiteCommand) -> None:
        transport.append([Output("sites-found", 0, b"test", encode(note)) for note in notes])

    def run(self, loop: Loop, condition: Callable[[], bool], steps: int = 3000) -> None:
        for _ in range(steps):
            loop.step(0.02)
            if condition():
                return
        raise AssertionError("it did not come to that")

    def passed(self, transport: Transport, config: Config) -> Callable[[], bool]:
        return lambda: look(transport, [SPEC], config.partitions.partitions).lag[SPEC.name] == 0

    def test_rows_grants_pointers_and_roots_stand_in_their_topics(
        self, transport: Transport, config: Config, tmp_path: Path
    ) -> None:
        self.tell(transport, found(*SITES), command("block", SITES[0]))
        loop = self.loop(transport, config, tmp_path)
        self.run(loop, self.passed(transport, config))
        table = TopicSites(transport)
        rows = {row.site: row for row in table.rows()}
        assert sorted(rows) == sorted(SITES)
        assert [rows[site].slot for site in SITES] == [rank % PARTITIONS for rank in range(len(SITES))]
        assert table.counts()["placed", 1] == len(SITES) // PARTITIONS
        assert [row.site for row in table.rows(SiteFilter(state="blocked"))] == [SITES[0]]
        granted, roots = set(), set()
        for partition in range(PARTITIONS):
            for record in transport.read("discovered", partition, 0):
                match decode_discovery(record.value):
                    case SiteRows() as told:
                        granted |= {(row.site, partition) for row in told.sites if row.slot == partition}
                    case Discovered() as root:
                        roots.add((root.server, partition))
        assert granted == roots == {(site, row.slot) for site, row in rows.items()}
        counters = look(transport, [SPEC], config.partitions.partitions).counters
        assert (counters["sites_known"], counters["sites_placed"], counters["commands"]) == (100, 99, 1)
        loop.stop()
        loop.run()

    def test_another_member_goes_on_with_the_same_registry(
        self, transport: Transport, config: Config, tmp_path: Path
    ) -> None:
        self.tell(transport, found(*SITES[:50]))
        first = self.loop(transport, config, tmp_path)
        self.run(first, self.passed(transport, config))
        first.stop()
        first.run()
        self.tell(transport, found(*SITES, home=1))
        second = self.loop(transport, config, tmp_path)
        self.run(second, self.passed(transport, config))
        second.stop()
        second.run()
        rows = {row.site: row for row in TopicSites(transport).rows()}
        assert [rows[site].rank for site in SITES] == list(range(len(SITES)))
        state = transport.state(SPEC, 0)
        assert state is not None
        assert {row.site: row for row in StateSites(state).rows()} == rows

    def test_a_table_that_was_damaged_is_put_right_at_the_next_start(
        self, transport: Transport, config: Config, tmp_path: Path
    ) -> None:
        self.tell(transport, found(*SITES))
        first = self.loop(transport, config, tmp_path)
        self.run(first, self.passed(transport, config))
        first.stop()
        first.run()
        right = {row.site: row for row in TopicSites(transport).rows()}
        forged = b'{"site":"%s","slot":3,"version":9}'
        transport.append(
            [
                Output("sites", 0, SITES[0].encode(), forged % SITES[0].encode()),
                Output("sites", 0, b"stranger.example", forged % b"stranger.example"),
                Output("sites", 0, b"x", b"no JSON"),
            ]
        )
        assert {row.site: row for row in TopicSites(transport).rows()} != right
        second = self.loop(transport, config, tmp_path)
        self.run(second, lambda: {row.site: row for row in TopicSites(transport).rows()} == right)
        second.stop()
        second.run()
        assert look(transport, [SPEC], config.partitions.partitions).counters["sites_rewritten"] == 2
