"""The frontier's state: it holds what its counters say, and what the changelog alone would give."""

from collections.abc import Iterator
from itertools import zip_longest

from gregor.audit.finding import Check, Finding
from gregor.audit.moment import Moment
from gregor.audit.spill import Spill
from gregor.errors import GregorError
from gregor.pipeline.stages import ROLES
from gregor.state.options import SharedMemory, StoreOptions
from gregor.state.replay import Known, Replica, known_of
from gregor.state.store import StateReader, Store
from gregor.transport.port import LogReader
from schemas.changelog import Checkpoint
from streams.frontier.families import LEASES, QUEUE, REVISIT
from streams.frontier.later import RETRY, decode_waiting
from streams.frontier.leases import decode_lease

_SLICE = 1_000
_MEMORY = StoreOptions(block_cache_bytes=16 * 1024 * 1024, write_buffer_bytes=16 * 1024 * 1024)


class States:
    """Those of the partitions whose state is on this machine."""

    def __init__(self, log: LogReader, moment: Moment, spill: Spill) -> None:
        self._log = log
        self._moment = moment
        self._spill = spill
        self._counts = Check("state-counts", "the state holds as many URLs as its counters say")
        self._replica = Check("state-changelog", "the state equals what its changelog gives")
        self.leased: dict[int, int] = {}
        """Orders that are out, of the partitions whose state is as new as the moment's checkpoint."""

    def check(self) -> Iterator[Finding]:
        spec = ROLES["frontier"].spec
        held = 0
        moved_on: list[int] = []
        for partition in range(self._moment.partitions):
            state = self._log.state(spec, partition)
            checkpoint = self._moment.checkpoints.get(partition)
            if state is None or checkpoint is None:
                continue
            known = known_of(state)
            held += 1
            if known is None:
                # One database holds log and state: they cannot be of different moments, and there is no changelog.
                self._count(partition, state, checkpoint, now=True)
            elif known.checkpoint is not None:
                self._count(partition, state, known.checkpoint, known.checkpoint.sequence == checkpoint.sequence)
                if known.checkpoint.sequence >= checkpoint.sequence or not self._begin(partition):
                    self._compare(partition, state, known)
                else:
                    # The changelog gives a state exactly from the end of a snapshot's cycle on, and this one may be older.
                    self._replica.unknown += 1
                    moved_on.append(partition)
        if not held:
            self._counts.note = self._replica.note = (
                "no state is on this machine; name a frontier's folder with --state"
            )
        elif moved_on:
            self._replica.note = f"partitions {moved_on} are elsewhere by now; their states here are old"
        elif not self._replica.checked and not self._replica.failed:
            self._replica.note = "log and state are one database here, so that there is no changelog"
        yield self._counts.finding()
        yield self._replica.finding()

    def _count(self, partition: int, state: StateReader, checkpoint: Checkpoint, now: bool) -> None:
        orders = urls = retrying = revisiting = 0
        for _, value in state.scan(LEASES):
            orders += 1
            urls += len(decode_lease(value).entries)
        for _, value in state.scan(REVISIT):
            if decode_waiting(value).kind == RETRY:
                retrying += 1
            else:
                revisiting += 1
        queued = sum(1 for _ in state.scan(QUEUE))
        found = {"queued": queued, "leased": urls, "retrying": retrying, "revisiting": revisiting}
        for name, count in found.items():
            self._counts.equal(count, checkpoint.counters.get(name, 0), f"partition {partition}, URLs {name}")
        if now:
            self.leased[partition] = orders

    def _compare(self, partition: int, state: StateReader, known: Known) -> None:
        """Replay the changelog up to where the state is, and walk through both."""
        spec = ROLES["frontier"].spec
        assert spec.state is not None
        store = Store(self._spill.room(f"replay-{partition}"), spec.state.families, SharedMemory(_MEMORY))
        try:
            replica = Replica.open(store, spec.state, known.identity)
            self._replay(replica, spec.changelog, partition, known.applied)
            for family in spec.state.families:
                self._walk(partition, family, state, replica.reader)
        except GregorError as error:
            self._replica.fail(f"partition {partition}: its changelog cannot be replayed: {error}")
        finally:
            store.close()

    def _begin(self, partition: int) -> int:
        return self._log.ends(ROLES["frontier"].spec.changelog)[partition][0]

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
