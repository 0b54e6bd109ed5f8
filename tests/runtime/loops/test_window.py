"""The finished-orders window: whatever finishes in whatever order, each order's results are committed exactly once."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gregor.runtime.loops.window import MOST_SPAN, OrderWindow
from gregor.runtime.transport.port import LARGEST_METADATA, Position


class OrdersOfOnePartition(RuleBasedStateMachine):
    """A log with gaps (transaction markers), a reader that is rewound and restarted at will, and its window."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[int] = []
        self.end = 0
        self.committed_position = Position(0)
        self.committed: list[int] = []
        self.finished: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.window = OrderWindow(self.committed_position)
        self.cursor = self.committed_position.offset
        self.in_flight: set[int] = set()
        self.finished = []

    @rule(records=st.integers(1, 5), gap=st.integers(0, 2))
    def orders_are_written(self, records: int, gap: int) -> None:
        for _ in range(records):
            self.log.append(self.end)
            self.end += 1
        self.end += gap

    @rule(count=st.integers(1, 8))
    def some_are_delivered(self, count: int) -> None:
        due = [offset for offset in self.log if offset >= self.cursor][:count]
        for offset in due:
            if self.window.accept(offset):
                assert offset not in self.committed, "an order whose results are committed is begun again"
                assert offset not in self.in_flight, "an order that is in flight is begun again"
                self.in_flight.add(offset)
            self.cursor = offset + 1

    @rule(data=st.data())
    def one_finishes(self, data: st.DataObject) -> None:
        if self.in_flight:
            offset = data.draw(st.sampled_from(sorted(self.in_flight)))
            self.in_flight.discard(offset)
            assert self.window.finish(offset)
            self.finished.append(offset)

    @rule()
    def the_end_is_reached(self) -> None:
        if not any(offset >= self.cursor for offset in self.log):
            self.window.passed(self.end)
            self.cursor = self.end

    @rule()
    def a_checkpoint_commits(self) -> None:
        self.committed_position = self.window.position()
        self.committed += self.finished
        self.finished = []

    @rule()
    def a_checkpoint_is_refused_and_the_input_rewound(self) -> None:
        self.window.position()
        self.cursor = self.committed_position.offset

    @rule()
    def the_process_dies(self) -> None:
        self.begin()

    @invariant()
    def nothing_is_committed_twice(self) -> None:
        assert len(self.committed) == len(set(self.committed))

    @invariant()
    def the_position_never_passes_an_unfinished_order(self) -> None:
        passed = {offset for offset in self.log if offset < self.committed_position.offset}
        assert passed <= set(self.committed)

    def teardown(self) -> None:
        self.begin()
        self.some_are_delivered(len(self.log) + 1)
        while self.in_flight:
            offset = min(self.in_flight)
            self.in_flight.discard(offset)
            self.window.finish(offset)
            self.finished.append(offset)
        self.a_checkpoint_commits()
        assert sorted(self.committed) == self.log, "every order was committed in the end"
        assert self.committed_position.metadata == ""


TestOrdersOfOnePartition = OrdersOfOnePartition.TestCase
TestOrdersOfOnePartition.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


@given(st.text(max_size=200), st.integers(0, 2**40))
def test_metadata_of_anybody_else_means_that_nothing_is_finished_or_is_read_as_a_bitmap(
    metadata: str, offset: int
) -> None:
    window = OrderWindow(Position(offset, metadata))
    assert window.accept(offset)


def test_a_full_window_still_fits_into_a_position() -> None:
    window = OrderWindow(Position(0))
    offset = 0
    while not window.full:
        assert window.accept(offset)
        offset += 1
    for late in range(offset, offset + 4_000):
        window.accept(late)
    for one in range(1, offset + 4_000, 2):
        window.finish(one)
    position = window.position()
    assert offset == MOST_SPAN + 1
    assert position.offset == 0
    assert 0 < len(position.metadata) <= LARGEST_METADATA


def test_a_restored_window_skips_exactly_what_was_finished() -> None:
    window = OrderWindow(Position(41))
    for offset in range(41, 46):
        assert window.accept(offset)
    for offset in (42, 43, 45):
        assert window.finish(offset)
    position = window.position()
    assert position == Position(41, "wCw==")
    restored = OrderWindow(position)
    assert [offset for offset in range(41, 47) if restored.accept(offset)] == [41, 44, 46]
