"""States beside a changelog that their owner goes on to cut while they are audited."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.finding import Finding
from gregor.inspect.audit.states import States
from gregor.runtime.state.changelog import Replica, StoreIdentity, known_of
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.packed import Mutation, pack_delta
from gregor.runtime.state.store import StateReader, Store
from gregor.runtime.transport.port import LogReader, Record, StageSpec
from schemas.changelog import Checkpoint
from streams.frontier.stage import SPEC
from streams.frontier.storage.deltas import STATE
from streams.frontier.storage.families import DOMAINS, FAMILIES, NUMBERS

IDENTITY = StoreIdentity(cluster="c", topic="t", crawl="crawl", partition=0)
KEYS = 40


class OnePartition:
    """A changelog as a list, its owner, and the state as it was when somebody looked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._memory = SharedMemory(StoreOptions())
        self._store = Store(folder / "owner", FAMILIES, self._memory)
        self._replica = Replica.open(self._store, STATE, IDENTITY)
        self._looked: Store | None = None
        self.records: list[Record] = []
        self.first = self.end = 0
        self._number = 0

    def commit(self, *keys: int) -> None:
        self._number += 1
        value = self._number.to_bytes(1000, "big")
        delta = pack_delta([(NUMBERS[DOMAINS], b"%d.test" % key, value) for key in keys])
        written = self._replica.prepare([Mutation(b"server", delta)], Checkpoint(sequence=0, positions={}))
        self.records += [
            Record("frontier-changelog", 0, self.end + number, key, value, None, 0)
            for number, (key, value) in enumerate(written)
        ]
        self.end += len(written) + 1
        self._replica.apply_live(written, self.end)
        before = self._replica.truncate_before()
        if before is not None:
            self.first = before
            self.records = [record for record in self.records if record.offset >= before]
            self._replica.truncated(before)

    def look(self) -> None:
        """The state of this moment is what an audit will see."""
        self._looked = Store(self._folder / "looked", FAMILIES, self._memory)
        copy = Replica.open(self._looked, STATE, IDENTITY)
        copy.standing(self.first, self.end)
        copy.replay([(record.offset, record.value) for record in self.records], self.end)
        assert copy.exact

    def audited(self, checkpoint: Checkpoint) -> Finding:
        cut = Cut(partitions=1, checkpoints={0: checkpoint}, fetcher={}, archiver={}, first={})
        with closing(ExternalSort(self._folder)) as sorter:
            found = list(States(cast(LogReader, self), cut, sorter).check())
        return next(one for one in found if one.name == "state-changelog")

    def state(self, stage: StageSpec, partition: int) -> StateReader:
        assert stage is SPEC
        assert self._looked is not None
        return self._looked.view()

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        return {0: (self.first, self.end)}

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        return iter(
            [record for record in self.records if start <= record.offset and (end is None or record.offset < end)]
        )

    def close(self) -> None:
        self._store.close()
        if self._looked is not None:
            self._looked.close()


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[OnePartition]:
    one = OnePartition(tmp_path)
    one.commit(*range(KEYS))
    while not one.first:
        one.commit(one.end % KEYS)
    # In the middle of the next cycle.
    for key in range(KEYS // 8):
        one.commit(key)
    one.look()
    yield one
    one.close()


def of(partition: OnePartition) -> Checkpoint:
    known = known_of(partition.state(SPEC, 0))
    assert known is not None
    assert known.checkpoint is not None
    return known.checkpoint


def test_a_state_equals_what_its_changelog_gives_also_while_its_owner_goes_on(partition: OnePartition) -> None:
    partition.commit(3)
    found = partition.audited(of(partition))
    assert (found.failed, found.unknown) == (0, 0)
    assert found.checked == KEYS


def test_a_state_is_not_compared_with_a_changelog_that_was_cut_since(partition: OnePartition) -> None:
    before = partition.first
    while partition.first == before:
        partition.commit(partition.end % KEYS)
    assert partition.first < partition.end
    found = partition.audited(of(partition))
    assert (found.failed, found.unknown, found.checked) == (0, 1, 0)
    assert "cut" in found.note
