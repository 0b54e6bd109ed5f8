"""The coordinator on a real store with its changelog and topics as lists: committed, aborted, restarted and restored at will."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gregor.config import Config
from gregor.config.sections import PartitionsSection
from gregor.config.sites import SitesSection
from gregor.runtime.loops.contract import Received
from gregor.runtime.loops.decode import decode_all
from gregor.runtime.state.changelog import Replica
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import Store
from gregor.runtime.transport.port import Assignment, Output, Position, Record
from schemas.changelog import Checkpoint
from schemas.codec import LARGEST_RECORD, Undecodable, encode
from schemas.discovered import Discovered, SiteRow, SiteRows, decode_discovery
from schemas.sites import Site, decode_site
from schemas.sites_found import FoundSite, SiteAction, SiteCommand, SiteSetting, SitesFound
from schemas.verdicts import Verdict, decode_verdict
from streams.coordinator.deltas import STATE
from streams.coordinator.families import FAMILIES, REGISTRY
from streams.coordinator.name_lookup import Answer
from streams.coordinator.stage import CoordinatorStage
from tests.streams.frontier.rig import IDENTITY, IN_MEMORY, SMALL, T0

PARTITIONS = 4


def configure(**settings: Any) -> Config:
    """Of sites; ``partition_by`` belongs to the layout."""
    by = settings.pop("partition_by", "server")
    layout = PartitionsSection(partitions=PARTITIONS, repositories=64, placement="sites", partition_by=by)
    return Config(partitions=layout, sites=SitesSection(**{"resolve": False, **settings}))


class Names:
    """Name servers whose answers come when a test wants them to."""

    def __init__(self) -> None:
        self.asked: dict[bytes, str] = {}
        self.servers: dict[str, tuple[str, ...]] = {}
        self._ready: list[Answer] = []
        self.most = 0

    def ask(self, token: bytes, site: str, servers: Sequence[str]) -> None:
        assert token not in self.asked, "one name is asked for twice at a time"
        self.asked[token] = site
        self.servers[site] = tuple(servers)
        self.most = max(self.most, len(self.asked))

    def answers(self) -> list[Answer]:
        ready, self._ready = self._ready, []
        return ready

    def answer(self, site: str, failure: str = "") -> None:
        for token in [token for token, asked in self.asked.items() if asked == site]:
            del self.asked[token]
            self._ready.append(Answer(token, site, failure))

    def close(self) -> None:
        self.asked, self._ready = {}, []


class Rig:
    """Use as a context; what is told is processed, ``commit`` or ``abort`` ends it."""

    def __init__(self, config: Config | None = None, names: Names | None = None) -> None:
        self.config = config or configure()
        self.names = names
        self.now = T0
        self._memory = SharedMemory(SMALL)
        self._folder = Path(tempfile.mkdtemp(prefix="gregor-sites-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
        self._stores = 0
        self._log: list[tuple[int, bytes]] = []
        self._log_start = self._log_end = 0
        self.inputs: list[bytes] = []
        self.position = self.committed = 0
        self.table: list[Record] = []
        """Topic `sites`."""
        self.discovered: dict[int, list[Discovered | SiteRows]] = {at: [] for at in range(PARTITIONS)}
        self.verdicts: list[Verdict] = []
        self.letters: list[Output] = []
        self._open()

    def __enter__(self) -> "Rig":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stage.close()
        self._store.close()
        shutil.rmtree(self._folder)

    def _open(self) -> None:
        self._store = Store(self._folder / str(self._stores), FAMILIES, self._memory)
        self.replica = Replica.open(self._store, STATE, IDENTITY)
        self._begin()

    def _begin(self) -> None:
        last = self.replica.checkpoint
        names = self.names
        self.stage = CoordinatorStage(
            self.config, lambda: tuple(self.table), None if names is None else lambda: names, lambda: self.now
        )
        self.position = self.committed
        self._letters: list[Output] = []
        self.stage.assigned(
            0,
            Assignment(
                positions={"sites-found": Position(self.committed)},
                ends={"sites-found": len(self.inputs)},
                state=self.replica.reader,
                counters=last.counters if last else {},
            ),
        )

    def tell(self, *notes: SitesFound | SiteCommand | bytes) -> None:
        """Into the topic; nothing is read."""
        self.inputs += [note if isinstance(note, bytes) else encode(note) for note in notes]

    def read(self, most: int = 1000) -> None:
        """One poll and one tick."""
        values = self.inputs[self.position : self.position + most]
        records = [
            Record("sites-found", 0, self.position + number, b"", value, None, self.now)
            for number, value in enumerate(values)
        ]
        received: Sequence[Received]
        received, letters = decode_all(records, self.stage.decoders, "coordinator", self.now)
        self._letters += letters
        if records:
            self.stage.process(received, self.now)
        self.position += len(records)
        self.stage.tick(self.now)

    def commit(self) -> None:
        outputs = [*self._letters, *self.stage.prepare()]
        mutations = self.stage.mutations().get(0, ())
        mark = Checkpoint(sequence=0, positions={"sites-found": self.position}, counters=dict(self.counters))
        records = self.replica.prepare(mutations, mark)
        assert max(len(key) + len(value) for key, value in records) <= LARGEST_RECORD
        self._log += [(self._log_end + number, value) for number, (_, value) in enumerate(records)]
        self._log_end += len(records) + 1
        self.replica.apply_live(records, self._log_end)
        self.committed = self.position
        for output in outputs:
            self._write(output)
        self._letters = []
        self.stage.committed()

    def _write(self, output: Output) -> None:
        assert len(output.value) <= LARGEST_RECORD
        if output.topic == "sites":
            self.table.append(Record("sites", 0, len(self.table), output.key, output.value, None, self.now))
        elif output.topic == "discovered":
            self.discovered[output.partition].append(decode_discovery(output.value))
        elif output.topic == "verdicts":
            self.verdicts.append(decode_verdict(output.value))
        else:
            self.letters.append(output)

    def do(self, *notes: SitesFound | SiteCommand | bytes) -> None:
        """Told, read and committed."""
        self.tell(*notes)
        self.read()
        self.commit()

    def step(self) -> None:
        """A tick and its commit."""
        self.read(0)
        self.commit()

    def abort(self) -> None:
        self.stage.prepare()
        self.stage.mutations()
        self.stage.dropped()
        self._letters = []
        self.position = self.committed

    def restart(self) -> None:
        """kill -9 and the same folder again: what was not committed is gone."""
        self.stage.close()
        self._store.close()
        self._open()

    def truncate(self) -> None:
        """Delete what the rolling snapshot has made superfluous."""
        before = self.replica.truncate_before()
        if before is not None:
            self._log = [(offset, value) for offset, value in self._log if offset >= before]
            self._log_start = before
            self.replica.truncated(before)

    def move(self) -> None:
        """Restore from the log into an empty folder, which must come out equal, and go on there."""
        live = {family: dict(self.replica.reader.scan(family)) for family in FAMILIES}
        self.stage.close()
        self._store.close()
        self._stores += 1
        self._store = Store(self._folder / str(self._stores), FAMILIES, self._memory)
        self.replica = Replica.open(self._store, STATE, IDENTITY)
        self.replica.standing(self._log_start, self._log_end)
        self.replica.replay(self._log, self._log_end)
        for family in FAMILIES:
            assert dict(self.replica.reader.scan(family)) == live[family], f"{family} differs after a restore"
        self._begin()

    @property
    def counters(self) -> dict[str, int]:
        return dict(self.stage.counters()[0])

    @property
    def rows(self) -> dict[str, Site]:
        """The registry, as committed."""
        return {key.decode(): decode_site(value) for key, value in self.replica.reader.scan(REGISTRY)}

    @property
    def latest(self) -> dict[str, Site]:
        """What readers of topic `sites` believe."""
        rows: dict[str, Site] = {}
        for record in self.table:
            with suppress(Undecodable):
                row = decode_site(record.value)
                rows[row.site] = row
        return rows

    def told_of(self, site: str, partition: int) -> list[SiteRow]:
        """Grants and pointers of a site in one partition, in order."""
        return [row for row in self._all_rows(partition) if row.site == site]

    def _all_rows(self, partition: int) -> Iterator[SiteRow]:
        for record in self.discovered[partition]:
            yield from record.sites if isinstance(record, SiteRows) else ()

    def roots(self, partition: int) -> list[Discovered]:
        return [record for record in self.discovered[partition] if isinstance(record, Discovered)]


def found(*sites: str, home: int = 0, load: int = 0, **facts: Any) -> SitesFound:
    told = tuple(
        FoundSite(site=site, **{"hops": 2, "found_on": "https://a.example/", "found_ms": T0, **facts}) for site in sites
    )
    return SitesFound(home=home, load=load, sites=told)


def command(
    action: SiteAction, *sites: str, slots: int = 0, by: str = "ada", detail: str = "", **settings: Any
) -> SiteCommand:
    asked = tuple(SiteSetting(site=site, **settings) for site in sites)
    return SiteCommand(action=action, sites=asked, slots=slots, by=by, detail=detail, at_ms=T0 + 1)
