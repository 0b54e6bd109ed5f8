"""What could not be done as it was asked, for people: one verdict for each site and reason, a bounded number in a checkpoint."""

from gregor.config import Config
from gregor.runtime.transport.port import Output
from gregor.url.fingerprint import partition_of
from schemas.codec import encode
from schemas.verdicts import Verdict, VerdictKind

LONGEST_NAME = 300


class Verdicts:
    """Since the last checkpoint."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._limit = config.frontier.verdicts_per_checkpoint
        self._noted: dict[tuple[str, str], Verdict] = {}

    def note(self, site: str, kind: VerdictKind, reason: str, detail: str, now_ms: int) -> None:
        site = site[:LONGEST_NAME]
        if (site, reason) in self._noted or len(self._noted) >= self._limit:
            return
        self._noted[site, reason] = Verdict(
            server=site,
            kind=kind,
            reason=reason,
            stage="coordinator",
            detail=detail[:500],
            decided_ms=now_ms,
            config_version=self._config.config_version,
        )

    def outputs(self) -> list[Output]:
        layout = self._config.partitions
        return [
            Output(
                "verdicts",
                partition_of(verdict.server, layout.repositories, layout.partitions),
                verdict.server.encode("utf-8", "replace"),
                encode(verdict),
            )
            for verdict in self._noted.values()
        ]

    def clear(self) -> None:
        self._noted = {}
