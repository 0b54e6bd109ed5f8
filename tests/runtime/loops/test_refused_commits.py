"""While a broker refuses checkpoints, what is finished waits for it, and there is an end to what waits."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gregor.config.sections import CheckpointSection
from gregor.errors import Aborted
from gregor.runtime.loops.contract import Finished
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Commit, Event, Output, Session, TopicPartition
from tests.runtime.loops.test_haste import FETCHER, Clock, Slow, steps
from tests.runtime.transport.embedded_folder import opened

POLICY = CheckpointSection(max_bytes=65_536)
RESULT = 10_000
ORDERS = 400


class Refused:
    """A session whose broker takes no checkpoint until it is well again."""

    cheap_commit: bool = True
    well = False

    def __init__(self, session: Session) -> None:
        self._session = session
        self.member = session.member

    def poll(self, max_records: int, max_bytes: int, wait: float) -> Event:
        return self._session.poll(min(max_records, 20), max_bytes, wait)

    def commit(self, commit: Commit) -> None:
        if not self.well:
            raise Aborted("too few copies are in sync, nothing was written")
        self._session.commit(commit)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._session.pause(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._session.resume(partitions)

    def close(self, drain: bool = True) -> None:
        self._session.close(drain)


class Quick(Slow):
    """Whose orders are done as soon as they were given, and which has room again when somebody has taken the results."""

    def __init__(self) -> None:
        super().__init__()
        self.result = bytes(RESULT)
        self.taken = 0

    def finished(self) -> Sequence[Finished]:
        self.done, self.running = self.running, []
        self.taken += len(self.done)
        return super().finished()


@pytest.fixture
def transport(tmp_path: Path) -> Iterator[EmbeddedTransport]:
    with opened(tmp_path, stages=(FETCHER,)) as transport:
        yield transport


def test_no_more_orders_are_taken_than_two_checkpoints_hold_and_all_are_answered_once_in_the_end(
    transport: EmbeddedTransport,
) -> None:
    stage, session = Quick(), Refused(transport.open(FETCHER))
    loop = OrderLoop(stage, session, POLICY, clock=Clock(), stopwatch=Clock())
    transport.append([Output("schedule", 0, b"", b"order %d" % number) for number in range(ORDERS)])
    steps(loop)
    assert 2 * POLICY.max_bytes <= stage.taken * RESULT <= 2 * POLICY.max_bytes + 20 * RESULT
    session.well = True
    steps(loop, lambda: len(list(transport.read("fetched", 0, 0))) == ORDERS)
    assert len(list(transport.read("fetched", 0, 0))) == ORDERS
    assert stage.taken == ORDERS
