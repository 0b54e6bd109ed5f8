"""Any history of commits, aborts, truncations and restores leaves a store that equals a dictionary, byte for byte."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gregor.state import snapshot
from gregor.state.options import SharedMemory
from gregor.state.overlay import Overlay
from gregor.state.packed import Mutation
from gregor.state.replay import Replica, Standing
from gregor.state.store import Store
from schemas.changelog import Checkpoint
from tests.state.stores import FAMILIES, IDENTITY, SMALL, SPEC, contents

keys = st.binary(min_size=1, max_size=3) | st.sampled_from([b"\x00", b"\xff", b"\xff\xff\xff", b"a", b"ab"])
values = st.binary(max_size=40)
changes = st.lists(
    st.tuples(st.sampled_from([b"one", b"two"]), st.sampled_from(FAMILIES), keys, values | st.none()), max_size=12
)


class Partition(RuleBasedStateMachine):
    """A partition with its log as a list; every commit that went through is also told to a dictionary."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gregor-state-"))
        self.stores = 0
        self.memory = SharedMemory(SMALL)
        self.log: list[tuple[int, bytes]] = []
        self.log_start = self.log_end = 0
        self.model: dict[str, dict[bytes, bytes]] = {family: {} for family in FAMILIES}
        self.commits = 0
        self._open(new_folder=True)

    def _open(self, new_folder: bool) -> None:
        self.stores += new_folder
        self.store = Store(self.folder / str(self.stores), FAMILIES, self.memory)
        self.replica = Replica.open(self.store, SPEC, IDENTITY)

    def _prepared(self, changes: list[tuple[bytes, str, bytes, bytes | None]]) -> list[tuple[bytes, bytes]]:
        overlay = Overlay(self.replica.reader, FAMILIES)
        for server, family, key, value in changes:
            if value is None:
                overlay.delete(server, family, key)
            else:
                overlay.put(server, family, key, value)
        for family in FAMILIES:
            for key in {key for _, touched, key, _ in changes if touched == family}:
                last = [value for _, touched, changed, value in changes if (touched, changed) == (family, key)][-1]
                assert overlay.get(family, key) == last
        mutations = overlay.mutations()
        assert all(isinstance(mutation, Mutation) for mutation in mutations)
        return self.replica.prepare(mutations, Checkpoint(sequence=0, positions={"discovered": self.commits}))

    @rule(changes=changes, gap=st.integers(0, 2), applied=st.booleans())
    def commit(self, changes: list[tuple[bytes, str, bytes, bytes | None]], gap: int, applied: bool) -> None:
        """``gap``: offsets used by transaction markers. Not ``applied``: the process dies after the transaction's commit."""
        records = self._prepared(changes)
        for number, (_, value) in enumerate(records):
            self.log.append((self.log_end + number, value))
        after = self.log_end + len(records)
        self.log_end = after + gap
        self.commits += 1
        for _, family, key, value in changes:
            if value is None:
                self.model[family].pop(key, None)
            else:
                self.model[family][key] = value
        if applied:
            self.replica.apply_live(records, self.log_end)
        else:
            self._reopen()
            self._restore(1000)

    @rule(changes=changes)
    def abort(self, changes: list[tuple[bytes, str, bytes, bytes | None]]) -> None:
        self._prepared(changes)
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

    def _reopen(self) -> None:
        self.store.close()
        self._open(new_folder=False)

    @rule()
    def restart(self) -> None:
        cursor, cycle = self.replica.cursor, self.replica.cycle_start
        self._reopen()
        assert (self.replica.cursor, self.replica.cycle_start) == (cursor, cycle)
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
        self.store.close()
        self._open(new_folder=True)
        if killed_after is not None:
            self._restore(slice_length, killed_after)
            self._reopen()
        self._restore(slice_length)

    def _restore(self, slice_length: int, slices: int | None = None) -> None:
        standing = self.replica.standing(self.log_start, self.log_end)
        if standing is Standing.OUTRUN:
            self.replica.wipe()
            assert all(not dict(self.replica.reader.scan(family)) for family in FAMILIES)
        start = self.replica.applied if standing is Standing.BEHIND else self.log_start
        wanted = [record for record in self.log if record[0] >= start]
        for number, at in enumerate(range(0, len(wanted) + 1, slice_length)):
            if number == slices:
                return
            part = wanted[at : at + slice_length]
            following = wanted[at + slice_length][0] if at + slice_length < len(wanted) else self.log_end
            self.replica.replay(part, following)
        assert self.replica.applied == self.log_end

    @invariant()
    def state_equals_the_dictionary(self) -> None:
        assert contents(self.replica.reader) == self.model
        assert self.replica.sequence == self.commits

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "PIECE_BYTES", 60)


TestPartition = Partition.TestCase
TestPartition.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
