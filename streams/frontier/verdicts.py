"""Why URLs were refused or given up: exact counts, and a bounded number of records for people.

All URLs of one server with one reason make one record a checkpoint, with an example, and a checkpoint has a limited number of records:
a trap cannot flood the topic.
"""

from gregor.runtime.transport.port import Output
from schemas.codec import encode
from schemas.verdicts import Verdict, VerdictKind


class _Tally:
    __slots__ = ("count", "detail", "kind", "url")

    def __init__(self, kind: VerdictKind, url: str, detail: str) -> None:
        self.kind = kind
        self.url = url
        self.detail = detail
        self.count = 0


class Verdicts:
    """What was decided since the last checkpoint."""

    def __init__(self, partition: int, limit: int, config_version: str) -> None:
        self._partition = partition
        self._limit = limit
        self._config_version = config_version
        self._tallies: dict[tuple[str, str], _Tally] = {}

    def note(self, server: str, kind: VerdictKind, reason: str, url: str, count: int = 1, detail: str = "") -> None:
        tally = self._tallies.get((server, reason))
        if tally is None:
            if len(self._tallies) >= self._limit:
                return
            tally = self._tallies[server, reason] = _Tally(kind, url, detail)
        tally.count += count

    def outputs(self, now_ms: int) -> list[Output]:
        return [
            Output(
                "verdicts",
                self._partition,
                server.encode(),
                encode(
                    Verdict(
                        server=server,
                        kind=tally.kind,
                        reason=reason,
                        url=tally.url[:2048],
                        count=tally.count,
                        detail=tally.detail[:500],
                        decided_ms=now_ms,
                        config_version=self._config_version,
                    )
                ),
            )
            for (server, reason), tally in self._tallies.items()
        ]

    def clear(self) -> None:
        self._tallies = {}
