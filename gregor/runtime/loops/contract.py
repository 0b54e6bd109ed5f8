"""What a stage is to its loop: decisions without offsets, commits or clocks of its own."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from gregor.runtime.state.packed import Mutation
from gregor.runtime.transport.port import Assignment, Output, Record, StageSpec, TopicPartition

Decode = Callable[[Record], Any]
"""From a record to what it means; raises schemas.codec.Undecodable."""


class Received(Struct, frozen=True, gc=False):
    """A record and what it means."""

    record: Record
    value: Any


class Work(Struct, frozen=True):
    """What a decision wants written."""

    outputs: Sequence[Output] = ()
    urls: int = 0
    """URLs decided, for the size of a checkpoint."""
    bytes: int = 0
    """Bytes that ``prepare`` will write outside of Kafka, for the same."""
    urgent: bool = False
    """Whether others have little to do before this is committed, so that it should not wait for more."""


NOTHING = Work()


class SinkUnavailable(Exception):
    """Raised by ``prepare`` when what lives outside of Kafka cannot be finished at present, such as when a disk is full. Nothing is
    lost: the loop takes no more input, keeps its place in the group, and asks again until it can be done."""


class BatchStage(Protocol):
    """A stage that decides whole batches in the loop's thread: the frontier, the extractor, the archiver.

    Everything decided since ``committed`` or ``dropped`` is pending: ``dropped`` means that it never happened.
    """

    @property
    def spec(self) -> StageSpec: ...

    @property
    def decoders(self) -> Mapping[str, Decode]:
        """One for each input and broadcast topic."""
        ...

    def assigned(self, partition: int, assignment: Assignment) -> None: ...

    def revoked(self, partitions: frozenset[int]) -> None: ...

    def on_broadcast(self, received: Sequence[Received]) -> None:
        """Records of the broadcast topics."""
        ...

    def process(self, received: Sequence[Received], now_ms: int) -> Work: ...

    def tick(self, now_ms: int) -> Work:
        """What is due by the clock alone."""
        ...

    def next_due_ms(self) -> int | None:
        """When ``tick`` has something to do; None: not before the next record."""
        ...

    def mutations(self) -> Mapping[int, Sequence[Mutation]]:
        """All pending changes of the state, by partition."""
        ...

    def counters(self) -> Mapping[int, Mapping[str, int]]:
        """Exact totals by partition, pending ones included."""
        ...

    def prepare(self) -> Sequence[Output]:
        """Called before a commit: finish what lives outside of Kafka (fsync), and say what to write about it. Raises SinkUnavailable when
        that cannot be done yet; it is then called again."""
        ...

    def committed(self) -> None: ...

    def dropped(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class Drains(Protocol):
    """A batch stage that keeps something back for the sake of fewer records."""

    def drain(self, now_ms: int) -> Work:
        """Asked to stop, and everything decided is committed: what was kept back, for one last checkpoint."""
        ...


@runtime_checkable
class ReadsFirst(Protocol):
    """A batch stage that gives up waiting for a record by the clock. When it comes back after a while, what it waits for may stand in its
    inputs already."""

    def unread(self, inputs: Set[TopicPartition]) -> None:
        """Told before each tick: of which inputs not all has been read that was there when their partition was assigned. What is
        dropped and comes again is unread again."""
        ...


class Ticket(Struct, frozen=True, gc=False):
    """Which order a result belongs to."""

    partition: int
    offset: int


class Finished(Struct, frozen=True, gc=False):
    """An order that is done, with everything that must be committed together with it."""

    ticket: Ticket
    outputs: Sequence[Output]


class OrderStage(Protocol):
    """A stage whose orders run at once, for long, and finish out of order: the fetcher.

    All calls come from the loop's thread; the work itself may run in another.
    """

    @property
    def spec(self) -> StageSpec: ...

    @property
    def decoders(self) -> Mapping[str, Decode]: ...

    def on_broadcast(self, received: Sequence[Received]) -> None: ...

    def room(self) -> int:
        """How many more orders can be taken now."""
        ...

    def start(self, ticket: Ticket, order: Any, redelivered: bool) -> None:
        """``redelivered``: it may have been begun before by somebody else, a moment ago."""
        ...

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        """Stop these as soon as possible; what they still finish is not wanted."""
        ...

    def finished(self) -> Sequence[Finished]:
        """Orders that are done since the last call."""
        ...

    def leave(self) -> None:
        """Begin nothing more: what runs is brought to its end, and orders end with what they have."""
        ...

    def close(self) -> None: ...
