"""The frontier's state: it holds what its counters say, and what the changelog alone would give."""

from collections.abc import Iterator
from itertools import zip_longest

from gregor.errors import GregorError
from gregor.inspect.audit.cut import Cut
from gregor.inspect.audit.finding import Check, Finding
from gregor.run.topology import FRONTIER
from gregor.runtime.state.changelog import Replica, StoreMetadata, known_of
from gregor.runtime.state.external_sort import ExternalSort
from gregor.runtime.state.options import SharedMemory, StoreOptions
from gregor.runtime.state.store import StateReader, Store
from gregor.runtime.transport.port import LogReader
from schemas.changelog import Checkpoint
from streams.frontier.inspect import PartitionView

COUNTED = (
    "queued",
    "leased",
    "retrying",
    "revisiting",
    "waiting",
    "waiting_held",
    "sites_owned",
    "sites_asked",
)
"""The last four are none where nobody places sites."""
_SLICE = 1_000
_LOOKS = 20
_MEMORY = StoreOptions(block_cache_bytes=16 * 1024 * 1024, write_buffer_bytes=16 * 1024 * 1024)


class States:
    """Those of the partitions whose state is on this machine."""

    def __init__(self, log: LogReader, cut: Cut, sorter: ExternalSort) -> None:
        self._log = log
        self._cut = cut
        self._sorter = sorter
        self._counts = Check("state-counts", "the state holds as many URLs and sites as its counters say")
        self._replica = Check("state-changelog", "the state equals what its changelog gives")
        self.leased: dict[int, int] = {}
        """Orders that are out, of the partitions whose state is as new as the cut's checkpoint."""

    def check(self) -> Iterator[Finding]:
        spec = FRONTIER.spec
        held = 0
        moved_on: list[int] = []
        for partition in range(self._cut.partitions):
            state = self._log.state(spec, partition)
            checkpoint = self._cut.checkpoints.get(partition)
            if state is None or checkpoint is None:
                continue
            known = known_of(state)
            held += 1
            if known is None:
                # One database holds log and state: they cannot be of different moments, and there is no changelog.
                self._count(partition, state, checkpoint, now=True)
            elif known.checkpoint is not None:
                self._count(partition, state, known.checkpoint, known.checkpoint.sequence == checkpoint.sequence)
                if not self._compare(partition, state, known, known.checkpoint.restorable_from):
                    self._replica.unknown += 1
                    moved_on.append(partition)
        if not held:
            self._counts.note = self._replica.note = (
                "no state is on this machine; name a frontier's folder with --state"
            )
        elif moved_on:
            self._replica.note = (
                f"the changelog of partitions {moved_on} has been cut since; their states here are older"
            )
        elif not self._replica.checked and not self._replica.failed:
            self._replica.note = "log and state are one database here, so that there is no changelog"
        yield self._counts.finding()
        yield self._replica.finding()

    def _count(self, partition: int, state: StateReader, checkpoint: Checkpoint, now: bool) -> None:
        held = PartitionView(state).counts()
        for name in COUNTED:
            what = name.replace("_", " ") if name.startswith("sites") else f"URLs {name.replace('_', ' and ')}"
            self._counts.equal(getattr(held, name), checkpoint.counters.get(name, 0), f"partition {partition}, {what}")
        if now:
            self.leased[partition] = held.orders

    def _compare(self, partition: int, state: StateReader, known: StoreMetadata, restorable_from: int) -> bool:
        """Replay the changelog up to where the state is, and walk through both. False: too little of the changelog is left, because its
        owner has gone on and cut it, perhaps while it was read. It gives a state exactly if a whole cycle of the snapshot is there."""
        spec = FRONTIER.spec
        assert spec.state is not None
        store = Store(self._sorter.room(f"replay-{partition}"), spec.state.families, SharedMemory(_MEMORY))
        try:
            if not self._reaches(spec.changelog, partition, known.applied):
                self._replica.fail(f"partition {partition}: it is at offset {known.applied}, ahead of its changelog")
                return True
            replica = Replica.open(store, spec.state, known.identity)
            self._replay(replica, spec.changelog, partition, known.applied)
            if max(0, restorable_from) < self._begin(partition):
                return False
            for family in spec.state.families:
                self._walk(partition, family, state, replica.reader)
        except GregorError as error:
            self._replica.fail(f"partition {partition}: its changelog cannot be replayed: {error}")
        finally:
            store.close()
        return True

    def _reaches(self, topic: str, partition: int, offset: int) -> bool:
        """Whether the changelog can be read that far. A commit returns, and the state has it, before the broker has marked it in the
        topic; each look waits half a second for such marks."""
        return any(self._log.ends(topic)[partition][1] >= offset for _ in range(_LOOKS))

    def _begin(self, partition: int) -> int:
        return self._log.ends(FRONTIER.spec.changelog)[partition][0]

    def _replay(self, replica: Replica, topic: str, partition: int, end: int) -> None:
        first = self._begin(partition)
        slice_: list[tuple[int, bytes | None]] = []
        for record in self._log.read(topic, partition, first, end):
            slice_.append((record.offset, record.value))
            if len(slice_) >= _SLICE:
                replica.replay(slice_, record.offset + 1)
                slice_ = []
        replica.replay(slice_, end)

    def _walk(self, partition: int, family: str, state: StateReader, replayed: StateReader) -> None:
        for ours, theirs in zip_longest(state.scan(family), replayed.scan(family)):
            self._replica.checked += 1
            if ours != theirs:
                key = (ours or theirs)[0]
                self._replica.fail(
                    f"partition {partition}, family {family}: differs from the changelog at key {key[:60]!r}"
                )
                return
