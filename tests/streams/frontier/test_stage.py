"""The frontier as a stage: partitions, control records, limits, routing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import pytest

from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Assignment, Position, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import Undecodable, encode
from schemas.control import Control, Limits, Pause, Spent, decode_control
from schemas.discovered import Discovered, SiteRow, SiteRows
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, decode_order
from schemas.verdicts import decode_verdict
from streams.frontier.stage import FrontierStage
from tests.streams.frontier.rig import T0, Rig, answer, configure, links, rules

PLACEMENT = HashPlacement(4096, 2)


class Stage:
    """A stage that owns partitions of a crawl of two."""

    def __init__(self, stage: FrontierStage, rigs: dict[int, Rig]) -> None:
        self.stage = stage
        self._rigs = rigs

    def hear(self, control: Control) -> None:
        self.stage.on_broadcast([Received(_record("control", 0), control)])

    def receive(self, *values: Discovered | Fetched, now: int = T0) -> None:
        topics = {Discovered: "discovered", Fetched: "fetched"}
        self.stage.process(
            [Received(_record(topics[type(one)], PLACEMENT.partition(one.server)), one) for one in values], now
        )

    def tick(self, now: int = T0) -> list[FetchOrder]:
        return [decode_order(output.value) for output in self.stage.tick(now).outputs]

    def checkpoint(self) -> list[Spent]:
        """Gives what it tells the others."""
        told = [decode_control(output.value) for output in self.stage.prepare() if output.topic == "control"]
        for partition, mutations in self.stage.mutations().items():
            self._rigs[partition].write(mutations, self.stage.counters()[partition])
        self.stage.committed()
        return [one for one in told if isinstance(one, Spent)]

    def total(self, name: str) -> int:
        return sum(counters.get(name, 0) for counters in self.stage.counters().values())


def _record(topic: str, partition: int) -> Record:
    return Record(topic, partition, 0, None, None, None, 0)


@contextmanager
def stage(owned: tuple[int, ...] = (0, 1), **sections: dict[str, Any]) -> Iterator[Stage]:
    with ExitStack() as stack:
        rigs = {partition: stack.enter_context(Rig(partition=partition)) for partition in owned}
        config = configure(**{**sections, "partitions": {"partitions": 2, **sections.get("partitions", {})}})
        made = FrontierStage(config, HashPlacement(4096, 2, config.partitions.partition_by))
        for partition, rig in rigs.items():
            made.assigned(
                partition, Assignment(positions={"discovered": Position(0)}, ends={}, state=rig.replica.reader)
            )
        yield Stage(made, rigs)
        made.close()


def found(servers: int, urls: int) -> list[Discovered]:
    return [links(f"s{n}.example", *(f"/{m}" for m in range(urls))) for n in range(servers)]


def test_partitions_share_what_the_process_may_hold_of_known_urls() -> None:
    def held() -> list[int]:
        return [partition.state.engine.cache_bytes >> 20 for partition in one.stage.partitions.values()]

    with stage(tuple(range(5)), state={"known_mb": 48}) as one:
        assert held() == [6] * 5
        one.stage.revoked(frozenset({0, 1, 2}))
        assert held() == [24] * 2
        one.stage.revoked(frozenset({3}))
        assert held() == [32]


def test_partitions_share_what_the_process_may_hold_of_robots_rules() -> None:
    def held() -> list[int]:
        return [partition.state.robots.most_bytes >> 10 for partition in one.stage.partitions.values()]

    with stage(tuple(range(9))) as one:
        assert held() == [512] * 9
        one.stage.revoked(frozenset(range(8)))
        assert held() == [1024]


def test_orders_go_to_the_partition_that_the_routing_names() -> None:
    with stage() as one:
        one.receive(*found(20, 1))
        outputs = one.stage.tick(T0).outputs
        assert len(outputs) == 20
        for output in outputs:
            order = decode_order(output.value)
            assert (output.topic, output.partition) == ("schedule", PLACEMENT.partition(order.server))
            assert order.policy == "host-hash"


def test_a_paused_crawl_orders_nothing_waits_without_spinning_and_goes_on_when_resumed() -> None:
    with stage() as one:
        one.receive(*found(3, 1))
        one.hear(Pause(paused=True))
        assert one.tick() == []
        assert one.stage.next_due_ms() is None
        assert (one.total("stopped"), one.total("paused")) == (0, 2)
        one.hear(Pause(paused=False))
        assert len(one.tick()) == 3
        assert one.total("paused") == 0


def test_a_paused_server_waits_and_the_others_go_on() -> None:
    with stage() as one:
        one.hear(Pause(paused=True, server="s1.example"))
        one.receive(*found(3, 1))
        assert sorted(order.server for order in one.tick()) == ["s0.example", "s2.example"]
        one.hear(Pause(paused=False, server="s1.example"))
        assert [order.server for order in one.tick()] == ["s1.example"]


def test_a_checkpoint_says_before_when_nothing_happens_and_which_servers_somebody_holds_back() -> None:
    with stage(owned=(PLACEMENT.partition("s0.example"),), robots={"obey": True}) as one:
        one.receive(links("s0.example", "/1", "/2"))
        one.checkpoint()
        assert one.total("due_next_ms") == T0, "it may be asked at once"
        (robots,) = one.tick()
        one.checkpoint()
        assert T0 < one.total("due_next_ms") < T0 + 3_600_000, "an order is out, which returns one day"
        one.receive(rules(robots, delay_ms=10**12))
        one.checkpoint()
        assert one.total("due_next_ms") == T0 + 10**12
        one.hear(Pause(paused=True, server="s0.example"))
        one.tick()
        one.checkpoint()
        assert (one.total("due_next_ms"), one.total("servers_paused")) == (0, 1)
        one.hear(Pause(paused=False, server="s0.example"))
        one.tick()
        one.checkpoint()
        assert (one.total("due_next_ms"), one.total("servers_paused")) == (T0 + 10**12, 0)
        (page,) = one.tick(T0 + 10**12)
        one.receive(answer(page, "timeout"), now=T0 + 10**12)
        one.checkpoint()
        assert one.total("due_next_ms") <= T0 + 10**12 + 75_000, (
            "the failed URL is tried again before its server's next turn"
        )


def test_the_pages_of_a_crawl_are_limited_exactly_over_all_partitions_and_failures_give_theirs_back() -> None:
    with stage(crawl={"max_pages": 10}, retry={"attempts": 0}) as one:
        one.receive(*found(8, 4))
        orders = one.tick()
        assert sum(len(order.urls) for order in orders) == 10
        assert one.total("stopped") == 2, "both partitions say that a limit was reached"
        one.receive(answer(orders[0], "address-refused"), *(answer(order) for order in orders[1:]))
        again = one.tick()
        assert sum(len(order.urls) for order in again) == len(orders[0].urls)
        one.receive(*(answer(order) for order in again))
        assert one.tick() == []
        assert one.total("confirmed") == 10


SHARED: dict[str, dict[str, Any]] = {
    "crawl": {"max_pages": 10},
    "fetch": {"orders_in_flight": 2, "urls_per_order": 1},
    "retry": {"attempts": 0},
}


def own(one: Stage, servers: int) -> list[Discovered]:
    return [links for links in found(servers, 1) if PLACEMENT.partition(links.server) in one.stage.counters()]


def test_processes_that_hear_of_each_other_keep_the_limit_together() -> None:
    with stage((0,), **SHARED) as one, stage((1,), **SHARED) as two:
        for each in (one, two):
            each.receive(*own(each, 40))
        ordered = 0
        for _ in range(4):
            for each, other in ((one, two), (two, one)):
                orders = each.tick()
                ordered += len(orders)
                for spent in each.checkpoint():
                    other.hear(spent)
                each.receive(*map(answer, orders))
        assert ordered == one.total("confirmed") + two.total("confirmed") == 10
        assert one.total("stopped") == two.total("stopped") == 1


def test_pages_that_another_process_gave_back_may_be_ordered() -> None:
    with stage((0,), **SHARED) as one:
        one.receive(*own(one, 40))
        one.hear(Spent(partition=1, pages=10))
        assert one.tick() == []
        one.hear(Spent(partition=1, pages=9))
        assert len(one.tick()) == 1


def test_a_process_that_owns_everything_tells_nothing_and_all_of_it_at_once_when_it_does_not_any_more() -> None:
    with stage((0, 1), **SHARED) as one:
        one.receive(*own(one, 40))
        orders = one.tick()
        assert one.checkpoint() == []
        mine = [order for order in orders if PLACEMENT.partition(order.server) == 0]
        one.stage.revoked(frozenset({1}))
        one.stage.dropped()
        assert one.stage.tick(T0).urls, "a checkpoint is due although nothing else happens"
        assert one.checkpoint() == [Spent(partition=0, pages=len(mine))]
        assert not one.stage.tick(T0).urls
        assert one.checkpoint() == []


def test_what_an_abandoned_checkpoint_told_is_told_again() -> None:
    with stage((0,), **SHARED) as one:
        one.receive(*own(one, 40))
        one.tick()
        one.stage.mutations()
        assert [output.topic for output in one.stage.prepare()] == ["control"]
        one.stage.dropped()
        one.receive(*own(one, 40))
        one.tick()
        assert one.checkpoint() == [Spent(partition=0, pages=2)]


def test_limits_from_control_replace_the_configured_ones() -> None:
    with stage(crawl={"max_pages": 1}) as one:
        one.receive(*found(4, 1))
        assert len(one.tick()) == 1
        one.hear(Limits(max_pages=3))
        assert len(one.tick()) == 2
        one.hear(Limits(until_ms=T0 + 5))
        assert len(one.tick(T0 + 4)) == 1
        one.receive(links("late.example", "/"), now=T0 + 4)
        assert one.tick(T0 + 5) == []
        assert one.stage.next_due_ms() is not None, "leases still end"


def test_refusals_are_told_once_a_checkpoint() -> None:
    with stage(crawl={"max_depth": 1}) as one:
        one.receive(*found(3, 5))
        said = [decode_verdict(output.value) for output in one.stage.prepare()]
        assert {(one.server, one.reason, one.count) for one in said} == {
            (f"s{n}.example", "depth", 5) for n in range(3)
        }
        one.stage.committed()
        assert one.stage.prepare() == []


@pytest.mark.parametrize("by", ["server", "domain"])
def test_a_record_in_another_partition_than_its_servers_is_refused_and_told(by: Literal["server", "domain"]) -> None:
    placement = HashPlacement(4096, 2, by)
    with stage(partitions={"partition_by": by}) as one:
        for name in ("a.example.com", "b.example.com", "example.org", "example.net"):
            for partition in (0, 1):
                one.stage.process([Received(_record("discovered", partition), links(name, "/1", "/2"))], T0)
        orders = one.tick()
        assert sorted(order.server for order in orders) == [
            "a.example.com",
            "b.example.com",
            "example.net",
            "example.org",
        ]
        assert (one.total("discovered"), one.total("admitted"), one.total("refused_misplaced")) == (16, 8, 8)
        said = [decode_verdict(output.value) for output in one.stage.prepare()]
        assert {(verdict.reason, verdict.count) for verdict in said} == {("misplaced", 2)}
        assert {verdict.detail.partition(", ")[2] for verdict in said if verdict.server == "example.org"} == {
            f"expected in partition {placement.partition('example.org')}"
        }
        one.checkpoint()


def test_a_partition_with_much_to_refuse_leaves_time_for_the_others() -> None:
    with stage(robots={"obey": True}) as one:
        one.receive(*found(8, 500))
        for order in one.tick():
            one.receive(rules(order, "refuse-all"))
        done: list[dict[int, int]] = []
        while one.stage.next_due_ms() == 0:
            one.stage.tick(T0)
            done.append({partition: now.get("dropped", 0) for partition, now in one.stage.counters().items()})
        assert len(done) > 8
        assert all(done[1].values()), "each had its turn"
        assert sum(done[-1].values()) == 8 * 500


def test_a_revoked_partition_is_forgotten_with_all_that_was_pending() -> None:
    with stage() as one:
        one.receive(*found(10, 1))
        one.stage.revoked(frozenset({0}))
        assert set(one.stage.counters()) == {1}
        assert {PLACEMENT.partition(order.server) for order in one.tick()} == {1}


def _received(partition: int, found: Discovered | SiteRows) -> Received:
    return Received(Record("discovered", partition, 0, b"key", encode(found), None, 0), found)


def test_rows_of_sites_are_dead_letters_where_servers_are_placed_by_hash_and_read_where_sites_are() -> None:
    row = SiteRows(sites=(SiteRow(site="a.example", slot=0),))
    record = _received(0, row).record
    with stage() as one, pytest.raises(Undecodable):
        one.stage.decoders["discovered"](record)
    with stage(partitions={"placement": "sites"}) as one:
        assert one.stage.decoders["discovered"](record) == row


def test_what_is_forwarded_and_told_goes_out_with_the_checkpoint_that_an_unknown_site_makes_urgent() -> None:
    home = PLACEMENT.partition("a.example")
    slot = 1 - home
    with stage(partitions={"placement": "sites"}) as one:
        work = one.stage.process([_received(home, links("a.example", "/1"))], T0)
        assert (work.outputs, work.urgent) == ([], True)
        assert [output.topic for output in one.stage.prepare()] == ["sites-found"]
        one.checkpoint()
        assert one.stage.prepare() == []
        rows = SiteRows(sites=(SiteRow(site="a.example", slot=slot),))
        assert not one.stage.process([_received(home, rows), _received(slot, rows)], T0).urgent
        assert one.stage.next_due_ms() == 0
        work = one.stage.tick(T0)
        assert [(output.topic, output.partition) for output in work.outputs] == [("discovered", slot)]
        assert work.urgent
        work = one.stage.process([_received(home, links("a.example", "/2"))], T0)
        assert [(output.topic, output.partition) for output in work.outputs] == [("discovered", slot)]
        assert not work.urgent


def test_orders_and_paused_servers_are_those_of_the_slot() -> None:
    home = PLACEMENT.partition("a.example")
    slot = 1 - home
    with stage(partitions={"placement": "sites"}) as one:
        one.hear(Pause(server="a.example", paused=True))
        rows = SiteRows(sites=(SiteRow(site="a.example", slot=slot),))
        one.stage.process([_received(home, rows), _received(slot, rows)], T0)
        one.stage.process([_received(slot, links("a.example", "/1"))], T0)
        assert one.tick() == []
        assert [one.stage.counters()[number].get("servers_paused", 0) for number in (home, slot)] == [0, 1]
        one.stage.dropped()
        one.tick()
        assert one.total("servers_paused") == 0
        one.stage.process([_received(slot, rows), _received(slot, links("a.example", "/1"))], T0)
        one.hear(Pause(server="a.example", paused=False))
        (order,) = one.tick()
        assert (order.partition, order.lease) == (slot, f"{slot}-1")
        assert one.total("servers_paused") == 0


def test_an_order_names_no_partition_where_servers_are_placed_by_hash() -> None:
    with stage() as one:
        one.receive(*found(1, 1))
        (output,) = one.stage.tick(T0).outputs
        assert b"partition" not in output.value
