"""An extractor stage without a log: pages in, decoded records out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gregor.config import load
from gregor.runtime.loops.contract import Received
from gregor.runtime.transport.port import Assignment, Output, Position, Record
from gregor.url.fingerprint import HashPlacement
from schemas.codec import encode
from schemas.control import SeedScope, decode_control
from schemas.discovered import Discovered, decode_discovered
from schemas.items import Item, decode_item
from schemas.pages import PageFacts, decode_facts
from schemas.sites import Site
from schemas.verdicts import Verdict, decode_verdict
from workers.extractor.stage import ExtractorStage

SEED = "http://h.example/"
HTML = ("Content-Type", "text/html; charset=utf-8")


class Staged:
    """The stage, and what it wrote since it was last asked."""

    def __init__(self, stage: ExtractorStage) -> None:
        self.stage = stage
        self._outputs: list[Output] = []
        self._offset = 0
        self.urgent = False
        """Whether the last pages held something that others wait for."""
        stage.assigned(0, Assignment(positions={"pages": Position(0)}, ends={"pages": 0}, state=None))

    def page(
        self,
        body: bytes | str = b"",
        *,
        url: str = SEED,
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (HTML,),
        **facts: Any,
    ) -> "Staged":
        return self._process([self._received(body, url=url, status=status, headers=headers, **facts)])

    def pages(self, bodies: Sequence[str]) -> "Staged":
        """All in one batch, each under a URL of its own."""
        return self._process([self._received(body, url=f"{SEED}p{n}") for n, body in enumerate(bodies)])

    def _process(self, received: list[Received]) -> "Staged":
        work = self.stage.process(received, 1000)
        self.urgent = work.urgent
        self._outputs += work.outputs
        return self

    def _received(
        self,
        body: bytes | str,
        *,
        url: str,
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (HTML,),
        **facts: Any,
    ) -> Received:
        scheme, _, rest = url.partition("://")
        server, _, path = rest.partition("/")
        self._offset += 1
        page = PageFacts(
            server=server,
            path=f"/{path}",
            lease=f"lease-{self._offset}",
            status=status,
            scheme="http" if scheme == "http" else "https",
            response_headers=headers,
            **facts,
        )
        value = body.encode() if isinstance(body, str) else body
        record = Record("pages", 0, self._offset - 1, server.encode(), value, encode(page), 0)
        return Received(record, decode_facts(record.header))

    def commit(self) -> "Staged":
        self._outputs += self.stage.prepare()
        self.stage.committed()
        return self

    def tick(self, now_ms: int) -> "Staged":
        self._outputs += self.stage.tick(now_ms).outputs
        return self

    def hear(self, *records: SeedScope | Site) -> "Staged":
        self.stage.on_broadcast([Received(Record("control", 0, 0, b"", encode(one), None, 0), one) for one in records])
        return self

    def places(self) -> dict[str, int]:
        """Where the records of each server went, in one partition each; nothing is taken."""
        return {one.key.decode(): one.partition for one in self._outputs if one.topic == "discovered"}

    def discovered(self) -> list[Discovered]:
        return [decode_discovered(one.value) for one in self._take("discovered")]

    def urls(self) -> list[str]:
        return sorted(f"{one.scheme}://{one.server}{path}" for one in self.discovered() for path in one.paths)

    def items(self) -> list[Item]:
        return [decode_item(one.value) for one in self._take("items")]

    def control(self) -> list[SeedScope]:
        return [
            one for one in (decode_control(one.value) for one in self._take("control")) if isinstance(one, SeedScope)
        ]

    def verdicts(self) -> dict[str, int]:
        """By reason, how many; those of a transaction are written when it is committed."""
        found: list[Verdict] = [decode_verdict(one.value) for one in self._take("verdicts")]
        counts: dict[str, int] = {}
        for one in found:
            counts[one.reason] = counts.get(one.reason, 0) + one.count
        return counts

    def _take(self, topic: str) -> list[Output]:
        taken = [one for one in self._outputs if one.topic == topic]
        self._outputs = [one for one in self._outputs if one.topic != topic]
        return taken


@contextmanager
def staged(tmp_path: Path, text: str = "", *, warm: bool = False) -> Iterator[Staged]:
    """A stage with this configuration beside the seed; closed in good order afterwards."""
    file = tmp_path / "gregor.toml"
    file.write_text(f'crawl.seeds = ["{SEED}"]\n{text}')
    config = load(file, {}).config
    placement = HashPlacement(16, 4, config.partitions.partition_by)
    stage = ExtractorStage(config, placement, tmp_path / "filter", warm)
    try:
        yield Staged(stage)
    finally:
        stage.close()
