"""Records of fetched and verdicts as a crawl might write them, and what strangers might write in their place."""

import random
from collections.abc import Iterator

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.fetched import Fetched, RobotsRules, Timings
from schemas.verdicts import Verdict, VerdictKind
from tests.outputs.folds.records import MONDAY, page

OUTCOMES = {200: "ok", 301: "redirect", 404: "client-error", 503: "server-error"}
UNREADABLE: tuple[bytes | None, ...] = (
    b"no JSON at all",
    b"",
    None,
    b'{"server": 5, "lease": [], "results": "none"}',
    b'{"kind": {"deep": ' + b"[" * 500 + b"]" * 500 + b"}}",
    '{"server": "bücher.example"}'.encode("utf-16"),
    bytes(range(256)),
    b'{"server": "' + b"x" * 5_000_000 + b'"}',
)


def crawled(number: int, partitions: int, seed: int = 1) -> Iterator[Output]:
    chance = random.Random(seed)
    for at in range(number):
        server = f"s{chance.randrange(12)}.example.org"
        yield Output("fetched", at % partitions, server.encode(), encode(_fetched(chance, server, at)))
        if at % 3 == 0:
            yield Output("verdicts", at % partitions, server.encode(), encode(_verdict(chance, server, at)))


def unreadable(partitions: int) -> Iterator[Output]:
    for at, value in enumerate(UNREADABLE):
        for topic in ("fetched", "verdicts"):
            yield Output(topic, at % partitions, b"stranger", value)  # type: ignore[arg-type]


def _fetched(chance: random.Random, server: str, at: int) -> Fetched:
    if chance.random() < 0.1:
        rules = RobotsRules(scheme="https", verdict="rules", crawl_delay_ms=1000, fetched_ms=MONDAY + at)
        return Fetched(server=server, lease=f"0-{at}", kind="robots", results=(), robots=(rules,))
    status = chance.choice(list(OUTCOMES))
    return page(
        f"/{at}",
        server,
        MONDAY + chance.randrange(600_000),
        status=status,
        outcome=OUTCOMES[status],
        timings=Timings(total=chance.randrange(3000)),
        wire_bytes=chance.randrange(50_000),
        body_bytes=chance.randrange(90_000),
        content_type="text/html; charset=utf-8",
        depth=chance.randrange(9),
    )


def _verdict(chance: random.Random, server: str, at: int) -> Verdict:
    kinds: tuple[VerdictKind, ...] = ("refused", "given-up", "delayed")
    return Verdict(
        server=server,
        kind=chance.choice(kinds),
        reason=chance.choice(["robots", "depth", "dns"]),
        url=f"https://{server}/{at}",
        count=chance.randrange(1, 50),
        stage=chance.choice(["frontier", "extractor"]),
        decided_ms=MONDAY + at,
    )
