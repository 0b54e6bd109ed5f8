"""What was not fetched, and why: one line for each stage, kind and reason, with an example."""

from typing import Final

from msgspec import Struct

from gregor.outputs.folds.counts import OTHERS
from schemas.verdicts import Verdict, VerdictKind

MOST: Final = 300


class RefusalCount(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All verdicts of one stage, kind and reason."""

    stage: str
    kind: VerdictKind
    reason: str
    count: int = 0
    """URLs."""
    example: str = ""
    """One of the URLs: the shortest that a verdict named, and of those the first in the alphabet; empty: none was named."""


def refusal_of(record: Verdict) -> RefusalCount:
    return RefusalCount(
        stage=record.stage, kind=record.kind, reason=record.reason, count=max(record.count, 0), example=record.url
    )


def add_refusals(one: RefusalCount, other: RefusalCount) -> RefusalCount:
    """Two of one stage, kind and reason."""
    example = min(filter(None, (one.example, other.example)), key=lambda url: (len(url), url), default="")
    return RefusalCount(
        stage=one.stage, kind=one.kind, reason=one.reason, count=one.count + other.count, example=example
    )


class Refusals(Struct):
    """By stage, kind and reason; reasons beyond the bound are counted together."""

    lines: dict[tuple[str, VerdictKind, str], RefusalCount] = {}

    def add(self, line: RefusalCount) -> None:
        key = (line.stage, line.kind, line.reason)
        if key not in self.lines and len(self.lines) >= MOST:
            line = RefusalCount(stage=OTHERS, kind=line.kind, reason=OTHERS, count=line.count)
            key = (line.stage, line.kind, line.reason)
        found = self.lines.get(key)
        self.lines[key] = add_refusals(found, line) if found is not None else line

    def merge(self, other: "Refusals") -> None:
        for line in other.lines.values():
            self.add(line)

    def all(self) -> list[RefusalCount]:
        """Largest first."""
        return sorted(self.lines.values(), key=lambda line: (-line.count, line.reason, line.kind, line.stage))
