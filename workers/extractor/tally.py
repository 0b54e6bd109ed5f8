"""What was refused, counted exactly: one verdict for each server and reason in a transaction, with its count and an example."""

from collections.abc import Iterator

from msgspec import Struct

from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import Placement
from schemas.codec import encode
from schemas.verdicts import Verdict, VerdictKind

LONGEST_EXAMPLE = 2048
LONGEST_DETAIL = 500


class Example(Struct, frozen=True):
    """One of the URLs that a verdict is about."""

    url: str = ""
    lease: str = ""
    detail: str = ""


class _RefusalLine(Struct):
    count: int
    example: Example


class RefusalTally:
    """The verdicts of a transaction that is not committed yet. The server of a verdict is that of the page."""

    def __init__(self, placement: Placement, config_version: str) -> None:
        self._placement = placement
        self._config_version = config_version
        self._pending: dict[tuple[str, VerdictKind, str], _RefusalLine] = {}
        self.totals: dict[tuple[str, ...], int] = {}
        """By kind and reason, committed ones only, since the process began."""

    def add(self, server: str, kind: VerdictKind, reason: str, count: int, example: Example) -> None:
        found = self._pending.get((server, kind, reason))
        if found is None:
            self._pending[server, kind, reason] = _RefusalLine(count, example)
        else:
            found.count += count

    def outputs(self, now_ms: int) -> Iterator[Output]:
        """The verdicts as records; they stay pending until ``committed``."""
        for (server, kind, reason), line in self._pending.items():
            verdict = Verdict(
                server=server,
                kind=kind,
                reason=reason,
                url=line.example.url[:LONGEST_EXAMPLE],
                count=line.count,
                stage="extractor",
                detail=line.example.detail[:LONGEST_DETAIL],
                decided_ms=now_ms,
                lease=line.example.lease,
                config_version=self._config_version,
            )
            yield Output("verdicts", self._placement.partition(server), server.encode(), encode(verdict))

    def committed(self) -> None:
        for (_, kind, reason), line in self._pending.items():
            self.totals[kind, reason] = self.totals.get((kind, reason), 0) + line.count
        self._pending.clear()

    def dropped(self) -> None:
        self._pending.clear()
