"""A partition on its way in: what the group committed, then the changelog replayed slice by slice, then both compared.

    LOOKING ──► REPLAYING ──► READY        a stage without state goes from LOOKING to READY
                 │     ▲
                 ▼     │                   a long changelog: the store is closed, a process of its own replays into it
                  APART

The order is the point. committed() of the inputs comes first, from a read_committed client, which waits for a pending transactional
offset. The changelog's end comes second, from a read_uncommitted client, because an open transaction holds back what a read_committed
one sees. Only then does "replayed up to that end" mean that nothing of the last owner is missing.
"""

import logging
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

import confluent_kafka as ck
from confluent_kafka import Consumer, KafkaError, KafkaException
from msgspec import Struct

from gregor.errors import ForeignState, TransportError
from gregor.runtime.state.changelog import MOST_FOREIGN, Foreign, Replica, StoreIdentity, StoreStanding
from gregor.runtime.state.options import SharedMemory
from gregor.runtime.state.store import StateSpec, Store
from gregor.runtime.transport.kafka.admin_queries import FINAL
from gregor.runtime.transport.kafka.changelog_reader import begin, read_slice
from gregor.runtime.transport.kafka.clients import Clients
from gregor.runtime.transport.kafka.restore_pool import RestoreJob, RestorePool
from gregor.runtime.transport.kafka.restore_worker import RestoreTask
from gregor.runtime.transport.port import Assignment, Position, Restoring

_log: Final = logging.getLogger("gregor.kafka.restore")

LOOK_TIMEOUT_S: Final = 1.0
RETRY_S: Final = 0.25
LOOKS_APART_S: Final = 1.0
"""Between two looks at a restore, at the most, in a member that runs."""
APART_BYTES: Final = 4 * 1024 * 1024
"""Of a changelog that a member replays by itself: what is longer is worth the start of a process."""


class Phase(Enum):
    LOOKING = "looking"
    REPLAYING = "replaying"
    APART = "replaying in a process of its own"
    READY = "ready"


class Changelog(Struct, frozen=True, kw_only=True):
    """What a restore needs to know of the state and its log."""

    clients: Clients
    topic: str
    """With the crawl's prefix."""
    spec: StateSpec
    folder: Path
    """Each partition has a folder of its own below it."""
    memory: SharedMemory
    identity: Callable[[int], StoreIdentity]


def partition_folder(folder: Path, partition: int) -> Path:
    """Where a member that lives in ``folder`` keeps the state of a partition."""
    return folder / f"partition-{partition:04d}"


