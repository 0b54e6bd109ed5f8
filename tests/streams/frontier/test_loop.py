"""The frontier in its loop, on the embedded log: what is durable of its decisions, by a clock that the test sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gregor.config import Config
from gregor.stage.loop import StageLoop
from gregor.transport.embedded import EmbeddedTransport
from gregor.transport.port import Output
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.control import Limits
from schemas.discovered import Discovered
from schemas.fetched import Fetched
from schemas.schedule import FetchOrder, decode_order
from streams.frontier.stage import SPEC, FrontierStage
from tests.streams.frontier.rig import T0, answer, configure, links
from tests.transport.embedded_folder import SETTINGS, opened

PARTITIONS = range(SETTINGS.partitions)
PLACEMENT = HashPlacement(4096, SETTINGS.partitions)


class Crawl:
    """Its frontier is opened, closed and opened again; its fetcher is the test."""

    def __init__(self, transport: EmbeddedTransport, config: Config) -> None:
        self._transport = transport
        self._config = config
        self.now = T0
        self._answered = 0

    def open(self) -> None:
        self.stage = FrontierStage(self._config, PLACEMENT)
        session = self._transport.open(SPEC)
        self.loop = StageLoop(self.stage, session, self._config.checkpoint, clock=lambda: self.now)
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
        orders = self.orders[self._answered :]
        self._answered += len(orders)
        return orders

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
