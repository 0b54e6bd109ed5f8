"""The port between stages and what carries their records: Kafka and the embedded log are two engines of equal rank.

A transport opens sessions; a session is one member of one stage's group. Its owner, the stage loop, calls it from one thread:

    poll    -> Batch       records, and the positions that they lead to
            -> Revoked     the group changed: everything not committed is dropped, what is retained was rewound
            -> Assigned    partitions whose state is restored; their records follow in later batches
    commit  -> outputs, positions and mutations become visible together or not at all

A batch belongs to an epoch, the group's state when it was polled. A commit names the epoch it was gathered in; in a later one it
raises Aborted, because its partitions may belong to somebody else. There is no seek and no begin: after Revoked or Aborted the next
poll delivers again from the last commit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from gregor.runtime.state.changelog import Foreign
from gregor.runtime.state.packed import Mutation
from gregor.runtime.state.store import StateReader, StateSpec
from schemas.changelog import Checkpoint

LARGEST_METADATA: Final = 3500
"""Bytes of UTF-8 beside a position; a broker fails the transaction somewhere between this and 5,000."""


class InvalidCommit(ValueError):
    """A commit that a correct stage never asks for: positions missing or of partitions that are not assigned, too much metadata, an
    output to a partition that does not exist, mutations without a state. A bug, so that it is outside of the tree of errors; nothing
    was written."""


class TopicPartition(NamedTuple):
    """A topic by its short name, without the crawl's prefix."""

    topic: str
    partition: int


class Record(Struct, frozen=True, gc=False, array_like=True):
    """One record as it was read."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    header: bytes | None
    """The value of the record's one header; None: it has none."""
    time_ms: int


class Output(Struct, frozen=True, gc=False, array_like=True):
    """One record to be written; the partition is always computed by us."""

    topic: str
    partition: int
    key: bytes
    value: bytes
    header: bytes | None = None


class Position(Struct, frozen=True):
    """Where a group continues in a partition, with up to 3,500 bytes of its own about it."""

    offset: int
    metadata: str = ""


class CheckpointInfo(Struct, frozen=True, kw_only=True):
    """What a stage wants written into each partition's checkpoint record."""

    now_ms: int
    config_version: str = ""
    counters: Mapping[int, Mapping[str, int]] = {}
    """Partition to its exact totals."""


class StageSpec(Struct, frozen=True, kw_only=True):
    """What a stage reads and writes."""

    name: str
    """Also the name of its group."""
    inputs: tuple[str, ...]
    """Co-partitioned topics: a member that owns partition p owns it in all of them."""
    broadcast: tuple[str, ...] = ()
    """Topics that every member reads from the beginning, before its first assignment, outside of any group."""
    outputs: tuple[str, ...] = ()
    changelog: str = ""
    """Topic that logs the state; empty: the stage keeps none."""
    state: StateSpec | None = None


class Assignment(Struct, frozen=True, kw_only=True):
    """One partition as it comes to a member."""

    positions: Mapping[str, Position]
    """Per input topic, what the group last committed."""
    ends: Mapping[str, int]
    """Per input topic, the end of the log when the partition was assigned: records before it may have been delivered to somebody else."""
    state: StateReader | None
    """The restored state; None for a stage without."""
    counters: Mapping[str, int] = {}
    """Totals of the last checkpoint."""
    sequence: int = 0
    """Number of the last checkpoint; 0: none."""
    foreign: Sequence[Foreign] = ()
    """What others wrote into the state's changelog, as its restore found it: passed over, to become dead letters."""


class Batch(Struct, frozen=True):
    """Records in the order of each partition; may be empty when nothing came within the wait."""

    epoch: int
    records: Sequence[Record]
    positions: Mapping[TopicPartition, int]
    """For partitions that moved: the position after these records, and after what is not a record (transaction markers)."""
    broadcast: Sequence[Record] = ()
    """New records of the broadcast topics."""


class Assigned(Struct, frozen=True):
    """Partitions that are ready, with everything that a stage needs to begin."""

    epoch: int
    partitions: Mapping[int, Assignment]


