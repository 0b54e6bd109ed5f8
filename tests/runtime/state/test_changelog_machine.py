"""Any history of commits, aborts, truncations, restarts and restores leaves a store that equals a dictionary, byte for byte."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gregor.runtime.state import snapshot
from gregor.runtime.state.changelog import Replica, StoreStanding
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.packed import Mutation, Operation, pack_delta
from gregor.runtime.state.store import Store
from schemas.changelog import Checkpoint
from tests.runtime.state.stores import FAMILIES, IDENTITY, SMALL, SPEC, Dictionary, apply, contents

keys = st.sampled_from([bytes([97 + number, 98, 99][:length]) for number in range(12) for length in (1, 2, 3)])
edges = st.sampled_from([b"\x00", b"\xff", b"\xff\xff\xff"])
operations = st.tuples(st.sampled_from([0, 0, 0, 1, 2]), keys | edges, st.binary(min_size=1, max_size=9) | st.none())
deltas = st.lists(operations, min_size=1, max_size=4)
changes = st.lists(deltas, max_size=2)
IN_MEMORY = Path("/dev/shm")
"""A folder is opened hundreds of times, and each time RocksDB waits for the disk."""
FILL: list[list[Operation]] = [
    [(family, bytes([97 + number, 98]), b"what was there before") for number in range(12)] for family in range(3)
]


class Partition(RuleBasedStateMachine):
    """A partition with its log as a list; what is committed is also told to a dictionary."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gregor-state-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None))
        self.stores = 0
        self.memory = SharedMemory(SMALL)
        self.log: list[tuple[int, bytes]] = []
        self.log_start = self.log_end = 0
        self.model = Dictionary()
        self.commits = 0
        self._open(new_folder=True)
        self._restore(1)
        self.commit_all([FILL], 0)

    def _open(self, new_folder: bool) -> None:
        self.stores += new_folder
        self.store = Store(self.folder / str(self.stores), FAMILIES, self.memory)
        self.replica = Replica.open(self.store, SPEC, IDENTITY)

    def _prepared(self, deltas: list[bytes]) -> list[tuple[bytes, bytes]]:
        mutations = [Mutation(b"server", delta) for delta in deltas]
        return self.replica.prepare(mutations, Checkpoint(sequence=0, positions={"discovered": self.commits}))

    def _append(self, commit: list[list[Operation]], gap: int) -> list[tuple[bytes, bytes]]:
        """What a committed transaction leaves behind; ``gap``: offsets used by its markers."""
        deltas = [pack_delta(delta) for delta in commit]
        records = self._prepared(deltas)
        self.log += [(self.log_end + number, value) for number, (_, value) in enumerate(records)]
        self.log_end += len(records) + gap
        self.commits += 1
        apply(self.model, deltas, self.model)
        return records

    @rule(commits=st.lists(changes, min_size=1, max_size=6), gap=st.integers(0, 2))
    def commit_all(self, commits: list[list[list[Operation]]], gap: int) -> None:
        for commit in commits:
            records = self._append(commit, gap)
            self.replica.apply_live(records, self.log_end)

    @rule(commit=changes)
    def die_between_the_commit_and_the_batch(self, commit: list[list[Operation]]) -> None:
        self._append(commit, 1)
        self.restart()

    @rule(commit=changes)
    def abort(self, commit: list[list[Operation]]) -> None:
        self._prepared([pack_delta(delta) for delta in commit])
        self.log_end += 3

    @rule()
    def truncate(self) -> None:
        before = self.replica.truncate_before()
        if before is not None:
            assert self.log_start < before <= self.replica.applied
            self.log = [(offset, value) for offset, value in self.log if offset >= before]
            self.log_start = before
            self.replica.truncated(before)
            assert self.replica.truncate_before() is None

    @rule(
        commits=st.lists(st.lists(deltas, min_size=1, max_size=2), min_size=1, max_size=5),
        slice_length=st.integers(1, 7),
    )
    def finish_a_cycle_and_move(self, commits: list[list[list[Operation]]], slice_length: int) -> None:
        """Right after the truncation nothing but the one cycle is left to restore from."""
        self.truncate()
        bytes_of_state = sum(
            len(key) + len(value) for found in self.model.families.values() for key, value in found.items()
        )
        for number in range(2 * bytes_of_state):
            self.commit_all([commits[number % len(commits)]], 1)
            if self.replica.truncate_before() is not None:
                break
        else:
            raise AssertionError("the snapshot never came round")
        self.truncate()
        self.move_to_an_empty_folder(slice_length, None)

    def restart(self) -> None:
        checkpoint = self.replica.checkpoint
        self.store.close()
        self._open(new_folder=False)
        assert self.replica.checkpoint == checkpoint
        self._restore(1000)

    @rule()
    def keep_a_copy(self) -> None:
        """A folder as another machine may have kept it from long ago."""
        self.store.close()
        shutil.rmtree(self.folder / "old", ignore_errors=True)
        shutil.copytree(self.folder / str(self.stores), self.folder / "old")
        self._open(new_folder=False)
        self._restore(1000)

    @rule(slice_length=st.integers(1, 7))
    @precondition(lambda self: (self.folder / "old").exists())
    def move_to_the_copy(self, slice_length: int) -> None:
        self.store.close()
        self.stores += 1
        shutil.move(self.folder / "old", self.folder / str(self.stores))
        self._open(new_folder=False)
        self._restore(slice_length)

    @rule(slice_length=st.integers(1, 7), killed_after=st.none() | st.integers(0, 5))
    def move_to_an_empty_folder(self, slice_length: int, killed_after: int | None) -> None:
        checkpoint = self.replica.checkpoint
        self.store.close()
        self._open(new_folder=True)
        if killed_after is not None:
            self._restore(slice_length, killed_after)
            self.store.close()
            self._open(new_folder=False)
        self._restore(slice_length)
        assert self.replica.checkpoint == checkpoint

    def _restore(self, slice_length: int, slices: int | None = None) -> None:
        standing = self.replica.standing(self.log_start, self.log_end)
        if standing is StoreStanding.OUTRUN:
            self.store.close()
            self._open(new_folder=True)
            assert contents(self.replica.reader) == Dictionary().families
            assert self.replica.standing(self.log_start, self.log_end) is StoreStanding.NEW
        start = self.replica.applied if standing is StoreStanding.BEHIND else self.log_start
        wanted = [record for record in self.log if record[0] >= start]
        for number, at in enumerate(range(0, len(wanted) + 1, slice_length)):
            if number == slices:
                return
            part = wanted[at : at + slice_length]
            following = wanted[at + slice_length][0] if at + slice_length < len(wanted) else self.log_end
            self.replica.replay(part, following)
        assert self.replica.applied == self.log_end
        assert self.replica.exact

    @invariant()
    def state_equals_the_dictionary(self) -> None:
        assert contents(self.replica.reader) == self.model.families
        assert self.replica.sequence == self.commits

    def teardown(self) -> None:
        self.truncate()
        self.move_to_an_empty_folder(5, None)
        self.state_equals_the_dictionary()
        self.store.close()
        shutil.rmtree(self.folder)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a commit has several."""
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 40)


TestPartition = Partition.TestCase
TestPartition.settings = settings(
    max_examples=25, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
)
