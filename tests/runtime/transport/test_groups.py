"""Groups share partitions evenly, move few of them, and count every change."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gregor.runtime.transport.embedded.groups import ConsumerGroup, balance

MEMBERS = st.sampled_from([f"member-{n}" for n in range(6)])
PARTITIONS = 7
TIMEOUT = 10.0


@given(st.sets(MEMBERS, min_size=1), st.sets(MEMBERS, min_size=1), st.integers(1, 20))
def test_partitions_are_shared_evenly_and_no_more_of_them_move_than_must(
    before: set[str], after: set[str], partitions: int
) -> None:
    held = balance({}, before, partitions)
    shared = balance(held, after, partitions)
    assert sorted(p for owned in shared.values() for p in owned) == list(range(partitions))
    sizes = sorted(len(owned) for owned in shared.values())
    assert sizes[-1] - sizes[0] <= 1
    stayed = sum(len(held[member] & shared[member]) for member in before & after)
    # Each of those who stay keeps as much as an even share allows; the larger shares go to those who held more.
    least, larger = divmod(partitions, len(after))
    richest = sorted((len(held[member]) for member in before & after), reverse=True)
    assert stayed == sum(min(size, least + (rank < larger)) for rank, size in enumerate(richest))


def test_a_group_without_members_owns_nothing() -> None:
    assert balance({"gone": frozenset({0, 1})}, (), 2) == {}


class GroupMachine(RuleBasedStateMachine):
    """A group against a dictionary of who was seen when."""

    def __init__(self) -> None:
        super().__init__()
        self.group = ConsumerGroup(PARTITIONS)
        self.seen: dict[str, float] = {}
        self.now = 0.0
        self.epoch = 0

    @rule(member=MEMBERS)
    def join(self, member: str) -> None:
        if member not in self.group:
            self.group.join(member, self.now)
            self.seen[member] = self.now
            self.changed()

    @rule(member=MEMBERS)
    def leave(self, member: str) -> None:
        self.group.leave(member)
        if self.seen.pop(member, None) is not None:
            self.changed()

    @rule(seconds=st.floats(0.0, 8.0))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def poll(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from(sorted(self.seen)))
        silent = {one for one, seen in self.seen.items() if self.now - seen > TIMEOUT and one != member}
        self.group.waits(member)
        assert self.group.expel_silent(member, self.now, TIMEOUT) == silent
        self.group.seen(member, self.now)
        self.seen[member] = self.now
        for one in silent:
            del self.seen[one]
        if silent:
            self.changed()

    def changed(self) -> None:
        assert self.group.epoch > self.epoch
        self.epoch = self.group.epoch

    @invariant()
    def nothing_else_changes_the_epoch(self) -> None:
        assert self.group.epoch == self.epoch

    @invariant()
    def members_and_owners_agree(self) -> None:
        assert self.group.members == self.seen.keys() == self.group.owners.keys()
        owned = sorted(p for partitions in self.group.owners.values() for p in partitions)
        assert owned == (list(range(PARTITIONS)) if self.seen else [])


GroupMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestGroup = GroupMachine.TestCase


def test_a_member_within_poll_is_never_silent() -> None:
    group = ConsumerGroup(PARTITIONS)
    group.join("one", 0.0)
    group.join("other", 0.0)
    group.waits("one")
    assert group.expel_silent("other", 1000.0, TIMEOUT) == frozenset()


def test_somebody_outside_expels_nobody() -> None:
    group = ConsumerGroup(PARTITIONS)
    group.join("only", 0.0)
    assert group.expel_silent("outsider", 1000.0, TIMEOUT) == frozenset()
    assert group.members == {"only"}
