"""The frontier in its loop, on the embedded log: what is durable of its decisions, by a clock that the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gregor.config import Config
from gregor.runtime.loops.loop import StageLoop
from gregor.runtime.transport.embedded import EmbeddedTransport
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.control import Limits
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, decode_order
from streams.frontier.stage import SPEC, FrontierStage
from tests.runtime.transport.embedded_folder import SETTINGS, opened
from tests.streams.frontier.rig import T0, answer, configure, links

PARTITIONS = range(SETTINGS.partitions)
PLACEMENT = HashPlacement(4096, SETTINGS.partitions)


class Crawl:
    """Its frontier is opened, closed and opened again; its fetcher is the test."""

    def __init__(self, transport: EmbeddedTransport, config: Config) -> None:
        self._transport = transport
        self._config = config
        self.now = T0
        self._known: set[str] = set()

    def open(self) -> None:
        self.stage = FrontierStage(self._config, PLACEMENT)
        session = self._transport.open(SPEC)
        self.loop = StageLoop(
            self.stage, session, self._config.checkpoint, clock=lambda: self.now, stopwatch=lambda: self.now
        )
        self._session = session

    def close(self) -> None:
        """It ends without a last checkpoint."""
        self._session.close()
        self.stage.close()

    def step(self) -> None:
        """Often enough for everything that is there to be read, and the checkpoint after it."""
        for _ in range(10):
            self.loop.step(0.0)
        self.now += self._config.checkpoint.idle_ms
        self.loop.step(0.0)

    def wait(self, seconds: float, steps: int = 20) -> None:
        for _ in range(steps):
            self.now += int(seconds * 1000 / steps)
            self.step()

    def write(self, *records: Discovered | Fetched) -> None:
        topics = {Discovered: "discovered", Fetched: "fetched"}
        self._transport.append(
            [
                Output(topics[type(one)], PLACEMENT.partition(one.server), one.server.encode(), encode(one))
                for one in records
            ]
        )

    def tell(self, limits: Limits) -> None:
        self._transport.append([Output("control", 0, b"limits", encode(limits))])

    @property
    def orders(self) -> list[FetchOrder]:
        """All that were ever made."""
        read = self._transport.read
        return [decode_order(one.value) for partition in PARTITIONS for one in read("schedule", partition, 0)]

    def new_orders(self) -> list[FetchOrder]:
        """Since the last call."""
        orders = [order for order in self.orders if order.lease not in self._known]
        self._known.update(order.lease for order in orders)
        return orders

    def join(self) -> None:
        """Another member takes a part of the partitions, and does nothing with it."""
        self._transport.open(SPEC).poll(1, 1, 0.0)

    def durable(self, *names: str) -> dict[str, int]:
        """Counters as the last checkpoints have them."""
        marks = [self._transport.last_checkpoint("frontier", partition) for partition in PARTITIONS]
        return {name: sum(mark.counters.get(name, 0) for mark in marks if mark) for name in names}


@contextmanager
def crawl(folder: Path, **sections: dict[str, Any]) -> Iterator[Crawl]:
    with opened(folder, stages=(SPEC,)) as transport:
        one = Crawl(transport, configure(partitions={"partitions": SETTINGS.partitions}, **sections))
        one.open()
        yield one
        one.close()


def test_a_retry_that_ends_with_its_server_is_durable_although_no_order_comes_of_it(tmp_path: Path) -> None:
    with crawl(tmp_path, retry={"server_attempts": 1}, fetch={"urls_per_order": 1}) as one:
        one.write(links("a.example", "/a", "/b"))
        one.step()
        (first,) = one.new_orders()
        one.write(answer(first, "server-error"))
        one.step()
        (second,) = one.new_orders()
        one.write(answer(second, "dns"))
        one.step()
        assert one.durable("retrying", "failed") == {"retrying": 1, "failed": 1}
        one.wait(2 * 3600)
        assert one.durable("queued", "retrying", "failed") == {"queued": 0, "retrying": 0, "failed": 2}
        assert one.stage.next_due_ms() is None


def test_a_lease_that_ends_after_the_end_of_the_crawl_is_durable(tmp_path: Path) -> None:
    with crawl(tmp_path) as one:
        one.write(links("a.example", "/a"))
        one.step()
        one.tell(Limits(until_ms=one.now + 1000))
        one.wait(3600)
        assert len(one.orders) == 1
        assert one.durable("queued", "leased", "stopped") == {"queued": 1, "leased": 0, "stopped": 2}


def test_results_that_waited_while_the_frontier_was_away_are_read_before_their_leases_return(tmp_path: Path) -> None:
    with crawl(tmp_path) as one:
        one.write(links("a.example", "/a", "/b"), links("b.example", "/"))
        one.step()
        orders = {order.server: order for order in one.new_orders()}
        one.close()
        one.write(answer(orders["a.example"]))
        one.now += 600_000
        one.open()
        one.step()
        expected = {"confirmed": 2, "results_ignored": 0, "leases_expired": 1, "leased": 1}
        assert one.durable(*expected) == expected
        assert [order.server for order in one.new_orders()] == ["b.example"], "nobody answered that one"


def test_a_frontier_that_has_much_to_read_does_not_spin_for_the_leases_that_wait_for_it(tmp_path: Path) -> None:
    with crawl(tmp_path) as one:
        one.write(links("a.example", "/a"))
        one.step()
        one.close()
        one.now += 600_000
        one.write(answer(one.orders[0]))
        one.open()
        one.loop.step(0.0)
        assert set(one.stage.counters()) == set(PARTITIONS)
        assert one.stage.next_due_ms() is None


def test_results_that_a_rebalance_lets_come_again_are_read_again_before_their_leases_return(tmp_path: Path) -> None:
    with crawl(tmp_path) as one:
        one.write(links("a.example", "/"), links("b.example", "/"))
        one.step()
        orders = one.new_orders()
        assert {PLACEMENT.partition(order.server) for order in orders} == set(PARTITIONS)
        one.close()
        one.write(*map(answer, orders))
        one.now += 600_000
        one.open()
        for _ in range(10):
            one.loop.step(0.0)
        assert [counters["leased"] for counters in one.stage.counters().values()] == [0, 0]
        one.join()
        one.step()
        assert len(one.stage.counters()) == 1
        expected = {"confirmed": 1, "leases_expired": 0, "results_ignored": 0}
        assert one.durable(*expected) == expected


def test_after_a_start_with_a_clock_that_was_a_day_ahead_a_crawl_goes_on_and_ends_by_the_right_one(
    tmp_path: Path,
) -> None:
    day = 24 * 3600 * 1000
    with crawl(tmp_path, fetch={"delay_s": 2.0, "urls_per_order": 1}) as one:
        one.now += day
        one.write(links("a.example", "/a", "/b", "/c"))
        one.step()
        one.write(answer(one.orders[0]))
        one.step()
        one.close()
        one.now -= day
        one.tell(Limits(until_ms=one.now + 60_000))
        one.open()
        one.step()
        assert len(one.orders) == 1
        due = one.stage.next_due_ms()
        assert due is not None
        assert one.now < due <= one.now + 2_000
        one.now = due
        one.step()
        assert len(one.orders) == 2
        one.now += 60_000
        one.write(answer(one.orders[1]))
        one.wait(60)
        assert len(one.orders) == 2, "it has ended"
