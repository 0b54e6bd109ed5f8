"""A crawl of the simulated web by one real partition, every record of which is kept in lists: they can be read like any log."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import TracebackType

from msgspec.structs import replace

from gregor.config import Config
from gregor.runtime.state.store import StateReader
from gregor.runtime.transport.port import Position, Record, StageSpec, TopicPartition
from schemas.changelog import CHECKPOINT_KEY, Checkpoint, decode_checkpoint
from schemas.codec import encode
from schemas.discovered import Discovered, decode_discovered
from schemas.fetched import Fetched, decode_fetched
from schemas.schedule import FetchOrder
from tests.streams.frontier.rig import T0, Rig
from tests.streams.frontier.web import SimulatedWeb

CHANGELOG = "frontier-changelog"


class ListLog:
    """The reading half of the port; offsets have gaps, as those of a broker do."""

    def __init__(self) -> None:
        self.topics: defaultdict[str, list[Record]] = defaultdict(list)
        self.first: dict[str, int] = {}
        self.crawl: StateReader | None = None
        """The crawl's state, if it is at hand."""

    def copy(self) -> "ListLog":
        """One that can be damaged."""
        log = ListLog()
        log.topics.update({topic: list(records) for topic, records in self.topics.items()})
        return log

    def append(self, topic: str, value: bytes, time_ms: int, key: bytes = b"") -> None:
        records = self.topics[topic]
        offset = records[-1].offset + 1 + (len(records) % 5 == 4) if records else 0
        records.append(Record(topic, 0, offset, key, value, None, time_ms))

    def end(self, topic: str) -> int:
        return self.topics[topic][-1].offset + 1 if self.topics[topic] else 0

    def trim(self, topic: str, before: int) -> None:
        self.first[topic] = before
        self.topics[topic] = [record for record in self.topics[topic] if record.offset >= before]

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        return (one for one in self.topics[topic] if start <= one.offset and (end is None or one.offset < end))

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        return {0: (self.first.get(topic, 0), max(self.first.get(topic, 0), self.end(topic)))}

    def since(self, topic: str, time_ms: int) -> Mapping[int, int]:
        return {0: next((one.offset for one in self.topics[topic] if one.time_ms >= time_ms), self.end(topic))}

    def committed(self, stage: str, topics: Sequence[str]) -> Mapping[TopicPartition, Position]:
        return {}

    def last_checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        found = [one.value for one in self.topics[CHANGELOG] if one.key == CHECKPOINT_KEY]
        return decode_checkpoint(found[-1] or b"") if found else None

    def state(self, stage: StageSpec, partition: int) -> StateReader | None:
        return self.crawl

    def close(self) -> None:
        """Nothing is open."""


class RecordedCrawl:
    """Runs by itself; aborts, restarts, lost and late results come by chance."""

    def __init__(self, config: Config, web: SimulatedWeb, random: Random, trouble: float) -> None:
        self.log = ListLog()
        self.rig = Rig(config)
        self._config = config
        self._web = web
        self._random = random
        self._trouble = trouble
        self._now = T0
        self._passed = {"discovered": 0, "fetched": 0}
        self._moved = dict(self._passed)
        self._released: list[FetchOrder] = []
        self._late: list[Fetched] = []

    def __enter__(self) -> "RecordedCrawl":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rig.close()

    @property
    def folder_like(self) -> ListLog:
        """The same crawl as a folder has it: no changelog, no orders, but its state."""
        log = ListLog()
        log.topics.update({topic: self.log.topics[topic] for topic in ("discovered", "fetched")})
        log.crawl = self.rig.replica.reader
        last = self.log.last_checkpoint("frontier", 0)
        assert last is not None
        log.last_checkpoint = lambda stage, partition: last  # type: ignore[method-assign]
        return log

    def run(self, steps: int) -> None:
        seed = Discovered(server="s0.example", paths=("/",), scheme="http", kind="seed")
        self.log.append("discovered", encode(seed), self._now)
        for _ in range(steps):
            self._take_in()
            if self._random.random() < self._trouble:
                self._fail()
                continue
            self._release()
            self._commit()
            if not self._go_on():
                return

    def _take_in(self) -> None:
        """What stands behind the positions, some of it; nothing is passed before the commit."""
        self._moved = dict(self._passed)
        frontier = self.rig.frontier
        for topic in ("fetched", "discovered"):
            left = [one for one in self.log.topics[topic] if one.offset >= self._passed[topic]]
            taken = left[: self._random.randint(1, 60)]
            if topic == "fetched":
                for one in taken:
                    frontier.confirm(decode_fetched(one.value), self._now)
            elif taken:
                frontier.discover([decode_discovered(one.value) for one in taken], self._now)
            if taken:
                self._moved[topic] = taken[-1].offset + 1

    def _release(self) -> None:
        self._released = self.rig.frontier.dispatch(self._now)

    def _fail(self) -> None:
        if self._random.random() < 0.5:
            self.rig.abort()
        else:
            self.rig.resume()

    def _commit(self) -> None:
        replica, frontier = self.rig.replica, self.rig.frontier
        for order in self._released:
            self.log.append("schedule", encode(order), self._now)
        mark = Checkpoint(
            sequence=0,
            positions=dict(self._moved),
            now_ms=self._now,
            config_version=self._config.config_version,
        )
        mutations = frontier.mutations()
        records = replica.prepare(mutations, replace(mark, counters=dict(frontier.counters)))
        for key, value in records:
            self.log.append(CHANGELOG, value, self._now, key)
        replica.apply_live(records, self.log.end(CHANGELOG))
        frontier.committed()
        self._passed = self._moved
        for order in self._released:
            self._web.carry_out(order, self._now)

    def _go_on(self) -> bool:
        """To the next moment at which something happens; False: nothing ever will."""
        behind = any(self.log.end(topic) > at for topic, at in self._passed.items())
        moments = [due for due in (self.rig.frontier.next_due_ms(), self._web.next_ms()) if due is not None]
        if not behind:
            if not moments:
                return False
            self._now = max(self._now, min(moments))
        self._now += self._random.randint(1, 400)
        for fetched, found in self._web.finished(self._now):
            if self._random.random() < self._trouble / 4:
                # Its order expires; the answer comes when nobody waits for it any more, or never.
                if self._random.random() < 0.5:
                    self._late.append(fetched)
                continue
            self._write(fetched, found)
        if self._late and self._random.random() < 0.05:
            self._write(self._late.pop(0), [])
        return True

    def _write(self, fetched: Fetched, found: Sequence[Discovered]) -> None:
        self.log.append("fetched", encode(fetched), self._now)
        for one in found:
            self.log.append("discovered", encode(one), self._now)