class Revoked(Struct, frozen=True):
    """The group changed. Even with no partition lost, all that was gathered since the last commit is void and comes again."""

    epoch: int
    partitions: frozenset[int]
    lost: bool = False
    """True when they already belong to somebody else, so that nothing can be finished."""


Event = Batch | Assigned | Revoked


class Commit(Struct, frozen=True, kw_only=True):
    """One checkpoint."""

    epoch: int
    outputs: Sequence[Output] = ()
    positions: Mapping[TopicPartition, Position]
    """The position of EVERY input partition that is assigned, moved or not: a commit without positions is fenced by nothing."""
    mutations: Mapping[int, Sequence[Mutation]] = {}
    mark: CheckpointInfo


class Session(Protocol):
    """One member of a stage's group."""

    @property
    def member(self) -> str:
        """Who this member is; the same after a restart with the same state folder."""
        ...

    @property
    def cheap_commit(self) -> bool:
        """Whether a commit costs next to nothing, so that nobody gains by gathering more for it."""
        ...

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        """What happens next; waits ``wait`` seconds at the most. ``max_bytes`` is exceeded by one record at the most."""
        ...

    def commit(self, commit: Commit) -> None:
        """Make it so. Raises Aborted (nothing was written, everything rewound), Fenced (another owns the partitions; the session
        goes on by being assigned anew) or UnknownOutcome (likewise); InvalidCommit when it should never have been asked for."""
        ...

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """Deliver nothing more of these until resumed; an assignment begins unpaused."""
        ...

    def resume(self, partitions: Sequence[TopicPartition]) -> None: ...

    def close(self, drain: bool = True) -> None:
        """Leave the group at once (``drain``) or keep the place in it for a restart."""
        ...


class Restoring(Struct, frozen=True):
    """How far the restore of one partition is, in offsets of its changelog; all zero: it has not begun."""

    first: int
    next: int
    end: int


@runtime_checkable
class Restores(Protocol):
    """A session that has to restore partitions before it delivers their records."""

    def restoring(self) -> Mapping[int, Restoring]: ...


@runtime_checkable
class ReadsLog(Protocol):
    """A session whose stage may look at topics beside its inputs."""

    def read(self, topic: str, partition: int) -> Iterator[Record]:
        """All committed records as of now, in order."""
        ...


class LogReader(Protocol):
    """The reading half of an engine: for status, explain, audit and replay, beside a crawl that runs or without one."""

    def read(self, topic: str, partition: int, start: int, end: int | None = None) -> Iterator[Record]:
        """Committed records of ``[start, end)``, in order; ``end`` None: the end as of now."""
        ...

    def ends(self, topic: str) -> Mapping[int, tuple[int, int]]:
        """Per partition its first offset and the offset after its last committed record."""
        ...

    def since(self, topic: str, time_ms: int) -> Mapping[int, int]:
        """Per partition the offset of the first record that was written at ``time_ms`` or later; its end when there is none."""
        ...

    def committed(self, stage: str, topics: Sequence[str]) -> Mapping[TopicPartition, Position]:
        """Where a stage's group stands; a partition without a position is left out."""
        ...

    def last_checkpoint(self, stage: str, partition: int) -> Checkpoint | None:
        """What the last commit of a stage with state says of a partition; None: there was none."""
        ...

    def state(self, stage: StageSpec, partition: int) -> StateReader | None:
        """A partition's state as of a checkpoint; None: it is not on this machine, or there is none yet."""
        ...

    def close(self) -> None: ...


class Transport(LogReader, Protocol):
    """One engine, bound to one crawl."""

    def open(self, stage: StageSpec) -> Session: ...

    def append(self, outputs: Sequence[Output]) -> None:
        """Write records from outside of any stage, all or none (seeds, control)."""
        ...

    def trim(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete the records before these offsets, for good; nothing happens where they are gone already. Whether anybody still needs
        them is for the caller to know."""
        ...
