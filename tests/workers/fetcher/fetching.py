"""A fetcher under test: orders in, decoded records out, through the real stage and its thread."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from gregor.config import Config, load
from gregor.runtime.loops.contract import Finished, Ticket
from gregor.url.fingerprint import HashPlacement
from schemas.fetched import Fetched, FetchResult, decode_fetched
from schemas.pages import PageFacts, decode_facts
from schemas.schedule import FetchOrder, OrderUrl
from workers.fetcher.addresses import AddressGuard
from workers.fetcher.backends.backend import BackendOptions, FetchBackend
from workers.fetcher.backends.registry import backend_named
from workers.fetcher.stage import FetcherStage

PLACEMENT = HashPlacement(4096, 8)
LOOPBACK = ["127.0.0.0/8", "::1/128"]


def settings(**flags: Any) -> Config:
    """A configuration from dotted names with "__" for the dot; loopback may be fetched, time-outs are those of a busy machine, and
    orders alone say how long to wait between requests."""
    given = {name.replace("__", "."): value for name, value in flags.items()}
    own = {"fetch.allow_addresses": LOOPBACK, "crawl.contact": "https://example.org/bot", "fetch.delay_s": 0.0}
    return load(None, {}, {**own, **given}).config


def made_by(backend: str, **options: Any) -> Callable[[], FetchBackend]:
    """A backend by its name; it may connect to loopback, unless ``options`` say otherwise."""
    given = {"guard": AddressGuard(LOOPBACK), "connections": 16, **options}
    return partial(backend_named(backend), BackendOptions(**given))


class Page(NamedTuple):
    facts: PageFacts
    body: bytes


class Answer(NamedTuple):
    """What became of one order."""

    fetched: Fetched
    pages: Sequence[Page]

    @property
    def result(self) -> FetchResult:
        (only,) = self.fetched.results
        return only


class Fetching:
    """Gives orders to a stage as the loop would."""

    def __init__(self, stage: FetcherStage) -> None:
        self.stage = stage
        self._offset = 0

    def start(self, order: FetchOrder, *, redelivered: bool = False) -> Ticket:
        self._offset += 1
        ticket = Ticket(0, self._offset)
        self.stage.start(ticket, order, redelivered)
        return ticket

    def gather(self, tickets: Sequence[Ticket]) -> dict[Ticket, Answer]:
        found: dict[Ticket, Answer] = {}
        while len(found) < len(tickets):
            self.stage.room()
            for one in self.stage.finished():
                assert one.ticket in tickets
                assert one.ticket not in found
                found[one.ticket] = decoded(one)
            time.sleep(0.002)
        return found

    def run(self, order: FetchOrder, *, redelivered: bool = False) -> Answer:
        ticket = self.start(order, redelivered=redelivered)
        return self.gather([ticket])[ticket]

    def get(self, server: str, path: str = "/", scheme: Any = "http", **url: Any) -> Answer:
        return self.run(order_of(server, path, scheme=scheme, **url))

    def robots(self, server: str, scheme: Any = "http") -> Answer:
        return self.run(order_of(server, "/robots.txt", scheme=scheme, kind="robots"))


def order_of(
    server: str, *paths: str, scheme: Any = "http", kind: Any = "pages", order: Any = None, **url: Any
) -> FetchOrder:
    urls = tuple(OrderUrl(path=path, scheme=scheme, **url) for path in paths)
    return FetchOrder(server=server, lease="lease", urls=urls, kind=kind, **(order or {}))


def decoded(finished: Finished) -> Answer:
    """Also checks what holds for every finished order: one result record, every record at its server's partition."""
    first, *rest = finished.outputs
    fetched = decode_fetched(first.value)
    assert first.topic == "fetched"
    assert first.key == fetched.server.encode()
    assert first.partition == PLACEMENT.partition(fetched.server)
    pages = []
    for output in rest:
        facts = decode_facts(output.header)
        assert (output.topic, output.key) == ("pages", facts.server.encode())
        assert output.partition == PLACEMENT.partition(facts.server)
        assert facts.body_bytes == len(output.value)
        pages.append(Page(facts, output.value))
    return Answer(fetched, pages)


@contextlib.contextmanager
def fetching(config: Config, **options: Any) -> Iterator[Fetching]:
    stage = FetcherStage(config, PLACEMENT, "worker-1", **options)
    try:
        yield Fetching(stage)
    finally:
        stage.close()