class PartitionRestore:
    """One partition between its assignment and its first batch."""

    def __init__(
        self,
        partition: int,
        inputs: Mapping[str, str],
        changelog: Changelog | None,
        patience_s: float,
        pool: RestorePool,
    ) -> None:
        self.partition = partition
        self.phase = Phase.LOOKING
        self.positions: dict[str, Position] = {}
        self.ends: dict[str, int] = {}
        self.replica: Replica | None = None
        self._inputs = inputs
        self._changelog = changelog
        self._store: Store | None = None
        self._patience_s = patience_s
        self._give_up = float("inf")
        self._not_before = 0.0
        self._looked = 0.0
        self._start = 0
        self._first = 0
        self._next = 0
        self._end = 0
        self._restorer: Consumer | None = None
        self._pool = pool
        self._apart: RestoreJob | None = None
        self._left_bytes: float = APART_BYTES
        """Of the log that the member replays by itself before somebody else does."""
        self._queued = False
        self._foreign: dict[int, Foreign] = {}
        """By offset: whoever goes on after a process that died may meet the same once more."""

    def advance(self, group: Consumer, reader: Consumer, restorer: Consumer) -> bool:
        """One slice of work; True once the partition is ready. ``restorer`` serves this restore alone until it is, or is apart."""
        now = time.monotonic()
        # A restore that did not have its turn has not waited, nor has one whose member was stopped, and all who work for it.
        self._give_up += max(0.0, now - self._looked - LOOKS_APART_S)
        self._looked = now
        if now < self._not_before:
            return False
        before = self.phase, self._next
        if self.phase is Phase.LOOKING and self._look(group, reader):
            if self._changelog is None:
                self.phase = Phase.READY
            else:
                self._begin_replay(self._changelog, reader)
        elif self.phase is Phase.APART:
            assert self._changelog is not None
            self._listen(self._changelog)
        elif self.phase is Phase.REPLAYING and self._replay(restorer):
            self._compare(group)
        if before != (self.phase, self._next) or self._give_up == float("inf"):
            self._give_up = time.monotonic() + self._patience_s
        elif time.monotonic() > self._give_up:
            raise TransportError(
                f"partition {self.partition} got no further for {self._patience_s:g} s: it is {self.phase.value} at offset "
                f"{self._next} of a changelog that ends at {self._end}",
                remedy="see whether a transaction hangs (the topic's last stable offset does not move)",
            )
        return self.phase is Phase.READY

    @property
    def needs_turn(self) -> bool:
        """Whether it gets no further without the restorer."""
        if self.phase is Phase.REPLAYING:
            return self._next < self._end and not self._queued
        return self.phase is Phase.LOOKING

    @property
    def idle(self) -> bool:
        """Whether others work for it, or it waits for them."""
        return self.phase is Phase.APART or self._queued or time.monotonic() < self._not_before

    @property
    def progress(self) -> Restoring:
        return Restoring(self._first, self._next, self._end)

    def assignment(self) -> Assignment:
        replica = self.replica
        checkpoint = replica.checkpoint if replica else None
        return Assignment(
            positions=self.positions,
            ends=self.ends,
            state=replica.reader if replica else None,
            counters=checkpoint.counters if checkpoint else {},
            sequence=checkpoint.sequence if checkpoint else 0,
            foreign=list(self._foreign.values()),
        )

    def close(self) -> None:
        """Give up the store; the partition belongs to somebody else now."""
        self._stop_restorer()
        if self._apart is not None:
            self._apart.close()
            self._apart = None
        if self._store is not None:
            self._store.close()
            self._store = None

    def _look(self, group: Consumer, reader: Consumer) -> bool:
        asked = [ck.TopicPartition(topic, self.partition) for topic in self._inputs.values()]
        short = {topic: name for name, topic in self._inputs.items()}
        try:
            for found in group.committed(asked, timeout=LOOK_TIMEOUT_S):
                if found.error is not None:
                    raise KafkaException(found.error)
                low, high = reader.get_watermark_offsets(
                    ck.TopicPartition(found.topic, self.partition), timeout=LOOK_TIMEOUT_S
                )
                known = found.offset >= 0
                self.positions[short[found.topic]] = Position(
                    found.offset if known else low, (found.metadata or "") if known else ""
                )
                self.ends[short[found.topic]] = high
        except KafkaException as error:
            self._try_again(error, reader)
            return False
        return True

    def _begin_replay(self, changelog: Changelog, reader: Consumer) -> None:
        where = ck.TopicPartition(changelog.topic, self.partition)
        try:
            start, self._end = reader.get_watermark_offsets(where, timeout=LOOK_TIMEOUT_S)
        except KafkaException as error:
            self._try_again(error, reader)
            return
        self._start = start
        self.replica = self._open(changelog)
        if self.replica.standing(start, self._end) is StoreStanding.OUTRUN:
            _log.warning("the log begins after this state, restoring all of it, partition %d", self.partition)
            self.close()
            shutil.rmtree(self._folder(changelog))
            self.replica = self._open(changelog)
            self.replica.standing(start, self._end)
        self._first = self._next = max(start, self.replica.applied)
        _log.info("restoring partition %d from offset %d to %d", self.partition, self._first, self._end)
        self.phase = Phase.REPLAYING

    def _folder(self, changelog: Changelog) -> Path:
        return partition_folder(changelog.folder, self.partition)

    def _open(self, changelog: Changelog) -> Replica:
        self._store = Store(self._folder(changelog), changelog.spec.families, changelog.memory)
        try:
            return Replica.open(self._store, changelog.spec, changelog.identity(self.partition))
        except BaseException:
            self.close()
            raise

    def _replay(self, restorer: Consumer) -> bool:
        assert self.replica is not None
        assert self._changelog is not None
        if self._next >= self._end:
            return True
        if self._left_bytes <= 0:
            self._part(self._changelog)
            return False
        if self._restorer is None:
            begin(restorer, self._changelog.topic, self.partition, self._next)
            self._restorer = restorer
        taken = read_slice(restorer, self._next)
        self._left_bytes -= taken.bytes
        self._next = taken.next
        if taken.records or self._next >= self._end:
            self.replica.replay(taken.records, self._next)
            self._pass_over(self.replica.foreign)
        if self._next >= self._end:
            # At once: the next time the restorer may already serve another one.
            self._stop_restorer()
        if taken.error is not None:
            self._try_again(taken.error, restorer)
            if taken.error.args[0].code() == KafkaError._AUTO_OFFSET_RESET:
                self._look_anew()
        return False

    def _pass_over(self, found: list[Foreign]) -> None:
        for one in found:
            if len(self._foreign) < MOST_FOREIGN and one.offset not in self._foreign:
                self._foreign[one.offset] = one
                _log.warning(
                    "partition %d: the changelog's record at offset %d is none of ours and is passed over, it begins with %r",
                    self.partition,
                    one.offset,
                    one.beginning[:40],
                )
        found.clear()

    def _look_anew(self) -> None:
        """The log was trimmed since it was looked at, by what its last owner had still under way."""
        self.close()
        self.replica = None
        self._left_bytes = APART_BYTES
        self.phase = Phase.LOOKING

    def _part(self, changelog: Changelog) -> None:
        """Leave the rest to a process of its own, as soon as one of them is free."""
        self._queued = self._pool.full
        if self._queued:
            # For other partitions of this member, which move; those that need no process go on meanwhile.
            self._give_up = float("inf")
            self._stop_restorer()
            return
        self.close()
        self.replica = None
        self._apart = self._pool.start(
            RestoreTask(
                names=changelog.clients.names,
                kafka=changelog.clients.kafka,
                topic=changelog.topic,
                folder=self._folder(changelog),
                spec=changelog.spec,
                options=changelog.memory.options,
                identity=changelog.identity(self.partition),
                start=self._start,
                end=self._end,
            )
        )
        if self._apart is None:
            self._come_back(changelog)
        else:
            self.phase = Phase.APART

    def _listen(self, changelog: Changelog) -> None:
        assert self._apart is not None
        ended = self._apart.ended
        self._next = self._apart.reached or self._next
        self._pass_over(self._apart.foreign)
        if ended:
            done = self._apart.close()
            self._apart = None
            if not done:
                _log.warning("a process died, and the member itself goes on with partition %d", self.partition)
            self._come_back(changelog)

    def _come_back(self, changelog: Changelog) -> None:
        """Go on from where the store is now, at the end of the log as a rule."""
        self.replica = self._open(changelog)
        # What was written since is passed as well: the marker of a transaction that was open then, above all.
        self.replica.standing(self._start, max(self._end, self.replica.applied))
        self._next = max(self._start, self.replica.applied)
        self._left_bytes = float("inf")
        self.phase = Phase.REPLAYING

    def _compare(self, group: Consumer) -> None:
        """The last checkpoint and the group must agree on where to go on."""
        assert self.replica is not None
        checkpoint = self.replica.checkpoint
        logged = checkpoint.positions if checkpoint else {}
        asked = [ck.TopicPartition(topic, self.partition) for topic in self._inputs.values()]
        short = {topic: name for name, topic in self._inputs.items()}
        try:
            answers = group.committed(asked, timeout=LOOK_TIMEOUT_S)
            for one in answers:
                if one.error is not None:
                    raise KafkaException(one.error)
            found = {short[one.topic]: one.offset for one in answers if one.offset >= 0}
        except KafkaException as error:
            self._try_again(error, group)
            return
        if any(logged.get(name) != offset for name, offset in found.items()):
            raise ForeignState(
                f"partition {self.partition}: expected the changelog's last checkpoint to stand at {found}, "
                f"where the group has committed, found {logged or 'no checkpoint'}",
                remedy="one of the two was changed from outside: put it back, or begin a crawl of another name",
            )
        # A broker forgets the positions of a group that was away for long, and of a quiet topic sooner than of the one that the group
        # subscribes to. The checkpoint does not: it was committed with them.
        known = {**logged, **found}
        self.positions = {
            name: Position(known.get(name, old.offset), old.metadata) for name, old in self.positions.items()
        }
        self.phase = Phase.READY

    def _try_again(self, error: KafkaException, client: Consumer) -> None:
        """What may pass by itself is tried again within the restore's patience: everybody notices late that a broker died."""
        cause = error.args[0]
        if cause.code() in FINAL:
            raise TransportError(f"the broker refused: {cause.str()}") from error
        _log.info("partition %d waits: %s", self.partition, cause.str())
        self._not_before = time.monotonic() + RETRY_S
        with suppress(KafkaException):
            # A client that has no use for a topic of its own does not look for its new leader by itself.
            client.list_topics(timeout=LOOK_TIMEOUT_S)

    def _stop_restorer(self) -> None:
        if self._restorer is not None:
            self._restorer.unassign()
            self._restorer = None
