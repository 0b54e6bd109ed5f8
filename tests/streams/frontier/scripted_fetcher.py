"""A fetcher that touches no network: it answers orders for a small made-up web at once, and sends the links on itself.

Run: python -m tests.streams.frontier.scripted_fetcher CONFIG FOLDER
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gregor.config import load
from gregor.run.placement import placement_of
from gregor.run.worker import kafka_transport
from gregor.runtime.loops.contract import Decode, Finished, Received, Ticket
from gregor.runtime.loops.loop import now_ms
from gregor.runtime.loops.orders import OrderLoop
from gregor.runtime.transport.port import Output, StageSpec
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.discovered import Discovered
from schemas.fetched import Fetched, FetchResult, RobotsRules
from schemas.schedule import FetchOrder, decode_order

SPEC: Final = StageSpec(name="fetcher", inputs=("schedule",), outputs=("fetched", "discovered", "dead-letters"))
SERVERS: Final = 16
PAGES: Final = 10
CHILDREN: Final = 3
FORBIDDEN: Final = "/private"
RULES: Final = f"user-agent: *\ndisallow: {FORBIDDEN}\n"


def server_name(number: int) -> str:
    return f"host-{number}.example"


def path_of(page: int) -> str:
    return f"{FORBIDDEN}/{page}" if page == PAGES - 1 else f"/{page}"


def links_of(server: str, path: str) -> Iterator[tuple[str, str]]:
    """A tree of pages on each server, and from its first page to the next servers'."""
    number, page = int(server.split("-")[1].split(".")[0]), int(path.rpartition("/")[2])
    for child in range(page * CHILDREN + 1, min(page * CHILDREN + CHILDREN + 1, PAGES)):
        yield server, path_of(child)
    if page == 0:
        for other in (number * 2 + 1, number * 2 + 2, number // 2):
            if other < SERVERS:
                yield server_name(other), path_of(0)


def urls() -> set[tuple[str, str]]:
    """Everything that a crawl finds."""
    return {(server_name(number), path_of(page)) for number in range(SERVERS) for page in range(PAGES)}


class ScriptedFetcher:
    """An OrderStage whose orders are done when they are asked for."""

    spec: StageSpec = SPEC
    decoders: Mapping[str, Decode] = {"schedule": lambda record: decode_order(record.value)}

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._done: dict[Ticket, list[Output]] = {}

    def on_broadcast(self, received: Sequence[Received]) -> None:
        """Nothing is broadcast to it."""

    def room(self) -> int:
        return 100

    def start(self, ticket: Ticket, order: Any, redelivered: bool) -> None:
        self._done[ticket] = list(self._carry_out(order))

    def cancel(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            self._done.pop(ticket, None)

    def finished(self) -> Sequence[Finished]:
        done, self._done = self._done, {}
        return [Finished(ticket, outputs) for ticket, outputs in done.items()]

    def leave(self) -> None:
        """Nothing takes long."""

    def close(self) -> None:
        """Nothing is held."""

    def _carry_out(self, order: FetchOrder) -> Iterator[Output]:
        now = now_ms()
        late = bool(order.deadline_ms) and now > order.deadline_ms
        fetched = Fetched(
            server=order.server,
            lease=order.lease,
            kind=order.kind,
            results=tuple(
                FetchResult(
                    path=url.path,
                    scheme=url.scheme,
                    outcome="expired" if late else "ok",
                    status=0 if late else 200,
                    started_ms=0 if late else now,
                )
                for url in order.urls
            ),
            received_ms=now,
            started_ms=now,
            finished_ms=now,
            robots=tuple(
                RobotsRules(scheme=url.scheme, verdict="rules", text=RULES)
                for url in order.urls
                if order.kind == "robots" and not late
            ),
        )
        yield self._output("fetched", order.server, encode(fetched))
        if order.kind == "pages" and not late:
            for url in order.urls:
                for server, path in links_of(order.server, url.path):
                    found = Discovered(
                        server=server, paths=(path,), scheme="http", depth=url.depth + 1, hops=url.hops + 1
                    )
                    yield self._output("discovered", server, encode(found))

    def _output(self, topic: str, server: str, value: bytes) -> Output:
        return Output(topic, self._placement.partition(server), server.encode(), value)


def main() -> None:
    config = load(Path(sys.argv[1]), {}).config
    placement = placement_of(config)
    transport = kafka_transport(config, Path(sys.argv[2]))
    OrderLoop(ScriptedFetcher(placement), transport.open(SPEC), config.checkpoint).run()


if __name__ == "__main__":
    main()
